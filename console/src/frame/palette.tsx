// The command palette (Ctrl or ⌘ K): jump to a page, a session, an agent or a tool, or do something.
import { type KeyboardEvent, type ReactElement, useEffect, useId, useMemo, useState } from 'react'
import type { OperatorSession } from '../../../src/client/index.ts'
import { printable } from '../../../src/lib/text/index.ts'
import { operator, useConsole } from '../lib/console-state.tsx'
import { shortId } from '../lib/parts.tsx'
import { navigate } from '../lib/router.tsx'
import { Dialog } from './dialog.tsx'
import { pagesFor } from './pages.ts'

type Choice = { label: string; hint: string; go: () => void }

export function Palette({
  onClose,
  actions,
}: {
  onClose: () => void
  actions: readonly Choice[]
}): ReactElement {
  const [words, setWords] = useState('')
  const [at, setAt] = useState(0)
  const list = useId()
  const choices = useChoices(words, actions)
  const choose = (choice: Choice | undefined): void => {
    if (!choice) return
    onClose()
    choice.go()
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step !== 0) {
      event.preventDefault()
      setAt(Math.max(0, Math.min(choices.length - 1, at + step)))
    } else if (event.key === 'Enter') {
      event.preventDefault()
      choose(choices[at])
    }
  }
  return (
    <Dialog label="Go to" onClose={onClose} className="palette">
      <input
        className="tw-input"
        role="combobox"
        aria-expanded="true"
        aria-controls={list}
        aria-activedescendant={choices.length > 0 ? `${list}-${at}` : undefined}
        aria-label="Go to a session, an agent, a tool, or an action"
        placeholder="Go to a session, an agent, a tool, or an action"
        value={words}
        autoFocus
        onChange={event => {
          setWords(event.target.value)
          setAt(0)
        }}
        onKeyDown={onKeyDown}
      />
      <div role="listbox" id={list} className="choices" aria-label="Choices" tabIndex={-1}>
        {choices.map((choice, index) => (
          <Option
            key={`${choice.hint}${choice.label}${index}`}
            id={`${list}-${index}`}
            choice={choice}
            isAt={index === at}
            onChoose={() => choose(choice)}
          />
        ))}
        {choices.length === 0 && <p className="tw-muted">Nothing matches.</p>}
      </div>
    </Dialog>
  )
}

type OptionProps = { id: string; choice: Choice; isAt: boolean; onChoose: () => void }

function Option({ id, choice, isAt, onChoose }: OptionProps): ReactElement {
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: keys are handled by the field above
    <div
      id={id}
      role="option"
      aria-selected={isAt}
      tabIndex={-1}
      className={isAt ? 'choice choice-at' : 'choice'}
      onClick={onChoose}
    >
      <span>{printable(choice.label, 120)}</span>
      <span className="tw-muted">{choice.hint}</span>
    </div>
  )
}

function useChoices(words: string, actions: readonly Choice[]): Choice[] {
  const { catalogue, me } = useConsole()
  const [sessions, setSessions] = useState<readonly OperatorSession[]>([])
  useEffect(() => {
    const stop = new AbortController()
    const timer = setTimeout(() => {
      operator.sessions({ q: words, limit: 8 }, { signal: stop.signal }).then(
        page => setSessions(page.sessions),
        () => {},
      )
    }, 120)
    return () => {
      clearTimeout(timer)
      stop.abort()
    }
  }, [words])
  return useMemo(() => {
    const fixed: Choice[] = [
      ...pagesFor(me).map(page => ({ label: page.label, hint: 'page', go: () => navigate(page.path) })),
      ...actions,
      ...(catalogue?.agents ?? []).flatMap(agent => [
        {
          label: agent.name,
          hint: 'agent',
          go: () => navigate(`/tools?agent=${encodeURIComponent(agent.name)}`),
        },
        ...agent.tools.map(tool => ({
          label: tool.name,
          hint: `tool of ${agent.name}`,
          go: () =>
            navigate(`/tools?agent=${encodeURIComponent(agent.name)}&tool=${encodeURIComponent(tool.name)}`),
        })),
      ]),
    ]
    const found = fixed.filter(({ label, hint }) =>
      `${label} ${hint}`.toLowerCase().includes(words.toLowerCase()),
    )
    const rows = sessions.map(row => ({
      label: row.opening ?? '(nothing said yet)',
      hint: `session ${shortId(row.id)}`,
      go: () => navigate(`/sessions/${row.id}`),
    }))
    return [...found.slice(0, words === '' ? 12 : 20), ...rows]
  }, [catalogue, me, actions, words, sessions])
}
