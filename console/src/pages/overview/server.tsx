// The server that answers: its health, its store, its nodes, and its keys.
import { type ReactElement, useCallback, useEffect, useId, useState } from 'react'
import type { OperatorKeyInfo, OperatorMe, OperatorSystem } from '../../../../src/client/index.ts'
import { printable } from '../../../../src/lib/text/index.ts'
import { Form } from '../../../../src/react/forms.tsx'
import { CopyButton, Time } from '../../../../src/react/index.ts'
import { Fact } from '../../../../src/react/parts.tsx'
import { byteSize } from '../../../../src/react/words.ts'
import { useAttempt } from '../../lib/attempt.tsx'
import { operator, useConsole } from '../../lib/console-state.tsx'
import { count, Failure, Loading, State, useEvery, useLoaded } from '../../lib/parts.tsx'
import { signOut } from '../../lib/provider-sign-in.ts'
import { DataTable } from '../../lib/table.tsx'
import { applyTheme, readTheme, themes } from '../../lib/theme.ts'
import { Nodes } from './nodes.tsx'
import { AttachedAgents, ThisMachine } from './relay.tsx'

/** The server that answers: its health, its nodes, its keys. */
export function ServerParts(): ReactElement {
  const { me, onChange } = useConsole()
  const load = useCallback((signal: AbortSignal) => operator.system({ signal }), [])
  const { value, error, reload } = useLoaded(load)
  useEvery(5000, reload)
  useEffect(
    () =>
      onChange(change => {
        if (change.type === 'open') reload()
      }),
    [onChange, reload],
  )
  return (
    <>
      {error && !value && <Failure error={error} retry={reload} />}
      {!value && !error && <Loading what="the state of the server" />}
      {value && <Health system={value} />}
      {value?.nodes && <Nodes nodes={value.nodes} seenAt={value.nodesSeenAt} />}
      {value && <ModelErrors models={value.models} />}
      {me.features.includes('relay') && <AttachedAgents />}
      {value?.attached && <ThisMachine attached={value.attached} />}
      <Keys />
    </>
  )
}

/** The sign-out and theme of the rail, for narrow screens that have no rail. */
export function ThisBrowser(): ReactElement {
  const { me } = useConsole()
  const [theme, setTheme] = useState(readTheme)
  const field = useId()
  return (
    <section aria-label="This browser">
      <h2>This browser</h2>
      <div className="add-key">
        <label htmlFor={field}>Theme</label>
        <select
          id={field}
          value={theme}
          onChange={event => {
            const next = themes.find(each => each === event.target.value) ?? 'system'
            applyTheme(next)
            setTheme(next)
          }}
        >
          {themes.map(each => (
            <option key={each}>{each}</option>
          ))}
        </select>
        {!me.open && (
          <button type="button" className="tw-button" onClick={() => void signOut()}>
            Sign out {printable(me.name, 40)}
          </button>
        )}
      </div>
    </section>
  )
}

function Health({ system }: { system: OperatorSystem }): ReactElement {
  const { version, node, startedAt, memory, store } = system
  return (
    <section aria-label="Health">
      <h2>This server</h2>
      <dl className="facts big">
        <Fact name="Store">
          <State
            kind={store.ok ? 'done' : 'failed'}
            words={store.ok ? 'can be written' : (store.error ?? 'cannot be written')}
          />
        </Fact>
        <Fact name="Version">{printable(version, 40)}</Fact>
        <Fact name="Node.js">{printable(node, 40)}</Fact>
        <Fact name="Started">
          <Time at={startedAt} />
        </Fact>
        <Fact name="Memory">{byteSize(memory)}</Fact>
      </dl>
    </section>
  )
}

