// The usage and cost of the session: in all, along its steps, by model and agent, and step by step. A column in which nothing is
// known is left out.
import type { ReactElement } from 'react'
import { printable } from '../../../../src/lib/text/index.ts'
import type { SessionView, UsageTotal } from '../../../../src/react/index.ts'
import { duration, plural } from '../../../../src/react/words.ts'
import { Chart } from '../../lib/chart.tsx'
import { count, Empty, money } from '../../lib/parts.tsx'
import { Link, useAddress, withQuery } from '../../lib/router.tsx'
import { axisMarks, axisTime, shortCount, timeMarks } from '../../lib/scale.ts'
import { Heads } from '../../lib/table.tsx'
import { Tile } from '../../lib/tile.tsx'

type Step = SessionView['steps'][number]

export default function UsageView({ view }: { view: SessionView }): ReactElement {
  const steps = view.steps.filter(step => step.seq !== undefined)
  const { usage } = view
  if (usage.steps === 0)
    return (
      <section className="usage page-scroll" aria-label="Usage and cost" tabIndex={0}>
        <Empty title="No model has answered yet">
          <p>Tokens, times and cost of each step appear here.</p>
        </Empty>
      </section>
    )
  const isPriced = usage.cost > 0
  return (
    <section className="usage page-scroll" aria-label="Usage and cost" tabIndex={0}>
      <Sums view={view} steps={steps} />
      {!usage.priced && (
        <p className="tw-muted">
          {isPriced
            ? 'No price is known for one of the models: the cost is higher.'
            : 'No price is known for these models, so there is no cost.'}
        </p>
      )}
      {steps.length > 0 && <StepCharts steps={steps} isPriced={isPriced} />}
      <Totals view={view} isPriced={isPriced} />
      {steps.length > 0 && <Steps steps={steps} isPriced={isPriced} />}
    </section>
  )
}

function Sums({ view, steps }: { view: SessionView; steps: readonly Step[] }): ReactElement {
  const { usage, calls } = view
  const waits = [...calls.values()].reduce(
    (sum, { approval, settledAt }) =>
      sum + (approval ? (approval.decided?.at ?? settledAt ?? view.updatedAt) - approval.at : 0),
    0,
  )
  const asked = steps.reduce((sum, step) => sum + took(step), 0)
  const cached = `${Math.round((usage.cacheRead / usage.input) * 100)} % of the input`
  return (
    <dl className="tiles">
      <Tile
        name="Cost"
        value={usage.cost > 0 || (usage.priced && usage.input > 0) ? money(usage.cost) : '–'}
        more={usage.priced ? '' : 'as far as prices are known'}
      />
      <Tile
        name="Tokens"
        value={shortCount(usage.input + usage.output)}
        more={`${shortCount(usage.input)} in, ${shortCount(usage.output)} out`}
      />
      {usage.cacheRead > 0 && <Tile name="From cache" value={shortCount(usage.cacheRead)} more={cached} />}
      <Tile name="Steps" value={count(usage.steps)} more={plural(calls.size, 'call')} />
      <Tile name="Models took" value={duration(asked)} more="the time of all steps" />
      {waits > 0 && <Tile name="Waited for people" value={duration(waits)} more="not in the time of steps" />}
    </dl>
  )
}

/** Bars that can be told apart. Of a longer session several steps share one. */
const mostBars = 120

