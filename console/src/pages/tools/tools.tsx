// Agents and their tools: schemas, where each runs, trust; MCP servers; and a form to try a tool through the gate.
import { type ReactElement, useState } from 'react'
import type { OperatorAgent } from '../../../../src/client/index.ts'
import type { ToolServerInfo } from '../../../../src/language/servers.ts'
import type { Json } from '../../../../src/lib/json/index.ts'
import { printable } from '../../../../src/lib/text/index.ts'
import { ActionIcon } from '../../../../src/react/icons.tsx'
import { Diff, JsonTree, KindIcon } from '../../../../src/react/index.ts'
import { Fact } from '../../../../src/react/parts.tsx'
import { plural, toolTitle } from '../../../../src/react/words.ts'
import { AgentTabs } from '../../lib/agent-tabs.tsx'
import { type OperatorTool, useConsole } from '../../lib/console-state.tsx'
import { describeChange } from '../../lib/live-session.ts'
import { useNarrow } from '../../lib/narrow.ts'
import { Empty, Loading, useEvery } from '../../lib/parts.tsx'
import { type Address, Link, useAddress, withQuery } from '../../lib/router.tsx'
import { ruleWords, ToolVerdict, trustWords, unlessWords, Verdict } from '../../lib/verdict.tsx'
import { OwnAccounts } from './accounts.tsx'
import { Flow } from './flow.tsx'
import { Servers } from './servers.tsx'
import { TryTool } from './try-tool.tsx'

export default function Tools(): ReactElement {
  const address = useAddress()
  const { catalogue, me, reloadCatalogue } = useConsole()
  const [words, setWords] = useState('')
  const isNarrow = useNarrow()
  // Servers come and go, which is no change of a session that the page would be told of.
  useEvery(10_000, reloadCatalogue)
  if (!catalogue) return <Loading what="the tools" />
  const agent = catalogue.agents.find(each => each.name === address.query.get('agent')) ?? catalogue.agents[0]
  if (!agent) return <Empty title="There is no agent yet" />
  const chosen = agent.tools.find(each => each.name === address.query.get('tool'))
  // A phone shows the list or a tool.
  const tool = chosen ?? (isNarrow ? undefined : agent.tools[0])
  const found = agent.tools.filter(each =>
    `${each.name} ${each.description}`.toLowerCase().includes(words.toLowerCase()),
  )
  return (
    <div className="page tools">
      <header className="page-head">
        <h1>Tools and agents</h1>
        <AgentTabs agents={catalogue.agents} current={agent} address={address} without={['tool', 'tried']} />
      </header>
      <div className={chosen ? 'tools-body tools-chosen' : 'tools-body'}>
        <div className="tools-list page-scroll">
          <About agent={agent} />
          <Flow report={catalogue.flow?.find(each => each.agent === agent.name)} />
          <SearchTools words={words} onWords={setWords} />
          <ul className="plain">
            {found.map(each => (
              <ToolLink
                key={each.name}
                tool={each}
                address={address}
                agent={agent}
                isCurrent={each === tool}
              />
            ))}
          </ul>
          {me.operator && <Servers servers={catalogue.servers ?? []} />}
          {!me.operator && me.features.includes('connections') && <OwnAccounts />}
        </div>
        <div className="tools-one page-scroll">
          {tool && (
            <Link to={withQuery(address, { tool: undefined, tried: undefined })} className="link tools-back">
              All tools of {printable(agent.title ?? agent.name, 60)}
            </Link>
          )}
          {tool ? <OneTool key={tool.name} tool={tool} agent={agent} /> : <NoTool agent={agent} />}
        </div>
      </div>
    </div>
  )
}

function SearchTools(props: { words: string; onWords: (words: string) => void }): ReactElement {
  return (
    <span className="search-field">
      <ActionIcon name="search" />
      <input
        type="search"
        className="tw-input"
        aria-label="Search tools"
        placeholder="Search tools"
        value={props.words}
        onChange={event => props.onWords(event.target.value)}
      />
    </span>
  )
}

function NoTool({ agent }: { agent: OperatorAgent }): ReactElement {
  const words =
    agent.tools.length === 0
      ? 'This agent has no tools.'
      : 'Choose a tool to see its definition and to try it.'
  return <p className="tw-muted">{words}</p>
}

type ToolLinkProps = { tool: OperatorTool; address: Address; agent: OperatorAgent; isCurrent: boolean }

