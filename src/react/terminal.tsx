// What a program wrote to its terminal.
import { type ReactElement, useCallback, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { plainTerminal, terminalSpans } from './ansi.ts'
import { CopyButton } from './parts.tsx'

/** Terminal output: colours and weights, and no other control sequence. It follows its end, unless a person has scrolled away. */
export function Terminal({
  text,
  label = 'Terminal output',
}: {
  text: string
  label?: string
}): ReactElement {
  const [isWhole, setWhole] = useState(false)
  const lines = text.split('\n')
  const isLong = !isWhole && (lines.length > 400 || text.length > 100_000)
  const shown = isLong ? lines.slice(-400).join('\n').slice(-100_000) : text
  const spans = useMemo(() => terminalSpans(shown), [shown])
  const box = useFollowedEnd(shown)
  return (
    <div className="tw-terminal">
      <div className="tw-terminal-top">
        <span>{label}</span>
        <CopyButton text={() => plainTerminal(text)} />
      </div>
      <section ref={box} className="tw-terminal-text" aria-label={label} tabIndex={0}>
        {isLong && (
          <button type="button" className="tw-button tw-fold" onClick={() => setWhole(true)}>
            Show all {lines.length} lines
          </button>
        )}
        <pre>
          {spans.map((span, index) => (
            <span key={index} className={span.classes}>
              {span.text}
            </span>
          ))}
        </pre>
      </section>
    </div>
  )
}

/** A box that stays at its end while its text grows. */
function useFollowedEnd(text: string): (element: HTMLElement | null) => void {
  const box = useRef<HTMLElement>(null)
  const isAtEnd = useRef(true)
  const attach = useCallback((element: HTMLElement | null) => {
    box.current = element
    if (!element) return undefined
    const look = (): void => {
      isAtEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < 24
    }
    element.addEventListener('scroll', look, { passive: true })
    return undefined
  }, [])
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs whenever there is more text
  useLayoutEffect(() => {
    const element = box.current
    if (element && isAtEnd.current) element.scrollTop = element.scrollHeight
  }, [text])
  return attach
}
