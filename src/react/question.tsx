// A question of a running call: a form to fill in, or an address to open. Nothing of it is executed or opened by itself.
import { type ReactElement, useId, useState } from 'react'
import type { AnswerAction, FormContent } from '../language/questions.ts'
import { findSuspicions } from '../language/suspicions.ts'
import type { JsonObject } from '../lib/json/index.ts'
import { errorMessage } from '../lib/text/error-message.ts'
import { printable, printableEnds } from '../lib/text/index.ts'
import { Form, FormButtons, Problem } from './forms.tsx'
import { CopyButton, Warnings } from './parts.tsx'
import { checkAgainst } from './schema-check.ts'
import { SchemaForm } from './schema-form.tsx'
import type { QuestionView } from './view.ts'

export type QuestionAnswer = { action: AnswerAction; content?: FormContent }

export type QuestionProps = {
  question: QuestionView
  /** Absent: it can only be read here. */
  onAnswer?: ((answer: QuestionAnswer) => unknown) | undefined
}

const none: JsonObject = {}

export function Question({ question, onAnswer }: QuestionProps): ReactElement {
  const { message, schema, url, answer } = question
  const [value, setValue] = useState<JsonObject>(none)
  const [problem, setProblem] = useState<string>()
  const heading = useId()
  const issues = schema ? checkAgainst(schema as unknown as JsonObject, value) : []
  const give = (given: QuestionAnswer): void => {
    Promise.resolve(onAnswer?.(given)).catch((error: unknown) => setProblem(errorMessage(error)))
  }
  // The schema allows flat members only, and the server checks them again.
  const accept = (): void => give({ action: 'accept', ...(schema && { content: value as FormContent }) })
  return (
    <section className="tw-question" aria-labelledby={heading}>
      <h4 id={heading}>{printableEnds(message, { multiline: true, maxChars: 10_000 })}</h4>
      <Warnings words={findSuspicions([message, url ?? '', (schema ?? {}) as unknown as JsonObject])} />
      {url !== undefined && (
        <p className="tw-address">
          Open this address only if you trust it: <code>{printableEnds(url, { maxChars: 2_000 })}</code>{' '}
          {isOwnAddress(url) && (
            <a href={url} target="_blank" rel="noreferrer">
              Open it
            </a>
          )}{' '}
          <CopyButton text={url} label="Copy address" />
        </p>
      )}
      {answer && <p className="tw-muted">{answerWords(answer)}</p>}
      {!answer && onAnswer && (
        <Form onSubmit={accept}>
          {schema && Object.keys(schema.properties).length > 0 && (
            <SchemaForm
              schema={schema as unknown as JsonObject}
              value={none}
              onChange={setValue}
              issues={[]}
            />
          )}
          <FormButtons
            label={url === undefined ? 'Send the answer' : 'I have opened it'}
            disabled={issues.length > 0}
            other={{ label: 'Decline', onClick: () => give({ action: 'decline' }) }}
          />
        </Form>
      )}
      <Problem text={problem} />
    </section>
  )
}

/** Of the server that this page came from. Another one is no link, so that nobody opens it without having read it. */
function isOwnAddress(url: string): boolean {
  return typeof location === 'object' && URL.parse(url)?.origin === location.origin
}

function answerWords({ action, by }: NonNullable<QuestionView['answer']>): string {
  if (action === 'expired') return 'Nobody answered in time.'
  if (action === 'withdrawn') return 'The call took its question back.'
  const verb = action === 'accept' ? 'answered' : action === 'decline' ? 'declined' : 'cancelled'
  return `${printable(by ?? 'Someone', 60)} ${verb} it.`
}
