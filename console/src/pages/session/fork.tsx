// A fork: a new session with the history up to an event, perhaps with another model and another message. Earlier calls
// are taken from the log and do not run again.
import { type ReactElement, useId, useState } from 'react'
import { Form, FormButtons } from '../../../../src/react/forms.tsx'
import type { SessionView } from '../../../../src/react/index.ts'
import { Dialog } from '../../frame/dialog.tsx'
import { useAttempt } from '../../lib/attempt.tsx'
import { operator, useConsole } from '../../lib/console-state.tsx'
import type { LiveSession } from '../../lib/live-session.ts'
import { navigate } from '../../lib/router.tsx'

type ForkProps = { session: LiveSession; view: SessionView; upTo: number; onClose: () => void }

export function ForkDialog({ session, view, upTo, onClose }: ForkProps): ReactElement {
  const message = view.items.find(item => item.type === 'user' && item.seq === upTo)
  const said =
    message?.type === 'user'
      ? message.parts.map(part => (part.type === 'text' ? part.text : '')).join('')
      : ''
  const [text, setText] = useState(said)
  const [model, setModel] = useState('')
  const { attempt, problem } = useAttempt()
  const submit = (): void => {
    // A message that is edited takes the place of the one that was said.
    const from = said === '' ? upTo : Math.max(1, upTo - 1)
    const words = text.trim()
    const fork = { upTo: from, ...(model !== '' && { model }), ...(words !== '' && { text: words }) }
    attempt(
      operator.fork(session.id, fork).then(made => {
        onClose()
        navigate(`/sessions/${made.id}`)
      }),
    )
  }
  return (
    <Dialog label="Fork this session" onClose={onClose}>
      <h2>Fork from event {upTo}</h2>
      <p className="tw-muted">
        A new session gets the history up to there. What ran before comes from the log and does not run again.
      </p>
      <Form onSubmit={submit}>
        <ModelField model={model} onChange={setModel} />
        <MessageField
          label={said === '' ? 'Message to say at once (optional)' : 'Message, edited'}
          text={text}
          onChange={setText}
        />
        {problem}
        <FormButtons label="Fork" other={{ label: 'Cancel', onClick: onClose }} />
      </Form>
    </Dialog>
  )
}

function ModelField({ model, onChange }: { model: string; onChange: (model: string) => void }): ReactElement {
  const { catalogue } = useConsole()
  const id = useId()
  const models = Object.keys(catalogue?.models ?? {}).filter(name => !name.includes('*'))
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

type MessageFieldProps = { label: string; text: string; onChange: (text: string) => void }

function MessageField({ label, text, onChange }: MessageFieldProps): ReactElement {
  const id = useId()
  return (
    <div className="tw-field">
      <label htmlFor={id}>{label}</label>
      <textarea
        id={id}
        className="tw-input"
        rows={3}
        value={text}
        autoFocus
        onChange={event => onChange(event.target.value)}
      />
    </div>
  )
}
