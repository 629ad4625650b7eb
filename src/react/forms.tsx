// Parts of forms: the form itself, its buttons, and the line that says why it was refused.
import type { ReactElement, ReactNode } from 'react'
import { printable } from '../lib/text/index.ts'

/** A form that the page handles itself. */
export function Form(props: { className?: string; onSubmit: () => void; children: ReactNode }): ReactElement {
  return (
    <form
      className={props.className ?? 'tw-form'}
      onSubmit={event => {
        event.preventDefault()
        props.onSubmit()
      }}
    >
      {props.children}
    </form>
  )
}

type FormButtonsProps = {
  /** Of the button that submits. */
  label: string
  look?: 'tw-primary' | 'tw-danger' | ''
  disabled?: boolean
  describedBy?: string
  /** The other button. Absent: there is none. */
  other?: { label: string; onClick: () => void }
}

export function FormButtons(props: FormButtonsProps): ReactElement {
  const { label, look = 'tw-primary', disabled = false, describedBy, other } = props
  return (
    <div className="tw-actions">
      <button
        type="submit"
        className={`tw-button ${look}`}
        disabled={disabled}
        aria-describedby={describedBy}
      >
        {label}
      </button>
      {other && (
        <button type="button" className="tw-button" onClick={other.onClick}>
          {other.label}
        </button>
      )}
    </div>
  )
}

export function Problem({ text }: { text: string | undefined }): ReactElement | null {
  if (text === undefined) return null
  return (
    <p role="alert" className="tw-problem">
      {printable(text, 600)}
    </p>
  )
}
