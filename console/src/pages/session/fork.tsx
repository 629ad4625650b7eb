// A fork: what a session would have come to from an event on, if one thing had been another: the model, a result, a message, a rule.
// Either a new session, whose tools run; or tried, where nothing runs and both sides are shown. Earlier calls are taken from the
// log and do not run again.
import { type ReactElement, useId, useState } from 'react'
import type { ForkRequest, TrialAnswer, TrialRequest } from '../../../../src/client/index.ts'
import { joinText } from '../../../../src/language/content.ts'
import { printable } from '../../../../src/lib/text/index.ts'
import { Form } from '../../../../src/react/forms.tsx'
import type { CallView, SessionView } from '../../../../src/react/index.ts'
import { tellingArgument } from '../../../../src/react/words.ts'
import { Dialog } from '../../frame/dialog.tsx'
import { useAttempt } from '../../lib/attempt.tsx'
import { operator, useConsole } from '../../lib/console-state.tsx'
import type { LiveSession } from '../../lib/live-session.ts'
import { navigate } from '../../lib/router.tsx'
import { BothSides } from './both-sides.tsx'

type ForkProps = { session: LiveSession; view: SessionView; upTo: number; onClose: () => void }

/** What the form holds. Empty texts: as it was. */
type Change = { model: string; text: string; callId: string; result: string; failed: boolean; rules: string }

export default function ForkDialog({ session, view, upTo, onClose }: ForkProps): ReactElement {
  const { me } = useConsole()
  const said = messageAt(view, upTo)
  const [change, setChange] = useState<Change>(() => {
    const none = { model: '', callId: '', result: '', failed: false, rules: '' }
    return { ...none, text: said }
  })
  const [tried, setTried] = useState<TrialAnswer>()
  const [isTrying, setTrying] = useState(false)
  const { attempt, problem } = useAttempt()
  const set = (over: Partial<Change>): void => setChange({ ...change, ...over })
  const fork = (): void =>
    attempt(
      operator.fork(session.id, forkRequest(view, upTo, said, change)).then(made => {
        onClose()
        navigate(`/sessions/${made.id}`)
      }),
    )
  const tryIt = (): void => {
    setTrying(true)
    const answered = operator.try(session.id, trialRequest(upTo, change)).then(setTried)
    attempt(answered.finally(() => setTrying(false)))
  }
  const isChanged = change.model !== '' || change.callId !== '' || change.rules.trim() !== ''
  return (
    <Dialog label="Fork this session" onClose={onClose} className={tried ? 'fork fork-wide' : 'fork'}>
      <header className="fork-head">
        <h2>Fork from event {upTo}</h2>
        <p className="tw-muted">
          A new session gets the history up to there. What ran before comes from the log and does not run
          again.
        </p>
      </header>
      <Form onSubmit={fork}>
        <div className="fork-fields">
          <TextField
            label={said === '' ? 'Message to say at once (optional)' : 'Message, edited'}
            text={change.text}
            onChange={text => set({ text })}
            isFirst
          />
          <ModelField model={change.model} onChange={model => set({ model })} />
          <ResultField view={view} change={change} onChange={set} />
          {me.operator && <RuleField rules={change.rules} onChange={rules => set({ rules })} />}
          {problem}
        </div>
        <Buttons isChanged={isChanged} isTrying={isTrying} onTry={tryIt} onClose={onClose} />
      </Form>
      {tried && (
        <BothSides session={session.id} view={view} tried={tried} from={findPlace(view, upTo, change)} />
      )}
    </Dialog>
  )
}

type ButtonsProps = { isChanged: boolean; isTrying: boolean; onTry: () => void; onClose: () => void }

function Buttons({ isChanged, isTrying, onTry, onClose }: ButtonsProps): ReactElement {
  const { me } = useConsole()
  return (
    <div className="fork-foot">
      {me.operator && (
        <p className="tw-muted">
          {isChanged
            ? 'Trying runs no tool and records nothing. A model is asked where the log has no answer.'
            : 'Change the model, a result or a rule to try it without running anything.'}
        </p>
      )}
      <div className="tw-actions">
        <button type="button" className="tw-button" onClick={onClose}>
          Cancel
        </button>
        {me.operator && (
          <button type="button" className="tw-button" disabled={!isChanged || isTrying} onClick={onTry}>
            {isTrying ? 'Trying…' : 'Try it'}
          </button>
        )}
        <button type="submit" className="tw-button tw-primary">
          Fork
        </button>
      </div>
    </div>
  )
}

