// A recorded session beside what it would have come to with one thing changed, from that event on: what is different, the sums, and
// both transcripts.
import { type ReactElement, useMemo } from 'react'
import type { TrialAnswer, TrialTotals } from '../../../../src/client/index.ts'
import { printable } from '../../../../src/lib/text/index.ts'
import { type SessionView, Transcript, ViewFold, type ViewItem } from '../../../../src/react/index.ts'
import { itemSeq } from '../../../../src/react/transcript.tsx'
import { plural } from '../../../../src/react/words.ts'
import { useConsole } from '../../lib/console-state.tsx'
import { count, money } from '../../lib/parts.tsx'

type SidesProps = { session: string; view: SessionView; tried: TrialAnswer; from: number }

export function BothSides({ session, view, tried, from }: SidesProps): ReactElement {
  const { events, differences, left, then, now } = tried
  const items = useMemo(() => {
    const fold = new ViewFold()
    for (const event of events) fold.take(event)
    return fold.snapshot().items
  }, [events])
  const isSame = differences.length === 0 && !left
  return (
    <section className="fork-sides" aria-label="Both sides">
      <div role="status" className="fork-verdict">
        {isSame && <p>Everything would have come to the same.</p>}
        {left && (
          <p>
            <strong>It went another way at event {left.seq}.</strong> {printable(left.why, 300)}
          </p>
        )}
      </div>
      {differences.length > 0 && (
        <ul className="fork-differences" aria-label="What is different">
          {differences.slice(0, mostShown).map(({ seq, about, text }, index) => (
            <li key={index}>
              Event {seq}, {about}: {printable(text, 400)}
            </li>
          ))}
          {differences.length > mostShown && <li>and {differences.length - mostShown} more</li>}
        </ul>
      )}
      <div className="compare-sides">
        <Side label="As it was" totals={then} other={now} items={view.items} from={from} session={session} />
        <Side
          label="As it would have been"
          totals={now}
          other={then}
          items={items}
          from={from}
          session={session}
        />
      </div>
    </section>
  )
}

const mostShown = 50

const figures: readonly { name: string; words: (totals: TrialTotals) => string }[] = [
  { name: 'steps', words: ({ steps }) => plural(steps, 'step') },
  { name: 'unasked', words: ({ unasked }) => `${unasked} ran unasked` },
  { name: 'asked', words: ({ asked }) => `${asked} asked` },
  { name: 'denied', words: ({ denied }) => `${denied} denied` },
  { name: 'tokens', words: ({ tokens }) => `${count(tokens)} tokens` },
  { name: 'cost', words: ({ cost }) => (cost === undefined ? '' : money(cost)) },
]

type SideProps = {
  label: string
  totals: TrialTotals
  /** Those of the other side. Figures that differ stand out. */
  other: TrialTotals
  items: readonly ViewItem[]
  from: number
  session: string
}

function Side({ label, totals, other, items, from, session }: SideProps): ReactElement {
  const { looks } = useConsole()
  // Events up to there are the same on both sides. The turn that led to it is there too.
  const first = items.findLastIndex(item => item.type === 'user' && item.seq <= from)
  const shown = items.slice(Math.max(0, first))
  const opensAt =
    shown.find(item => item.type === 'call' && item.call.events.includes(from)) ??
    shown.findLast(item => (itemSeq(item) ?? Infinity) <= from)
  return (
    <section className="compare-side" aria-label={label}>
      <h3>{label}</h3>
      <p className="compare-facts">
        {figures.map(({ name, words }) => (
          <span key={name} data-differs={words(totals) !== words(other)}>
            {words(totals)}
          </span>
        ))}
      </p>
      <Transcript
        items={shown}
        tools={looks}
        label={`${label}: transcript of ${session}`}
        {...(opensAt && { opensAt: opensAt.key })}
      />
    </section>
  )
}
