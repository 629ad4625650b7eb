// Sign-in with an API key. The server answers with a cookie that scripts cannot read and a secret that goes with it, which
// this origin keeps; the key is kept nowhere.
import { type ReactElement, useId, useState } from 'react'
import type { OperatorMe } from '../../../src/client/index.ts'
import { Form } from '../../../src/react/forms.tsx'
import { useAttempt } from '../lib/attempt.tsx'
import { operator } from '../lib/console-state.tsx'
import { publicFile } from '../lib/mount-path.ts'
import { CommandLine } from '../lib/parts.tsx'

export function SignIn({ onDone }: { onDone: (me: OperatorMe) => void }): ReactElement {
  const [key, setKey] = useState('')
  const { attempt, problem } = useAttempt()
  const [busy, setBusy] = useState(false)
  const field = useId()
  const submit = (): void => {
    setBusy(true)
    const entered = operator.signIn(key.trim()).then(() => operator.me())
    entered.then(onDone, () => setBusy(false))
    attempt(entered)
  }
  return (
    <main className="sign-in">
      <h1>
        <img src={publicFile('icon.svg')} alt="" width="24" height="24" /> Turnwire
      </h1>
      <Form onSubmit={submit}>
        <label htmlFor={field}>API key</label>
        <input
          id={field}
          className="tw-input"
          type="password"
          autoComplete="current-password"
          value={key}
          autoFocus
          onChange={event => setKey(event.target.value)}
        />
        <button type="submit" className="tw-button tw-primary" disabled={busy || key.trim() === ''}>
          Sign in
        </button>
        {problem}
      </Form>
      <p className="tw-muted">This makes a key that sees everything:</p>
      <CommandLine text="npx turnwire keys add <name> --operator" />
    </main>
  )
}