function StepCharts({ steps, isPriced }: { steps: readonly Step[]; isPriced: boolean }): ReactElement {
  const each = Math.ceil(steps.length / mostBars)
  const groups = Array.from({ length: Math.ceil(steps.length / each) }, (_, index) =>
    steps.slice(index * each, (index + 1) * each),
  )
  const places = groups.map((group, index) => {
    const first = index * each + 1
    return {
      full: group.length === 1 ? `Step ${first}` : `Steps ${first} to ${first + group.length - 1}`,
      short: String(first),
    }
  })
  const sum = (pick: (step: Step) => number): number[] =>
    groups.map(group => group.reduce((all, step) => all + pick(step), 0))
  const cost = sum(step => step.usage?.cost ?? 0)
  const shared = { places, empty: 'The models did not say.' }
  const whole = (largest: number): number[] => axisMarks(largest, { whole: true })
  return (
    <div className="usage-charts">
      <Chart
        {...shared}
        title="Tokens by step"
        kind="bars"
        series={[
          { name: 'input', tone: '1', values: sum(step => step.usage?.input ?? 0) },
          { name: 'output', tone: '2', values: sum(step => step.usage?.output ?? 0) },
        ]}
        marks={whole}
        format={shortCount}
      />
      <Chart
        {...shared}
        title="Time by step"
        kind="bars"
        series={[{ name: 'took', tone: '1', values: sum(took) }]}
        marks={timeMarks}
        format={axisTime}
      />
      {isPriced && (
        <Chart
          {...shared}
          title="Cost so far"
          kind="lines"
          series={[{ name: 'cost', tone: '1', values: runningSum(cost) }]}
          marks={axisMarks}
          format={money}
        />
      )}
    </div>
  )
}

function runningSum(values: readonly number[]): number[] {
  const sums: number[] = []
  for (const value of values) sums.push((sums.at(-1) ?? 0) + value)
  return sums
}

function took({ startedAt, endedAt = startedAt }: Step): number {
  return Math.max(0, endedAt - startedAt)
}

function Totals({ view, isPriced }: { view: SessionView; isPriced: boolean }): ReactElement {
  const hasCache = view.usage.cacheRead > 0
  const heads = [
    'Model',
    'Steps',
    'Input',
    'Output',
    ...(hasCache ? ['From cache'] : []),
    ...(isPriced ? ['Cost'] : []),
  ]
  const rows: [name: string, total: UsageTotal, isSum?: boolean][] = [
    ...[...view.byModel].map(([name, total]): [string, UsageTotal] => [printable(name, 80), total]),
    ...[...view.byAgent].map(([name, total]): [string, UsageTotal] => [
      `Agent ${printable(name, 80)}, for calls`,
      total,
    ]),
  ]
  if (rows.length > 1) rows.push(['In all', view.usage, true])
  return (
    <table>
      <caption>By model and agent</caption>
      <Heads names={heads} isNumber={at => at > 0} />
      <tbody>
        {rows.map(([name, total, isSum]) => (
          <tr key={name} className={isSum ? 'sum' : undefined}>
            <th scope="row">{name}</th>
            <td className="number">{count(total.steps)}</td>
            <td className="number">{count(total.input)}</td>
            <td className="number">{count(total.output)}</td>
            {hasCache && <td className="number">{count(total.cacheRead)}</td>}
            {isPriced && <td className="number">{total.priced ? money(total.cost) : '–'}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

const mostRows = 500

function Steps({ steps, isPriced }: { steps: readonly Step[]; isPriced: boolean }): ReactElement {
  const address = useAddress()
  const shown = steps.slice(-mostRows)
  return (
    <table>
      <caption>
        By step{shown.length < steps.length && `: the last ${count(mostRows)} of ${count(steps.length)}`}
      </caption>
      <Heads
        names={['Event', 'Model', 'Took', 'Input', 'Output', ...(isPriced ? ['Cost'] : [])]}
        isNumber={at => at > 1}
      />
      <tbody>
        {shown.map(step => (
          <tr key={step.seq}>
            <td>
              <Link to={withQuery(address, { view: undefined }, `#seq=${step.seq}`)}>#{step.seq}</Link>
            </td>
            <td>{printable(step.model ?? '', 80)}</td>
            <td className="number">{duration(took(step))}</td>
            <td className="number">{count(step.usage?.input)}</td>
            <td className="number">{count(step.usage?.output)}</td>
            {isPriced && <td className="number">{money(step.usage?.cost)}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  )
}
