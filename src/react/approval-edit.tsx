// Other arguments for a call, checked against the tool's schema while a person types. Fields for simple members, JSON for
// all others. The server checks them again and tells the model of the change.
import { type ReactElement, useId, useState } from 'react'
import { isJsonObject, type JsonObject } from '../lib/json/index.ts'
import type { ApprovalQuestion } from './approval.tsx'
import { Diff } from './diff.tsx'
import { Form, FormButtons } from './forms.tsx'
import { checkAgainst, type SchemaIssue } from './schema-check.ts'
import { SchemaForm } from './schema-form.tsx'
import { parseCallArguments, prettyJson } from './words.ts'

export type EditFormProps = {
  question: Pick<ApprovalQuestion, 'form' | 'text' | 'tool'>
  busy: boolean
  onCancel: () => void
  onDone: (edit: JsonObject | string) => void
}

/** Fields of a JSON object, or one field of free text. */
export function EditForm({ question, busy, onCancel, onDone }: EditFormProps): ReactElement {
  const given = parseCallArguments(question)
  const start = given !== undefined && isJsonObject(given) ? given : undefined
  const [value, setValue] = useState<JsonObject | string>(start ?? question.text)
  const [problem, setProblem] = useState<string>()
  const schema = question.tool.schema
  const issues: SchemaIssue[] = typeof value === 'string' ? [] : checkAgainst(schema, value)
  const isWhole = problem === undefined && issues.length === 0
  return (
    <Form onSubmit={() => isWhole && onDone(value)}>
      {start === undefined ? (
        <FreeText text={question.text} onChange={setValue} />
      ) : (
        <SchemaForm
          schema={schema}
          value={start}
          onChange={setValue}
          onProblem={setProblem}
          issues={issues}
          autoFocus
        />
      )}
      {start !== undefined && typeof value !== 'string' && (
        <Diff before={prettyJson(start, '')} after={prettyJson(value, '')} label="Your changes" />
      )}
      <FormButtons
        label="Allow with these arguments"
        disabled={busy || !isWhole}
        other={{ label: 'Back', onClick: onCancel }}
      />
    </Form>
  )
}

function FreeText({ text, onChange }: { text: string; onChange: (text: string) => void }): ReactElement {
  const field = useId()
  return (
    <>
      <label htmlFor={field}>Input</label>
      <textarea
        id={field}
        className="tw-input tw-code"
        rows={8}
        defaultValue={text}
        onChange={event => onChange(event.target.value)}
      />
    </>
  )
}
