// The accounts of owners at MCP servers: whose are connected, connecting one's own, and ending a connection.
import { type ReactElement, useState } from 'react'
import type { ServerConnections } from '../../../../src/client/index.ts'
import { printable } from '../../../../src/lib/text/index.ts'
import { Problem } from '../../../../src/react/forms.tsx'
import { Time } from '../../../../src/react/index.ts'
import { useAttempt } from '../../lib/attempt.tsx'
import { operator, useConsole } from '../../lib/console-state.tsx'
import { useEvery, useLoaded } from '../../lib/parts.tsx'

/** While a person is away to connect, it is looked up this often. */
const lookEveryMs = 2_000

const load = (): Promise<ServerConnections> => operator.connections()

/** Callers without the operator scope see only the servers at which they can have an account. */
export function OwnAccounts(): ReactElement | null {
  const { value } = useLoaded(load)
  if (!value || value.servers.length === 0) return null
  return (
    <section aria-label="Your accounts">
      <h2>Your accounts</h2>
      <ul className="plain">
        {value.servers.map(({ name, host }) => (
          <li key={name} className="server">
            <div className="server-head">
              <code>{printable(name, 60)}</code>
              <span className="tw-muted">{printable(host, 80)}</span>
            </div>
            <Accounts server={name} />
          </li>
        ))}
      </ul>
    </section>
  )
}

/** Those at one server. */
export function Accounts({ server }: { server: string }): ReactElement {
  const { me } = useConsole()
  const { value, error, reload } = useLoaded(load)
  const { attempt, problem } = useAttempt()
  const connections = (value?.connections ?? []).filter(each => each.server === server)
  const end = (owner: string): void =>
    attempt(operator.disconnect(server, me.operator ? owner : undefined).then(reload))
  return (
    <div className="accounts">
      {connections.length === 0 ? (
        <p className="tw-muted">
          No account is connected. {me.operator ? 'An owner is' : 'You are'} asked when a call needs one.
        </p>
      ) : (
        <ul className="plain">
          {connections.map(({ owner, since }) => (
            <li key={owner}>
              <span className="tw-muted">
                <code>{printable(owner, 60)}</code>, connected <Time at={since} />
              </span>
              <button type="button" className="tw-button tw-small" onClick={() => end(owner)}>
                Disconnect {printable(owner, 60)}
              </button>
            </li>
          ))}
        </ul>
      )}
      {!connections.some(({ owner }) => owner === me.owner) && <Connect server={server} onLook={reload} />}
      <Problem text={error?.message} />
      {problem}
    </div>
  )
}

/** `onLook`: the account may be connected by now. */
function Connect({ server, onLook }: { server: string; onLook: () => void }): ReactElement {
  const [address, setAddress] = useState<string>()
  const { attempt, problem } = useAttempt()
  useEvery(address === undefined ? undefined : lookEveryMs, onLook)
  if (address !== undefined)
    return (
      <a href={address} target="_blank" rel="noreferrer" className="link">
        Open the page to connect {printable(server, 60)}
      </a>
    )
  const ask = (): void => attempt(operator.connect(server).then(setAddress))
  return (
    <>
      <button type="button" className="tw-button" onClick={ask}>
        Connect my account
      </button>
      {problem}
    </>
  )
}
