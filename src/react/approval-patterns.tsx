// The arguments that a grant covers, one pattern for each: those of this call, and those that the tool could also be given.
import { type ReactElement, useId } from 'react'
import { type ArgumentPatterns, coversArguments, exactPattern } from '../language/argument-patterns.ts'
import { isJsonObject, type Json, type JsonObject } from '../lib/json/index.ts'
import { printable } from '../lib/text/index.ts'
import { parseCallArguments } from './words.ts'

export type PatternQuestion = {
  form: 'json' | 'text'
  text: string
  tool: { schema?: JsonObject | undefined }
}

/** The names of all arguments that a call of the tool may have, those of this call first. */
export function argumentNames({ form, text, tool }: PatternQuestion): string[] {
  const input = parseCallArguments({ form, text })
  const given = input !== undefined && isJsonObject(input) ? Object.keys(input) : ['input']
  const known = tool.schema?.['properties']
  return [...new Set([...given, ...(known !== undefined && isJsonObject(known) ? Object.keys(known) : [])])]
}

/** A first pattern for each argument: what it is now, with the part open that mostly changes. Empty: it must be absent. */
export function suggestedPatterns(question: PatternQuestion): Record<string, string> {
  const input = patternInput(question)
  return Object.fromEntries(
    argumentNames(question).map(name => [
      name,
      isJsonObject(input) && Object.hasOwn(input, name) ? suggestion(input[name] ?? null) : '',
    ]),
  )
}

function suggestion(value: Json): string {
  const exact = exactPattern(value)
  if (exact === undefined || typeof value !== 'string') return exact ?? '**'
  const domain = /^[^\s@]+(@[^\s@*\\]+\.[^\s@*\\]+)$/.exec(value)?.[1]
  if (domain !== undefined) return `*${domain}`
  const folder = /^(?:https:\/\/[^\s/*\\]+|\/|\.?\.?\/)?(?:[^\s*\\]+\/)+/.exec(value)?.[0]
  if (folder !== undefined && !/\s/.test(value)) return `${folder}**`
  return value.length > 40 || /\s/.test(value) ? '**' : exact
}

function patternInput({ form, text }: PatternQuestion): Json {
  const input = parseCallArguments({ form, text })
  return input !== undefined && isJsonObject(input) ? input : { input: text }
}

/** The patterns that say something. */
export function givenPatterns(patterns: Readonly<Record<string, string>>): ArgumentPatterns {
  return Object.fromEntries(Object.entries(patterns).filter(([, pattern]) => pattern !== ''))
}

type PatternFieldsProps = {
  question: PatternQuestion
  patterns: Readonly<Record<string, string>>
  onChange: (patterns: Record<string, string>) => void
}

export function PatternFields({ question, patterns, onChange }: PatternFieldsProps): ReactElement {
  const id = useId()
  const covers = coversArguments(givenPatterns(patterns), patternInput(question))
  return (
    <fieldset className="tw-patterns">
      <legend>With arguments like these</legend>
      {argumentNames(question).map((name, index) => (
        <div key={name} className="tw-pattern">
          <label htmlFor={`${id}-${index}`}>
            <code>{printable(name, 60)}</code>
          </label>
          <input
            id={`${id}-${index}`}
            className="tw-input"
            value={patterns[name] ?? ''}
            placeholder="must be absent"
            maxLength={500}
            spellCheck={false}
            onChange={event => onChange({ ...patterns, [name]: event.target.value })}
          />
        </div>
      ))}
      <p className="tw-muted">
        <code>*</code> is one word without blanks, commas, slashes or @. <code>**</code> is anything. An
        argument without a pattern must be absent.
      </p>
      <output className={covers ? 'tw-muted' : 'tw-problem'}>
        {covers
          ? 'They cover this call.'
          : 'They do not cover this call: it runs once, and the next one like it asks.'}
      </output>
    </fieldset>
  )
}