/** Each model once, also if several agents use it. Those without an error are not listed. */
function ModelErrors({ models }: { models: OperatorSystem['models'] }): ReactElement | undefined {
  const failing = models.filter(
    ({ id, lastError }, index) =>
      lastError !== undefined && models.findIndex(each => each.id === id) === index,
  )
  if (failing.length === 0) return undefined
  return (
    <section aria-label="Errors of models">
      <DataTable
        label="Table of errors of models"
        caption="Last errors of models, on this server since its start"
        heads={['Model', 'Failures', 'Requests', 'Last error', 'When']}
        isNumber={at => at === 1 || at === 2}
      >
        {failing.map(model => (
          <tr key={model.id}>
            <th scope="row">{printable(model.id, 60)}</th>
            <td className="number bad">{count(model.failures)}</td>
            <td className="number">{count(model.requests)}</td>
            <td className="words">{printable(model.lastError ?? '', 200)}</td>
            <td>{model.lastErrorAt !== undefined && <Time at={model.lastErrorAt} />}</td>
          </tr>
        ))}
      </DataTable>
    </section>
  )
}

function Keys(): ReactElement {
  const { me, onSignedIn } = useConsole()
  const load = useCallback((signal: AbortSignal) => operator.keys({ signal }), [])
  const { value: read, error, reload } = useLoaded(load)
  const value = read?.keys
  const [made, setMade] = useState<{ name: string; key: string }>()
  return (
    <section aria-label="Keys">
      <h2>Keys</h2>
      {error && <Failure error={error} retry={reload} />}
      {value?.length === 0 && (
        <p className="tw-muted">
          There are none: the server is open to everyone on this machine, and to nobody else. The first key
          closes it. Make it an operator’s, so that you still see this page and every session.
        </p>
      )}
      <ul className="plain keys-list">
        {value?.map(key => (
          <Key key={key.name} info={key} onGone={reload} />
        ))}
      </ul>
      {made && (
        <p className="made-key" role="status">
          The key of {printable(made.name, 60)}, shown this once: <code>{made.key}</code>{' '}
          <CopyButton text={made.key} />
        </p>
      )}
      <AddKey
        isFirst={me.open}
        onAdded={key => {
          setMade(key)
          const entered = me.open ? enterWith(key.key).then(onSignedIn) : Promise.resolve()
          entered.then(reload, reload)
        }}
      />
    </section>
  )
}

/** The first key closes the server, and this page goes on with it. Rejects if it is no operator's: the key stays in sight. */
async function enterWith(key: string): Promise<OperatorMe> {
  await operator.signIn(key)
  const me = await operator.me()
  if (!me.operator) throw new Error('This page needs an operator key.')
  return me
}

function Key({ info, onGone }: { info: OperatorKeyInfo; onGone: () => void }): ReactElement {
  const revoke = (): void => {
    if (confirm(`Revoke the key ${info.name}? Its programs are refused at once.`))
      void operator.removeKey(info.name).then(onGone)
  }
  return (
    <li>
      <code>{printable(info.name, 60)}</code>
      <span className="tw-muted">{info.operator ? 'operator' : 'its own sessions'}</span>
      {info.fixed ? (
        <span className="tw-muted">from the configuration</span>
      ) : (
        <button
          type="button"
          className="tw-button tw-small tw-danger"
          onClick={revoke}
          aria-label={`Revoke ${info.name}`}
        >
          Revoke…
        </button>
      )}
    </li>
  )
}

type AddKeyProps = { isFirst: boolean; onAdded: (key: { name: string; key: string }) => void }

function AddKey({ isFirst, onAdded }: AddKeyProps): ReactElement {
  const [name, setName] = useState('')
  const [isOperator, setOperator] = useState(isFirst)
  const { attempt, problem } = useAttempt()
  const field = useId()
  const submit = (): void =>
    attempt(
      operator.addKey(name.trim(), isOperator).then(key => {
        setName('')
        setOperator(false)
        onAdded(key)
      }),
    )
  return (
    <Form className="add-key" onSubmit={submit}>
      <label htmlFor={field}>New key for</label>
      <input id={field} className="tw-input" value={name} onChange={event => setName(event.target.value)} />
      <label className="check">
        <input type="checkbox" checked={isOperator} onChange={event => setOperator(event.target.checked)} />
        operator
      </label>
      <button type="submit" className="tw-button" disabled={name.trim() === ''}>
        Add
      </button>
      {problem}
    </Form>
  )
}
