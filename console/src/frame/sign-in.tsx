// Sign-in at the identity provider, if the server has one, or with an API key. The server answers with a cookie that scripts cannot
// read and a secret that goes with it, which this origin keeps; the key is kept nowhere.
import { type ReactElement, useCallback, useEffect, useId, useState } from 'react'
import type { OperatorMe, SignInOptions } from '../../../src/client/index.ts'
import { Form } from '../../../src/react/forms.tsx'
import { useAttempt } from '../lib/attempt.tsx'
import { operator } from '../lib/console-state.tsx'
import { publicFile } from '../lib/mount-path.ts'
import { CommandLine } from '../lib/parts.tsx'
import {
  finishSignIn,
  leaveForProvider,
  signInOptions,
  takeAnswer,
  takeStart,
} from '../lib/provider-sign-in.ts'

export default function SignIn({ onDone }: { onDone: (me: OperatorMe) => void }): ReactElement {
  const { attempt, problem } = useAttempt()
  const [busy, setBusy] = useState(false)
  const act = useCallback(
    (work: Promise<void>): void => {
      setBusy(true)
      work.catch(() => setBusy(false))
      attempt(work)
    },
    [attempt],
  )
  const enter = useCallback(
    (signedIn: Promise<void>): void => act(signedIn.then(() => operator.me()).then(onDone)),
    [act, onDone],
  )
  const leave = useCallback((page: string): void => act(leaveForProvider(page)), [act])
  useEffect(() => {
    const answer = takeAnswer()
    if (answer) enter(finishSignIn(answer))
  }, [enter])
  const oidc = useProvider(leave)
  return (
    <main className="sign-in">
      <h1>
        <img src={publicFile('icon.svg')} alt="" width="24" height="24" /> Turnwire
      </h1>
      {oidc && (
        <button
          type="button"
          className="tw-button tw-primary"
          disabled={busy}
          autoFocus
          onClick={() => leave(oidc.page)}
        >
          Sign in with {oidc.label}
        </button>
      )}
      <KeyForm isSecond={oidc !== undefined} busy={busy} enter={enter} problem={problem} />
      <p className="tw-muted">This makes a key that sees everything:</p>
      <CommandLine text="npx turnwire keys add <name> --operator" />
    </main>
  )
}

/** The identity provider, once it is known. Goes on to it at once if the address says so. */
function useProvider(leave: (page: string) => void): SignInOptions['oidc'] {
  const [options, setOptions] = useState<SignInOptions>({})
  useEffect(() => {
    signInOptions().then(
      found => {
        setOptions(found)
        if (found.oidc && takeStart()) leave(found.oidc.page)
      },
      () => {},
    )
  }, [leave])
  return options.oidc
}

type KeyFormProps = {
  /** The provider comes first. */
  isSecond: boolean
  busy: boolean
  enter: (signedIn: Promise<void>) => void
  problem: ReactElement
}

function KeyForm({ isSecond, busy, enter, problem }: KeyFormProps): ReactElement {
  const [key, setKey] = useState('')
  const field = useId()
  return (
    <Form onSubmit={() => enter(operator.signIn(key.trim()))}>
      <label htmlFor={field}>{isSecond ? 'Or with an API key' : 'API key'}</label>
      <input
        id={field}
        className="tw-input"
        type="password"
        autoComplete="current-password"
        value={key}
        autoFocus={!isSecond}
        onChange={event => setKey(event.target.value)}
      />
      <button
        type="submit"
        className={isSecond ? 'tw-button' : 'tw-button tw-primary'}
        disabled={busy || key.trim() === ''}
      >
        Sign in
      </button>
      {problem}
    </Form>
  )
}
