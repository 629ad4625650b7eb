// The field to say something. While a turn is under way the person chooses what becomes of the message, and sees the messages
// that wait, which can be taken back.
import { type FormEvent, type KeyboardEvent, type ReactElement, type ReactNode, useId, useState } from 'react'
import type { During } from '../client/index.ts'
import { joinText } from '../language/content.ts'
import type { QueuedMessage } from '../language/show.ts'
import { errorMessage } from '../lib/text/error-message.ts'
import { printable } from '../lib/text/index.ts'
import type { SessionConnection } from './session-page.ts'
import { useReconnected } from './use-reconnected.ts'

export type ComposerProps = {
  /** `during` is undefined while no turn is under way. A rejection puts the text back into the field. */
  onSend: (text: string, during: During | undefined) => Promise<unknown>
  onStop?: (() => Promise<unknown>) | undefined
  /** A turn is under way. */
  isActive: boolean
  /** The messages that wait: `view.messages`. */
  messages?: readonly QueuedMessage[] | undefined
  onWithdraw?: ((message: string) => Promise<unknown>) | undefined
  label?: string
  /** Of the session. An error is not shown any longer once the server is back. */
  connection?: SessionConnection | undefined
  children?: ReactNode
}

type DuringChoice = { during: During; words: string; title: string }
const choices: readonly [DuringChoice, ...DuringChoice[]] = [
  { during: 'steer', words: 'Steer', title: 'The model reads it with the next results, in this turn' },
  { during: 'queue', words: 'Queue', title: 'It starts a turn when this one has ended' },
  { during: 'interrupt', words: 'Interrupt', title: 'The model stops now and reads it' },
  {
    during: 'refuse',
    words: 'Replace',
    title: 'It abandons what waits for a person, and is refused while the turn runs',
  },
]

export function Composer(props: ComposerProps): ReactElement {
  const { onSend, onStop, isActive, messages = [], onWithdraw, label = 'Message', children } = props
  const { text, setText, during, setDuring, problem, setProblem, attempt, send } = useDraft(onSend, isActive)
  useReconnected(props.connection, () => setProblem(undefined))
  const field = useId()
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
    event.preventDefault()
    send()
  }
  const onSubmit = (event: FormEvent): void => {
    event.preventDefault()
    send()
  }
  return (
    <form className="tw-composer" onSubmit={onSubmit}>
      <Waiting messages={messages} onWithdraw={onWithdraw && (id => attempt(onWithdraw(id)))} />
      <label htmlFor={field} className="tw-hidden">
        {label}
      </label>
      <textarea
        id={field}
        className="tw-input"
        rows={1}
        placeholder={label}
        title="Enter sends, Shift+Enter makes a new line"
        value={text}
        onChange={event => setText(event.target.value)}
        onKeyDown={onKeyDown}
      />
      <div className="tw-composer-tools">
        {children}
        {isActive && <Choice during={during} onChoose={setDuring} />}
        {isActive && <span className="tw-composer-note">{findChoice(during).title}</span>}
        {isActive && onStop && (
          <button type="button" className="tw-button tw-danger" onClick={() => attempt(onStop())}>
            Stop
          </button>
        )}
        <button type="submit" className="tw-button tw-primary" disabled={text.trim() === ''}>
          Send
        </button>
      </div>
      {problem !== undefined && (
        <p role="alert" className="tw-problem">
          {printable(problem, 600)}
        </p>
      )}
    </form>
  )
}

type Draft = {
  text: string
  setText: (text: string) => void
  during: During
  setDuring: (during: During) => void
  problem: string | undefined
  setProblem: (words: string | undefined) => void
  attempt: (work: Promise<unknown>) => void
  send: () => void
}

function useDraft(onSend: ComposerProps['onSend'], isActive: boolean): Draft {
  const [text, setText] = useState('')
  const [during, setDuring] = useState<During>('steer')
  const [problem, setProblem] = useState<string>()
  const attempt = (work: Promise<unknown>): void => {
    setProblem(undefined)
    work.catch((error: unknown) => setProblem(errorMessage(error)))
  }
  const send = (): void => {
    const said = text.trim()
    if (said === '') return
    setText('')
    const sent = onSend(said, isActive ? during : undefined)
    sent.catch(() => setText(said))
    attempt(sent)
  }
  return { text, setText, during, setDuring, problem, setProblem, attempt, send }
}

function findChoice(during: string): DuringChoice {
  return choices.find(each => each.during === during) ?? choices[0]
}

type ChoiceProps = { during: During; onChoose: (during: During) => void }

function Choice({ during, onChoose }: ChoiceProps): ReactElement {
  return (
    <select
      className="tw-input"
      aria-label="While the turn is under way"
      value={during}
      onChange={({ target }) => onChoose(findChoice(target.value).during)}
    >
      {choices.map(each => (
        <option key={each.during} value={each.during} title={each.title}>
          {each.words}
        </option>
      ))}
    </select>
  )
}

type WaitingProps = {
  messages: readonly QueuedMessage[]
  onWithdraw: ((message: string) => void) | undefined
}

function Waiting({ messages, onWithdraw }: WaitingProps): ReactElement | null {
  if (messages.length === 0) return null
  return (
    <ul className="tw-waiting-messages" aria-label="Messages that wait">
      {messages.map(({ message, during, parts }) => (
        <li key={message}>
          <span className="tw-label">{during === 'queue' ? 'Queued' : 'Steers'}</span>
          <span>{printable(joinText(parts) || '(no text)', 200)}</span>
          {onWithdraw && (
            <button type="button" className="tw-button tw-small" onClick={() => onWithdraw(message)}>
              Withdraw
            </button>
          )}
        </li>
      ))}
    </ul>
  )
}
