// The usage and cost of the session: in all, by model, and step by step.
import type { ReactElement } from 'react'
import { printable } from '../../../../src/lib/text/index.ts'
import type { SessionView, UsageTotal } from '../../../../src/react/index.ts'
import { duration } from '../../../../src/react/words.ts'
import { count, money } from '../../lib/parts.tsx'
import { Link, useAddress, withQuery } from '../../lib/router.tsx'
import { Heads } from '../../lib/table.tsx'

const totalHeads = ['Model', 'Steps', 'Input', 'Output', 'From cache', 'Cost']
const stepHeads = ['Event', 'Model', 'Took', 'Input', 'Output', 'Cost']

export function UsageView({ view }: { view: SessionView }): ReactElement {
  const waits = [...view.calls.values()].reduce(
    (sum, { approval, settledAt }) =>
      sum + (approval ? (approval.decided?.at ?? settledAt ?? view.updatedAt) - approval.at : 0),
    0,
  )
  return (
    <section className="usage page-scroll" aria-label="Usage and cost" tabIndex={0}>
      <table>
        <caption>By model and agent</caption>
        <Heads names={totalHeads} isNumber={at => at > 0} />
        <tbody>
          {[...view.byModel].map(([name, total]) => (
            <Row key={name} name={printable(name, 80)} total={total} />
          ))}
          {[...view.byAgent].map(([name, total]) => (
            <Row key={`agent ${name}`} name={`Agent ${printable(name, 80)}, for calls`} total={total} />
          ))}
          <Row name="In all" total={view.usage} isSum />
        </tbody>
      </table>
      <p className="tw-muted">
        {view.usage.priced ? '' : 'No price is known for a model, so the cost is incomplete. '}
        Waiting for people took {duration(waits)} in all.
      </p>
      <Steps steps={view.steps} />
    </section>
  )
}

function Steps({ steps }: { steps: SessionView['steps'] }): ReactElement {
  const address = useAddress()
  return (
    <table>
      <caption>By step</caption>
      <Heads names={stepHeads} isNumber={at => at > 1} />
      <tbody>
        {steps
          .filter(step => step.seq !== undefined)
          .slice(-500)
          .map(step => (
            <tr key={step.seq}>
              <td>
                <Link to={withQuery(address, { view: undefined }, `#seq=${step.seq}`)}>#{step.seq}</Link>
              </td>
              <td>{printable(step.model ?? '', 80)}</td>
              <td className="number">{duration((step.endedAt ?? step.startedAt) - step.startedAt)}</td>
              <td className="number">{count(step.usage?.input)}</td>
              <td className="number">{count(step.usage?.output)}</td>
              <td className="number">{money(step.usage?.cost)}</td>
            </tr>
          ))}
      </tbody>
    </table>
  )
}

function Row(props: { name: string; total: UsageTotal; isSum?: boolean }): ReactElement {
  const { name, total, isSum } = props
  return (
    <tr className={isSum ? 'sum' : undefined}>
      <th scope="row">{name}</th>
      <td className="number">{count(total.steps)}</td>
      <td className="number">{count(total.input)}</td>
      <td className="number">{count(total.output)}</td>
      <td className="number">{count(total.cacheRead)}</td>
      <td className="number">{total.priced ? money(total.cost) : '–'}</td>
    </tr>
  )
}
