// Search inside a session, with the words in the address. Matches are walked one by one.
import { type ReactElement, useMemo, useRef, useState } from 'react'
import { ActionIcon } from '../../../../src/react/icons.tsx'
import type { SessionView, ViewItem } from '../../../../src/react/index.ts'
import { usePageKeys } from '../../lib/page-keys.ts'
import { type Address, navigate, withQuery } from '../../lib/router.tsx'

export type Search = {
  query: string
  setQuery: (query: string) => void
  matches: readonly string[]
  at: number
  step: (by: number) => void
  target: { key: string; at: number } | undefined
}

export function useSearch(view: SessionView, address: Address): Search {
  const query = address.query.get('q') ?? ''
  const [at, setAt] = useState(0)
  const [moves, setMoves] = useState(0)
  const matches = useMemo(() => {
    const words = query.toLowerCase()
    return words === ''
      ? []
      : view.items.filter(item => searchedText(item).toLowerCase().includes(words)).map(item => item.key)
  }, [view.items, query])
  const key = matches[at]
  const target = useMemo(
    () => (key === undefined || moves === 0 ? undefined : { key, at: moves }),
    [key, moves],
  )
  return {
    query,
    setQuery: words => {
      setAt(0)
      setMoves(words === '' ? 0 : moves + 1)
      navigate(withQuery(address, { q: words }), { replace: true })
    },
    matches,
    at,
    step: by => {
      if (matches.length === 0) return
      setAt((at + by + matches.length) % matches.length)
      setMoves(moves + 1)
    },
    target,
  }
}

function searchedText(item: ViewItem): string {
  switch (item.type) {
    case 'user':
      return item.parts.map(part => (part.type === 'text' ? part.text : '')).join(' ')
    case 'answer':
      return `${item.thinking} ${item.text}`
    case 'call': {
      const { name, text, outcome } = item.call
      return `${name} ${text} ${outcome?.parts.map(part => (part.type === 'text' ? part.text : '')).join(' ') ?? ''}`
    }
    case 'hosted':
      return item.part.summary
    default:
      return item.text
  }
}

/** The field, and how many rows match. */
export function Found({ search }: { search: Search }): ReactElement {
  const field = useRef<HTMLInputElement>(null)
  const { query, matches, at, step } = search
  usePageKeys((key, event) => {
    if (key === '/') {
      event.preventDefault()
      field.current?.focus()
    } else if (key === 'n') step(1)
    else if (key === 'N') step(-1)
  })
  return (
    <search className="found">
      <ActionIcon name="search" />
      <input
        ref={field}
        className="tw-input"
        type="search"
        aria-label="Search in this session"
        placeholder="Search (press /)"
        value={query}
        onChange={event => search.setQuery(event.target.value)}
        onKeyDown={event => {
          if (event.key === 'Enter') step(event.shiftKey ? -1 : 1)
        }}
      />
      {query !== '' && (
        <output className="tw-muted">
          {matches.length === 0 ? 'no match' : `${at + 1} of ${matches.length}`}
        </output>
      )}
    </search>
  )
}
