// What the session used and cost: in all, by model, and step by step.
import type { ReactElement } from 'react'
import { printable } from '../../../../src/lib/text.ts'
import type { SessionView, UsageTotal } from '../../../../src/react/index.ts'
import { duration } from '../../../../src/react/words.ts'
import { count, money } from '../../lib/parts.tsx'
import { Link, useAddress, withQuery } from '../../lib/router.tsx'

export function UsageView({ view }: { view: SessionView }): ReactElement {
  const address = useAddress()
  const waits = [...view.calls.values()].reduce(
    (sum, { approval, settledAt }) =>
      sum + (approval ? (approval.decided?.at ?? settledAt ?? view.updatedAt) - approval.at : 0),
    0,
  )
  return (
    <section className="usage page-scroll" aria-label="Usage and cost" tabIndex={0}>
      <table>
        <caption>By model</caption>
        <thead>
          <Heads first="Model" />
        </thead>
        <tbody>
          {[...view.byModel].map(([name, total]) => (
            <Row key={name} name={printable(name, 80)} total={total} />
          ))}
          <Row name="In all" total={view.usage} />
        </tbody>
      </table>
      <p className="tw-muted">
        {view.usage.priced ? '' : 'No price is configured for a model, so the cost is incomplete. '}
        People were waited for {duration(waits)}.
      </p>
      <table>
        <caption>By step</caption>
        <thead>
          <tr>
            <th scope="col">Event</th>
            <th scope="col">Model</th>
            <th scope="col">Took</th>
            <th scope="col">Input</th>
            <th scope="col">Output</th>
            <th scope="col">Cost</th>
          </tr>
        </thead>
        <tbody>
          {view.steps
            .filter(step => step.seq !== undefined)
            .slice(-500)
            .map(step => (
              <tr key={step.seq}>
                <td>
                  <Link to={withQuery(address, { view: undefined }, `#seq=${step.seq}`)}>#{step.seq}</Link>
                </td>
                <td>{printable(step.model ?? '', 80)}</td>
                <td>{duration((step.endedAt ?? step.startedAt) - step.startedAt)}</td>
                <td>{count(step.usage?.input)}</td>
                <td>{count(step.usage?.output)}</td>
                <td>{money(step.usage?.cost)}</td>
              </tr>
            ))}
        </tbody>
      </table>
    </section>
  )
}

function Heads({ first }: { first: string }): ReactElement {
  return (
    <tr>
      {[first, 'Steps', 'Input', 'Output', 'From cache', 'Cost'].map(name => (
        <th key={name} scope="col">
          {name}
        </th>
      ))}
    </tr>
  )
}

function Row({ name, total }: { name: string; total: UsageTotal }): ReactElement {
  return (
    <tr>
      <th scope="row">{name}</th>
      <td>{count(total.steps)}</td>
      <td>{count(total.input)}</td>
      <td>{count(total.output)}</td>
      <td>{count(total.cacheRead)}</td>
      <td>{total.priced ? money(total.cost) : '–'}</td>
    </tr>
  )
}
