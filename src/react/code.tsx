// Code with its words in colours. The highlighter is a file of its own, which is loaded when code is shown for the first time: until then,
// and for what it does not know, the code is plain. Colours are classes of tokens; no markup is made of the text.
import { type ReactElement, useEffect, useMemo, useState } from 'react'
import { printable } from '../lib/text/index.ts'
import { CopyButton, LongText, SafeText } from './parts.tsx'

export type CodeWord = { type: string; value: string }
export type CodeLine = readonly CodeWord[]
type Highlighter = (text: string, language: string) => CodeLine[] | undefined

/** Longer code is shown plain: reading it would take longer than a frame. */
const longest = 50_000
let loaded: Highlighter | undefined
let loading: Promise<unknown> | undefined

function load(): Promise<unknown> {
  loading ??= import('./highlight.ts').then(
    module => {
      loaded = module.highlightLines
    },
    () => {
      // Without it code is plain. The next code asks again.
      loading = undefined
    },
  )
  return loading
}

/** The lines of code in words, or undefined while, or where, there is no highlighting. */
export function useHighlighted(text: string, language: string | undefined): CodeLine[] | undefined {
  const isWanted = language !== undefined && language !== '' && text.length <= longest
  const [isReady, setReady] = useState(loaded !== undefined)
  useEffect(() => {
    if (!isWanted || isReady) return undefined
    let isGone = false
    void load().then(() => {
      if (!isGone && loaded) setReady(true)
    })
    return () => {
      isGone = true
    }
  }, [isWanted, isReady])
  return useMemo(
    () => (isWanted && isReady ? tryHighlight(text, language) : undefined),
    [isWanted, isReady, text, language],
  )
}

function tryHighlight(text: string, language: string): CodeLine[] | undefined {
  try {
    return loaded?.(text, language)
  } catch {
    return undefined
  }
}

/** The language of a file, by the end of its name. */
export function findLanguage(path: string): string | undefined {
  return /\.(\w{1,10})$/.exec(path)?.[1] ?? (/(?:^|\/)Dockerfile$/.test(path) ? 'dockerfile' : undefined)
}

export function Words({ line }: { line: CodeLine }): ReactElement {
  return (
    <>
      {line.map(({ type, value }, at) => (
        <span key={at} className={`tw-word-${type}`}>
          <SafeText text={value} />
        </span>
      ))}
    </>
  )
}

export function Code({ text, language }: { text: string; language?: string | undefined }): ReactElement {
  const lines = useHighlighted(text, language)
  return (
    <figure className="tw-codeblock">
      <figcaption>
        <span>{printable(language ?? '', 30)}</span>
        <CopyButton text={text} look="icon" label="Copy the code" />
      </figcaption>
      {/* A region that scrolls has to be reachable with the keyboard. */}
      <section
        className="tw-code-scroll"
        tabIndex={0}
        aria-label={language ? `Code, ${printable(language, 30)}` : 'Code'}
      >
        {lines ? (
          <pre className="tw-text tw-nowrap">
            {lines.map((line, at) => (
              <span key={at}>
                {at > 0 && '\n'}
                <Words line={line} />
              </span>
            ))}
          </pre>
        ) : (
          <LongText text={text} wrap={false} />
        )}
      </section>
    </figure>
  )
}
