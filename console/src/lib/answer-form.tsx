// A text that a person gives in place of a tool or of the model.
import { type ReactElement, useId, useState } from 'react'
import { Form, FormButtons } from '../../../src/react/forms.tsx'
import { useAttempt } from './attempt.tsx'

type AnswerFormProps = {
  label: string
  button: string
  look?: 'tw-primary' | ''
  mayBeEmpty?: boolean
  onAnswer: (text: string) => Promise<unknown>
}

/** A refused text stays in the field. */
export function AnswerForm(props: AnswerFormProps): ReactElement {
  const { label, button, look = 'tw-primary', mayBeEmpty = false, onAnswer } = props
  const [text, setText] = useState('')
  const { attempt, problem } = useAttempt()
  const field = useId()
  return (
    <Form onSubmit={() => attempt(onAnswer(text).then(() => setText('')))}>
      <label htmlFor={field}>{label}</label>
      <textarea
        id={field}
        className="tw-input"
        rows={2}
        value={text}
        onChange={event => setText(event.target.value)}
      />
      <FormButtons label={button} look={look} disabled={!mayBeEmpty && text.trim() === ''} />
      {problem}
    </Form>
  )
}
