// Where each argument of a call came from, for the person who decides: those that are not the user's first.
import type { ReactElement, ReactNode } from 'react'
import type { FlowFact } from '../language/flow.ts'
import { printable } from '../lib/text/index.ts'

export type FlowFactsProps = {
  facts: readonly FlowFact[]
  /** A link to the call that read the value. */
  renderSource?: ((callId: string) => ReactNode) | undefined
}

export function FlowFacts({ facts, renderSource }: FlowFactsProps): ReactElement | null {
  if (facts.length === 0) return null
  const ordered = [...facts].sort((a, b) => Number(a.warranted) - Number(b.warranted))
  return (
    <ul className="tw-flow" aria-label="Where the arguments came from">
      {ordered.map(fact => (
        <li key={`${fact.argument} ${fact.why}`} data-warranted={fact.warranted}>
          {fact.argument !== '' && <b>{printable(fact.argument, 80)}</b>}{' '}
          {fact.value !== undefined && <code>{printable(fact.value, 160)}</code>}{' '}
          <span>{withCode(printable(fact.why, 200))}</span>
          {fact.around !== undefined && <q>{printable(fact.around, 240)}</q>}{' '}
          {fact.call !== undefined && renderSource?.(fact.call)}
        </li>
      ))}
    </ul>
  )
}

/** Names in a sentence stand between backticks. */
function withCode(text: string): ReactNode[] {
  return text.split('`').map((part, index) => (index % 2 === 0 ? part : <code key={part}>{part}</code>))
}