// ---- what is asked for ---------------------------------------------------------------------------------------

function messageAt({ items }: SessionView, upTo: number): string {
  const message = items.find(item => item.type === 'user' && item.seq === upTo)
  return message?.type === 'user' ? joinText(message.parts) : ''
}

/** A changed result counts from where the call was settled. */
function findPlace({ calls }: SessionView, upTo: number, { callId }: Change): number {
  return Math.max(upTo, ...(calls.get(callId)?.events ?? []))
}

function changedResult({ callId, result, failed }: Change): NonNullable<TrialRequest['result']> {
  return { callId, text: result, ...(failed && { failed }) }
}

function forkRequest(view: SessionView, upTo: number, said: string, change: Change): ForkRequest {
  const { model, callId } = change
  const text = change.text.trim()
  // A message that is edited takes the place of the one that was said.
  const isEdited = said !== '' && callId === ''
  return {
    upTo: isEdited ? Math.max(1, upTo - 1) : findPlace(view, upTo, change),
    ...(model !== '' && { model }),
    ...(text !== '' && (isEdited || text !== said) && { text }),
    ...(callId !== '' && { results: [changedResult(change)] }),
  }
}

function trialRequest(upTo: number, change: Change): TrialRequest {
  const { model, callId, rules } = change
  return {
    at: upTo,
    ...(model !== '' && { model }),
    ...(callId !== '' && { result: changedResult(change) }),
    ...(rules.trim() !== '' && { rules }),
  }
}

// ---- fields --------------------------------------------------------------------------------------------------

function ModelField({ model, onChange }: { model: string; onChange: (model: string) => void }): ReactElement {
  const { models } = useConsole()
  const id = useId()
  return (
    <div className="tw-field">
      <label htmlFor={id}>Model</label>
      <select id={id} value={model} onChange={event => onChange(event.target.value)}>
        <option value="">as before</option>
        {models.map(name => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </div>
  )
}

type ResultFieldProps = { view: SessionView; change: Change; onChange: (over: Partial<Change>) => void }

function ResultField({ view, change, onChange }: ResultFieldProps): ReactElement | null {
  const id = useId()
  const settled = [...view.calls.values()].filter(({ outcome }) => outcome !== undefined)
  const choose = (callId: string): void => {
    const outcome = view.calls.get(callId)?.outcome
    onChange({ callId, result: outcome ? joinText(outcome.parts) : '', failed: outcome?.kind === 'error' })
  }
  if (settled.length === 0) return null
  return (
    <>
      <div className="tw-field">
        <label htmlFor={id}>Result of</label>
        <select id={id} value={change.callId} onChange={event => choose(event.target.value)}>
          <option value="">no call: all results as they were</option>
          {settled.map(call => (
            <option key={call.id} value={call.id}>
              {callWords(call)}
            </option>
          ))}
        </select>
      </div>
      {change.callId !== '' && (
        <>
          <TextField label="Result, edited" text={change.result} onChange={result => onChange({ result })} />
          <label className="check">
            <input
              type="checkbox"
              checked={change.failed}
              onChange={event => onChange({ failed: event.target.checked })}
            />
            The call failed
          </label>
        </>
      )}
    </>
  )
}

function callWords(call: CallView): string {
  return printable(`${call.name} ${tellingArgument(call, 40)}`, 80)
}

const sampleRule = '- tool: send_mail\n  then: deny\n  reason: Not today.'

function RuleField({ rules, onChange }: { rules: string; onChange: (rules: string) => void }): ReactElement {
  return (
    <details className="tw-details" open={rules !== ''}>
      <summary>A rule before all others, to try</summary>
      <TextField label="Rules in YAML" text={rules} onChange={onChange} sample={sampleRule} />
    </details>
  )
}

type TextFieldProps = {
  label: string
  text: string
  onChange: (text: string) => void
  isFirst?: boolean
  sample?: string
}

function TextField({ label, text, onChange, isFirst = false, sample }: TextFieldProps): ReactElement {
  const id = useId()
  return (
    <div className="tw-field">
      <label htmlFor={id}>{label}</label>
      <textarea
        id={id}
        className="tw-input"
        rows={3}
        value={text}
        placeholder={sample}
        autoFocus={isFirst}
        onChange={event => onChange(event.target.value)}
      />
    </div>
  )
}
