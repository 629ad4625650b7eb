// The same counts by model, agent and tool. A model is one row, whichever agents use it.
import type { ReactElement, ReactNode } from 'react'
import type { OperatorActivity } from '../../../../src/client/index.ts'
import { printable } from '../../../../src/lib/text/index.ts'
import { duration } from '../../../../src/react/words.ts'
import { count, money } from '../../lib/parts.tsx'
import { Link } from '../../lib/router.tsx'
import { shortCount } from '../../lib/scale.ts'
import { DataTable } from '../../lib/table.tsx'

type Report = OperatorActivity

export function Models({ models }: { models: Report['models'] }): ReactElement | undefined {
  if (models.length === 0) return undefined
  const isPriced = models.some(({ cost }) => cost > 0)
  return (
    <Box
      title="Models"
      heads={['Model', 'Requests', 'Failed', 'p50', 'p95', 'Tokens', ...(isPriced ? ['Cost'] : [])]}
    >
      {models.map(({ name, steps, failed, p50, p95, input, output, cost, unpriced }) => (
        <tr key={name}>
          <th scope="row">{printable(name || 'not known', 60)}</th>
          <td className="number">{count(steps)}</td>
          <Bad value={failed} />
          <Took ms={p50} />
          <Took ms={p95} />
          <td className="number">{shortCount(input + output)}</td>
          {isPriced && <td className="number">{cost === 0 && unpriced > 0 ? '–' : money(cost)}</td>}
        </tr>
      ))}
    </Box>
  )
}

export function Agents({ agents }: { agents: Report['agents'] }): ReactElement | undefined {
  if (agents.length === 0) return undefined
  const isPriced = agents.some(({ steps }) => steps.cost > 0)
  return (
    <Box
      title="Agents"
      heads={['Agent', 'Turns', 'Failed', 'p50', 'p95', 'Tokens', ...(isPriced ? ['Cost'] : [])]}
    >
      {agents.map(({ name, turns, steps }) => (
        <tr key={name}>
          <th scope="row">
            <Link to={`/sessions?agent=${encodeURIComponent(name)}`} className="link">
              {printable(name, 60)}
            </Link>
          </th>
          <td className="number">{count(turns.turns)}</td>
          <Bad value={turns.failed} />
          <Took ms={turns.p50} />
          <Took ms={turns.p95} />
          <td className="number">{shortCount(steps.input + steps.output)}</td>
          {isPriced && <td className="number">{money(steps.cost)}</td>}
        </tr>
      ))}
    </Box>
  )
}

const mostTools = 12

export function ToolsUsed({ tools }: { tools: Report['tools'] }): ReactElement | undefined {
  if (tools.length === 0) return undefined
  const shown = tools.slice(0, mostTools)
  return (
    <Box
      title={
        tools.length > shown.length ? `Tools: the ${mostTools} used most of ${count(tools.length)}` : 'Tools'
      }
      heads={['Tool', 'Calls', 'Failed', 'Denied', 'p50', 'p95']}
    >
      {shown.map(({ name, calls, outcomes, p50, p95 }) => (
        <tr key={name}>
          <th scope="row">
            <Link to={`/sessions?q=${encodeURIComponent(name)}`} className="link">
              {printable(name, 60)}
            </Link>
          </th>
          <td className="number">{count(calls)}</td>
          <Bad
            value={
              (outcomes.error ?? 0) +
              (outcomes.timeout ?? 0) +
              (outcomes.unknown ?? 0) +
              (outcomes.invalid ?? 0)
            }
          />
          <td className="number">{count(outcomes.denied ?? 0)}</td>
          <Took ms={p50} />
          <Took ms={p95} />
        </tr>
      ))}
    </Box>
  )
}

function Box(props: { title: string; heads: readonly string[]; children: ReactNode }): ReactElement {
  return (
    <DataTable
      label={`Table of ${props.title.toLowerCase()}`}
      caption={props.title}
      heads={props.heads}
      isNumber={at => at > 0}
    >
      {props.children}
    </DataTable>
  )
}

function Bad({ value }: { value: number }): ReactElement {
  return <td className={value > 0 ? 'number bad' : 'number'}>{count(value)}</td>
}

function Took({ ms }: { ms: number | undefined }): ReactElement {
  return <td className="number">{ms === undefined ? '–' : duration(ms)}</td>
}
