// Agents that owners have attached from their own machines: who can be asked now, for how much, and how it went.
import { type ReactElement, useCallback, useEffect } from 'react'
import { printable } from '../../../../src/lib/text.ts'
import { duration } from '../../../../src/react/words.ts'
import { operator } from '../../lib/console-state.tsx'
import { count, Failure, Id, State, useLoaded } from '../../lib/parts.tsx'

const heads = [
  'Agent',
  'State',
  'Wallet',
  'Machines',
  'Under way',
  'Served',
  'Failed',
  'First event',
  'Read / written',
]

export function AttachedAgents(): ReactElement {
  const load = useCallback((signal: AbortSignal) => operator.attachedAgents({ signal }), [])
  const { value, error, reload } = useLoaded(load)
  useEffect(() => {
    const timer = setInterval(reload, 5000)
    return () => clearInterval(timer)
  })
  const agents = value?.providers ?? []
  return (
    <section aria-label="Attached agents">
      <h2>Attached agents</h2>
      {error && !value && <Failure error={error} retry={reload} />}
      {value && agents.length === 0 && (
        <p className="tw-muted">
          None is attached. An owner runs: <code>turnwire attach {location.origin}</code>
        </p>
      )}
      {agents.length > 0 && (
        <section className="table-box" tabIndex={0} aria-label="Table of attached agents">
          <table>
            <caption className="tw-hidden">Attached agents, counted since the server started</caption>
            <thead>
              <tr>
                {heads.map((name, index) => (
                  <th key={name} scope="col" className={index > 2 ? 'number' : undefined}>
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {agents.map(agent => (
                <Row key={agent.agentId} agent={agent} />
              ))}
            </tbody>
          </table>
        </section>
      )}
    </section>
  )
}

type Attached = Awaited<ReturnType<typeof operator.attachedAgents>>['providers'][number]

function Row({ agent }: { agent: Attached }): ReactElement {
  const { agentId, walletAddress, name, available, pricing, stats } = agent
  const price = pricing && `${pricing.inputTokenPrice} / ${pricing.outputTokenPrice}`
  return (
    <tr>
      <th scope="row">{printable(name ?? agentId, 60)}</th>
      <td>
        <State kind={available ? 'done' : 'stopped'} words={available ? 'available' : 'not available'} />
      </td>
      <td>
        <Id id={walletAddress} />
      </td>
      <td className="number">{count(stats.machines)}</td>
      <td className="number">{count(stats.inFlight)}</td>
      <td className="number">{count(stats.served)}</td>
      <td className={stats.failed > 0 ? 'number bad' : 'number'}>{count(stats.failed)}</td>
      <td className="number">{stats.firstEventMs === undefined ? '–' : duration(stats.firstEventMs)}</td>
      <td className="number">{printable(price ?? '–', 80)}</td>
    </tr>
  )
}