function ToolLink({ tool, address, agent, isCurrent }: ToolLinkProps): ReactElement {
  const server = useToolServer(tool, agent)
  return (
    <li>
      <Link
        to={withQuery(address, { agent: agent.name, tool: tool.name, tried: undefined })}
        className="tool-link"
        aria-current={isCurrent ? 'true' : undefined}
      >
        <KindIcon kind={tool.kind} />
        <code>{printable(tool.name, 60)}</code>
        <ToolVerdict tool={tool} />
        {server && !['connected', 'owners'].includes(server.state) && (
          <span className="bad">{server.state}</span>
        )}
      </Link>
    </li>
  )
}

function About({ agent }: { agent: OperatorAgent }): ReactElement {
  return (
    <section aria-label="Agent">
      {agent.description !== undefined && <p>{printable(agent.description, 600)}</p>}
      <p className="tw-muted">
        Model {printable(agent.model?.id ?? '–', 80)}, {plural(agent.tools.length, 'tool')}.{' '}
        <Link to={`/?agent=${encodeURIComponent(agent.name)}`} className="link">
          Talk to it
        </Link>
      </p>
      {agent.system !== undefined && (
        <details className="tw-details">
          <summary>Instructions</summary>
          <pre className="tw-text">{printable(agent.system, { multiline: true, maxChars: 20_000 })}</pre>
        </details>
      )}
    </section>
  )
}

/** The MCP server that a tool comes from. Its tools are named after it. */
function useToolServer(tool: OperatorTool, agent: OperatorAgent): ToolServerInfo | undefined {
  const { catalogue } = useConsole()
  return catalogue?.servers?.find(
    ({ name, agents }) => tool.name.startsWith(`${name}__`) && agents.includes(agent.name),
  )
}

function describePlace(tool: OperatorTool, server: ToolServerInfo | undefined): string {
  if (server) return `on the MCP server ${printable(server.name, 60)}`
  return tool.side === 'client' ? 'in the application' : 'on this server'
}

function OneTool({ tool, agent }: { tool: OperatorTool; agent: OperatorAgent }): ReactElement {
  const { me } = useConsole()
  const server = useToolServer(tool, agent)
  const change = describeChange(tool)
  const facts: [string, string][] = [
    ['Runs', describePlace(tool, server)],
    ['Trust', trustWords(tool)],
    ['Kind', tool.kind],
    [
      'Changes things',
      tool.readOnly ? 'no: it only reads' : tool.destructive ? 'yes, and it may destroy' : 'yes',
    ],
    ['Again after a crash', tool.readOnly || tool.idempotent ? 'yes' : 'no: it is settled unknown'],
    ['Listed to clients', tool.exposed ? 'yes' : 'no'],
  ]
  return (
    <section aria-label={`Tool ${tool.name}`}>
      <h2>
        <KindIcon kind={tool.kind} />
        {tool.title !== undefined && <span>{toolTitle(tool.name, tool.title)}</span>}{' '}
        <code>{printable(tool.name, 80)}</code>
      </h2>
      <p>{printable(tool.description, { multiline: true, maxChars: 4000 })}</p>
      {tool.changed !== undefined && (
        <>
          <p className="tw-problem">{printable(tool.changed, { multiline: true, maxChars: 4000 })}</p>
          {change && <Diff {...change} label="How the definition changed" />}
        </>
      )}
      <Gate tool={tool} agent={agent} />
      <dl className="facts tool-facts">
        {facts.map(([name, value]) => (
          <Fact key={name} name={name}>
            {printable(value, 120)}
          </Fact>
        ))}
      </dl>
      {me.operator && <TryTool tool={tool} agent={agent} />}
      <details className="tw-details">
        <summary>Definition</summary>
        <JsonTree value={JSON.parse(JSON.stringify(tool.input)) as Json} label="Input" />
        {tool.output !== undefined && <JsonTree value={tool.output} label="Output" />}
      </details>
    </section>
  )
}

/** The verdict on a call, with the rule that gives it and those that may decide otherwise. */
function Gate({ tool, agent }: { tool: OperatorTool; agent: OperatorAgent }): ReactElement | null {
  const { me } = useConsole()
  const { verdict } = tool
  if (!verdict) return null
  const others = unlessWords(verdict)
  const query = `agent=${encodeURIComponent(agent.name)}&tool=${encodeURIComponent(tool.name)}`
  return (
    <p className="tool-gate">
      A call <Verdict verdict={verdict.verdict} /> by <b>{ruleWords(verdict.rule)}</b>
      {verdict.reason !== undefined && <span className="tw-muted"> “{printable(verdict.reason, 200)}”</span>}
      {others !== '' && <>, unless a rule decides otherwise by its arguments: {others}</>}.{' '}
      {me.operator && (
        <Link to={`/policy?${query}`} className="link">
          Judge a call of it
        </Link>
      )}
    </p>
  )
}
