// Agents that owners have attached from their own machines: who can be asked now, for how much, how it went, and what they
// were paid. Also this machine, if it is attached to a relay itself.
import { type ReactElement, useCallback } from 'react'
import type { AttachedMachine } from '../../../../src/client/index.ts'
import { printable } from '../../../../src/lib/text/index.ts'
import { Time } from '../../../../src/react/index.ts'
import { duration, plural } from '../../../../src/react/words.ts'
import { operator } from '../../lib/console-state.tsx'
import { serverUrl } from '../../lib/mount-path.ts'
import { count, Failure, Id, State, useEvery, useLoaded } from '../../lib/parts.tsx'
import { DataTable } from '../../lib/table.tsx'

const heads = [
  'Agent',
  'State',
  'Wallet',
  'Machines',
  'Under way',
  'Served',
  'Failed',
  'Refused',
  'Earned',
  'First event',
  'Read / written',
]

export function AttachedAgents(): ReactElement {
  const load = useCallback((signal: AbortSignal) => operator.attachedAgents({ signal }), [])
  const { value, error, reload } = useLoaded(load)
  useEvery(5000, reload)
  const agents = value?.agents ?? []
  return (
    <section aria-label="Attached agents">
      <h2>Attached agents</h2>
      {error && !value && <Failure error={error} retry={reload} />}
      {value && agents.length === 0 && (
        <p className="tw-muted">
          None is attached. An owner runs: <code>turnwire attach {serverUrl}</code>
        </p>
      )}
      {agents.length > 0 && (
        <DataTable
          label="Table of attached agents"
          caption="Attached agents, counted since the server started"
          hidesCaption
          heads={heads}
          isNumber={at => at > 2}
        >
          {agents.map(agent => (
            <Row key={agent.agentId} agent={agent} />
          ))}
        </DataTable>
      )}
    </section>
  )
}

type Attached = Awaited<ReturnType<typeof operator.attachedAgents>>['agents'][number]

function Row({ agent }: { agent: Attached }): ReactElement {
  const { agentId, walletAddress, name, available, pricing, stats, earned } = agent
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
      <td className="number">{count(stats.refused)}</td>
      <td className="number">{earned ? earnedWords(earned) : '–'}</td>
      <td className="number">{stats.firstEventMs === undefined ? '–' : duration(stats.firstEventMs)}</td>
      <td className="number">{printable(price ?? '–', 80)}</td>
    </tr>
  )
}

/** In the smallest unit of each asset, as prices are. */
function earnedWords(earned: NonNullable<Attached['earned']>): string {
  const sums = earned.map(({ amount, asset, pending }) => {
    const short = `${printable(asset, 42).slice(0, 6)}…`
    return `${amount} of ${short}${pending > 0 ? `, ${plural(pending, 'payment')} on the way` : ''}`
  })
  return sums.length === 0 ? '0' : sums.join('; ')
}

/** The status of `turnwire attach` in the data folder of this server. */
export function ThisMachine({ attached }: { attached: AttachedMachine }): ReactElement {
  const { server, agentId, state, since, prices, requests, earnings, refusals } = attached
  const rows: [string, ReactElement | string][] = [
    ['Relay', printable(server, 200)],
    ['State', <State key="state" kind={state === 'attached' ? 'done' : 'stopped'} words={state} />],
    ['Since', <Time key="since" at={Date.parse(since)} />],
    ['Agent', <Id key="agent" id={agentId} />],
    ['Read / written', `${prices.inputTokenPrice} / ${prices.outputTokenPrice}`],
    ['Served', count(requests.served)],
    ['Failed', count(requests.failed)],
    ['Refused', count(requests.refused)],
    ['Under way', count(requests.inFlight)],
    ['Earned, if all of it was paid', printable(earnings, 80)],
  ]
  return (
    <section aria-label="This machine at a relay">
      <h2>This machine at a relay</h2>
      <section className="table-box" tabIndex={0} aria-label="Table of this machine">
        <table>
          <tbody>
            {rows.map(([name, value]) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td>{value}</td>
              </tr>
            ))}
            {refusals.map(({ at, reason }) => (
              <tr key={`${at} ${reason}`}>
                <th scope="row">
                  Refused <Time at={Date.parse(at)} />
                </th>
                <td>{printable(reason, 300)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </section>
  )
}
