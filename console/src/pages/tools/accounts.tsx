// The accounts of owners at one MCP server: whose are connected, connecting one's own, and ending a connection.
import { type ReactElement, useCallback, useEffect, useState } from 'react'
import type { ServerConnections } from '../../../../src/client/index.ts'
import { printable } from '../../../../src/lib/text/index.ts'
import { Time } from '../../../../src/react/index.ts'
import { operator, useConsole } from '../../lib/console-state.tsx'

export function Accounts({ server }: { server: string }): ReactElement {
  const { me } = useConsole()
  const [connections, setConnections] = useState<ServerConnections['connections']>([])
  const [address, setAddress] = useState<string>()
  const [problem, setProblem] = useState<string>()
  const run = useCallback((act: () => Promise<unknown>): void => {
    setProblem(undefined)
    act().catch((error: unknown) => setProblem(error instanceof Error ? error.message : String(error)))
  }, [])
  const load = useCallback(async () => {
    const all = await operator.connections()
    setConnections(all.connections.filter(each => each.server === server))
  }, [server])
  useEffect(() => run(load), [run, load])
  const end = (owner: string): void =>
    run(async () => {
      await operator.disconnect(server, me.operator ? owner : undefined)
      await load()
    })
  return (
    <div className="accounts">
      {connections.length === 0 ? (
        <p className="tw-muted">No account is connected. An owner is asked when a call needs one.</p>
      ) : (
        <ul className="plain">
          {connections.map(({ owner, since }) => (
            <li key={owner}>
              <code>{printable(owner, 60)}</code>, connected <Time at={since} />{' '}
              <button type="button" onClick={() => end(owner)}>
                Disconnect {printable(owner, 60)}
              </button>
            </li>
          ))}
        </ul>
      )}
      {address === undefined ? (
        <button type="button" onClick={() => run(async () => setAddress(await operator.connect(server)))}>
          Connect my account
        </button>
      ) : (
        <a href={address} target="_blank" rel="noreferrer">
          Open the page to connect {printable(server, 60)}
        </a>
      )}
      {problem !== undefined && <p className="tw-problem">{printable(problem, 400)}</p>}
    </div>
  )
}
