// The MCP servers of the configuration: whether each can be used, what it speaks, and what to do if it cannot.
import type { ReactElement } from 'react'
import type { ToolServerInfo } from '../../../../src/language/servers.ts'
import { printable } from '../../../../src/lib/text/index.ts'
import { Time } from '../../../../src/react/index.ts'
import { plural } from '../../../../src/react/words.ts'
import { CommandLine, State, type StateKind } from '../../lib/parts.tsx'
import { Accounts } from './accounts.tsx'

export function Servers({ servers }: { servers: readonly ToolServerInfo[] }): ReactElement {
  return (
    <section aria-label="MCP servers">
      <h2>MCP servers</h2>
      {servers.length === 0 ? (
        <>
          <p className="tw-muted">None is configured. In turnwire.config.ts:</p>
          <CommandLine
            text={
              "mcp: { files: { command: 'npx', args: ['-y', '@modelcontextprotocol/server-filesystem', '.'] } }"
            }
          />
        </>
      ) : (
        <ul className="plain">
          {servers.map(server => (
            <Server key={server.name} server={server} />
          ))}
        </ul>
      )}
    </section>
  )
}

const states: Readonly<Record<ToolServerInfo['state'], { kind: StateKind; words: string }>> = {
  connected: { kind: 'done', words: 'connected' },
  connecting: { kind: 'running', words: 'connecting' },
  unavailable: { kind: 'failed', words: 'unavailable' },
  login: { kind: 'waiting', words: 'waits for a login' },
  owners: { kind: 'done', words: 'an account for each owner' },
}

function Server({ server }: { server: ToolServerInfo }): ReactElement {
  const { name, state, problem, since } = server
  return (
    <li className="server">
      <div className="server-head">
        <code>{printable(name, 60)}</code>
        <State {...states[state]} />
      </div>
      <p className="tw-muted">
        {describeServer(server).join(', ')}
        {since !== undefined && (
          <>
            , since <Time at={since} />
          </>
        )}
      </p>
      {problem !== undefined && <p className="tw-problem">{printable(problem, 400)}</p>}
      {state === 'owners' && <Accounts server={name} />}
      {state === 'login' && <CommandLine text={`npx turnwire mcp login ${name}`} />}
    </li>
  )
}

function describeServer({
  transport,
  protocolVersion,
  software,
  tools,
  changedTools,
}: ToolServerInfo): string[] {
  return [
    ...(software ? [printable(`${software.name} ${software.version}`, 80)] : []),
    `${transport}${protocolVersion === undefined ? '' : `, speaks MCP ${printable(protocolVersion, 20)}`}`,
    `${plural(tools, 'tool')}${changedTools > 0 ? `, ${changedTools} changed since accepted` : ''}`,
  ]
}
