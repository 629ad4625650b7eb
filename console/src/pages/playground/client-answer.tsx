// The answer of a client tool that a person gives.
import { type ReactElement, useId, useState } from 'react'

export function ClientAnswer({ onAnswer }: { onAnswer: (text: string) => Promise<unknown> }): ReactElement {
  const [text, setText] = useState('')
  const [problem, setProblem] = useState<string>()
  const field = useId()
  return (
    <form
      className="tw-form"
      onSubmit={event => {
        event.preventDefault()
        onAnswer(text).catch((error: unknown) =>
          setProblem(error instanceof Error ? error.message : String(error)),
        )
      }}
    >
      <label htmlFor={field}>This tool runs in this page. What does it answer?</label>
      <textarea
        id={field}
        className="tw-input"
        rows={2}
        value={text}
        onChange={event => setText(event.target.value)}
      />
      <div className="tw-actions">
        <button type="submit" className="tw-button tw-primary">
          Send the result
        </button>
      </div>
      {problem !== undefined && (
        <p role="alert" className="tw-problem">
          {problem}
        </p>
      )}
    </form>
  )
}
