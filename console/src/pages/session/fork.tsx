// A fork: a new session with the history up to an event, perhaps with another model and another message. What ran before is
// taken from the log and does not run again.
import { type FormEvent, type ReactElement, useId, useState } from 'react'
import type { SessionView } from '../../../../src/react/index.ts'
import { Dialog } from '../../frame/dialog.tsx'
import { operator, useConsole } from '../../lib/console-state.tsx'
import type { LiveSession } from '../../lib/live-session.ts'
import { navigate } from '../../lib/router.tsx'

type ForkProps = { session: LiveSession; view: SessionView; upTo: number; onClose: () => void }

export function ForkDialog({ session, view, upTo, onClose }: ForkProps): ReactElement {
  const { catalogue } = useConsole()
  const message = view.items.find(item => item.type === 'user' && item.seq === upTo)
  const said =
    message?.type === 'user'
      ? message.parts.map(part => (part.type === 'text' ? part.text : '')).join('')
      : ''
  const [text, setText] = useState(said)
  const [model, setModel] = useState('')
  const [problem, setProblem] = useState<string>()
  const id = useId()
  const models = Object.keys(catalogue?.models ?? {}).filter(name => !name.includes('*'))
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    // A message that is edited takes the place of the one that was said.
    const from = said === '' ? upTo : Math.max(1, upTo - 1)
    operator
      .fork(session.id, {
        upTo: from,
        ...(model !== '' && { model }),
        ...(text.trim() !== '' && { text: text.trim() }),
      })
      .then(
        made => {
          onClose()
          navigate(`/sessions/${made.id}`)
        },
        (error: unknown) => setProblem(error instanceof Error ? error.message : String(error)),
      )
  }
  return (
    <Dialog label="Fork this session" onClose={onClose}>
      <h2>Fork from event {upTo}</h2>
      <p className="tw-muted">
        A new session gets the history up to there. What ran before comes from the log and does not run again.
      </p>
      <form className="tw-form" onSubmit={submit}>
        <div className="tw-field">
          <label htmlFor={`${id}-m`}>Model</label>
          <select id={`${id}-m`} value={model} onChange={event => setModel(event.target.value)}>
            <option value="">as before</option>
            {models.map(name => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </div>
        <div className="tw-field">
          <label htmlFor={`${id}-t`}>
            {said === '' ? 'Message to say at once (optional)' : 'Message, edited'}
          </label>
          <textarea
            id={`${id}-t`}
            className="tw-input"
            rows={3}
            value={text}
            autoFocus
            onChange={event => setText(event.target.value)}
          />
        </div>
        {problem !== undefined && (
          <p role="alert" className="tw-problem">
            {problem}
          </p>
        )}
        <div className="tw-actions">
          <button type="submit" className="tw-button tw-primary">
            Fork
          </button>
          <button type="button" className="tw-button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  )
}
