// What was done, along time: turns, times, tokens and cost. The days are those of this browser's clock.
import { type ReactElement, useState } from 'react'
import type { OperatorActivity } from '../../../../src/client/index.ts'
import { plural } from '../../../../src/react/words.ts'
import { Chart, type ChartProps, type Series, tones } from '../../lib/chart.tsx'
import { money } from '../../lib/parts.tsx'
import { navigate } from '../../lib/router.tsx'
import { axisMarks, axisTime, shortCount, timeMarks } from '../../lib/scale.ts'

type By = 'model' | 'agent'
const dayMs = 24 * 60 * 60_000

export function Charts({ report }: { report: OperatorActivity }): ReactElement {
  const [by, setBy] = useState<By>('model')
  const { slots, slotMs, since, until } = report
  const starts = Array.from(
    { length: Math.round((until - since) / slotMs) },
    (_, index) => since + index * slotMs,
  )
  const places = starts.map(at => place(at, slotMs))
  const bySlot = new Map(slots.map(slot => [slot.at, slot]))
  const along = <T,>(pick: (slot: OperatorActivity['slots'][number]) => T): (T | undefined)[] =>
    starts.map(at => {
      const slot = bySlot.get(at)
      return slot && pick(slot)
    })
  const shared = {
    places,
    empty: 'Nothing was done in this time.',
    opens: { words: 'the sessions of that day', go: (index: number) => openDay(starts[index] ?? since) },
  }
  return (
    <section className="overview-charts" aria-label="Along time">
      <Chart
        {...shared}
        title="Turns"
        note={`${plural(report.all.turns.turns, 'turn')} that ended, by when they did`}
        kind="bars"
        series={[
          { name: 'ended well', tone: '1', values: along(({ turns }) => turns.turns - turns.failed) },
          { name: 'failed', tone: 'bad', values: along(({ turns }) => turns.failed) },
        ]}
        marks={largest => axisMarks(largest, { whole: true })}
        format={shortCount}
      />
      <Chart
        {...shared}
        title="Times, p95"
        note="without waits for people"
        kind="lines"
        series={[
          { name: 'turn', tone: '1', values: along(({ turns }) => turns.p95) },
          { name: 'step', tone: '2', values: along(({ steps }) => steps.p95) },
        ]}
        marks={timeMarks}
        format={axisTime}
        empty="No turn has ended in this time."
      />
      <ChooseBy by={by} onChoose={setBy} />
      <Used report={report} starts={starts} by={by} {...shared} />
    </section>
  )
}

type UsedProps = Pick<ChartProps, 'places' | 'empty' | 'opens'> & {
  report: OperatorActivity
  starts: readonly number[]
  by: By
}

function Used({ report, starts, by, ...shared }: UsedProps): ReactElement {
  return (
    <>
      <Chart
        {...shared}
        title="Tokens"
        kind="bars"
        note={`input and output, by ${by}`}
        series={usedBy(report, starts, by, 'tokens')}
        marks={largest => axisMarks(largest, { whole: true })}
        format={shortCount}
      />
      <Chart
        {...shared}
        title="Cost"
        kind="bars"
        note={`by ${by}, as far as prices are known`}
        series={usedBy(report, starts, by, 'cost')}
        marks={axisMarks}
        format={money}
        empty="No cost: nothing was used, or no price is known."
      />
    </>
  )
}

function ChooseBy({ by, onChoose }: { by: By; onChoose: (by: By) => void }): ReactElement {
  return (
    <div className="overview-by">
      <h2 id="used-by">Tokens and cost by</h2>
      <fieldset className="segments" aria-labelledby="used-by">
        {(['model', 'agent'] as const).map(each => (
          <button key={each} type="button" aria-pressed={by === each} onClick={() => onChoose(each)}>
            {each}
          </button>
        ))}
      </fieldset>
    </div>
  )
}

/** Those that used most tokens, each with the same tone in every chart; the others together. */
function usedBy(
  { used }: OperatorActivity,
  starts: readonly number[],
  by: By,
  what: 'tokens' | 'cost',
): Series[] {
  const sums = new Map<string, number>()
  for (const each of used) sums.set(each[by], (sums.get(each[by]) ?? 0) + each.tokens)
  const names = [...sums].sort(([, one], [, two]) => two - one).map(([name]) => name)
  const own = names.slice(0, names.length > tones.length ? tones.length - 1 : tones.length)
  const series = own.map((name, index) => ({ name, tone: tones[index] ?? '6', values: starts.map(() => 0) }))
  const others = { name: 'others', tone: '6', values: starts.map(() => 0) }
  const places = new Map(starts.map((at, index) => [at, index]))
  for (const each of used) {
    const index = places.get(each.at)
    const { values } = series.find(({ name }) => name === each[by]) ?? others
    if (index !== undefined) values[index] = (values[index] ?? 0) + each[what]
  }
  return own.length < names.length ? [...series, others] : series
}

/** The list of sessions has whole days. */
function openDay(at: number): void {
  const date = new Date(at)
  const two = (value: number): string => String(value).padStart(2, '0')
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  navigate(`/sessions?since=${day}&until=${day}`)
}

function place(at: number, slotMs: number): { full: string; short: string } {
  const date = new Date(at)
  if (slotMs < dayMs)
    return {
      full: date.toLocaleString('en', {
        weekday: 'short',
        hour: '2-digit',
        minute: '2-digit',
        hour12: false,
      }),
      short: date.toLocaleTimeString('en', { hour: '2-digit', minute: '2-digit', hour12: false }),
    }
  return {
    full: date.toLocaleDateString('en', { weekday: 'short', day: 'numeric', month: 'short' }),
    short: date.toLocaleDateString('en', { day: 'numeric', month: 'short' }),
  }
}
