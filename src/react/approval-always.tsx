// "Always": a sentence to complete. It becomes a grant, which can be listed and revoked.
import { type ReactElement, useId, useState } from 'react'
import type { ArgumentPatterns } from '../language/argument-patterns.ts'
import { printable } from '../lib/text/index.ts'
import {
  givenPatterns,
  PatternFields,
  type PatternQuestion,
  suggestedPatterns,
} from './approval-patterns.tsx'
import { Form, FormButtons } from './forms.tsx'

/** `any`: any arguments. `same`: exactly these. `where`: those that match the patterns. */
export type Scope = {
  covers: 'any' | 'same' | 'where'
  where?: ArgumentPatterns
  expiresAt?: number
  uses?: number
}

const lengths: readonly { label: string; hours?: number }[] = [
  { label: 'as long as this session lasts' },
  { label: 'for one hour', hours: 1 },
  { label: 'for eight hours', hours: 8 },
  { label: 'for one day', hours: 24 },
]
const counts: readonly { label: string; uses?: number }[] = [
  { label: 'any number of times' },
  { label: 'once more', uses: 1 },
  { label: 'at most 5 times', uses: 5 },
  { label: 'at most 20 times', uses: 20 },
]
const covers = {
  any: 'with any arguments',
  same: 'with exactly these arguments',
  where: 'with arguments like these',
} as const

export type AlwaysFormProps = {
  question: PatternQuestion & { tool: { name: string } }
  scopes: readonly Scope['covers'][]
  busy: boolean
  onCancel: () => void
  onDone: (scope: Scope) => void
}

export function AlwaysForm({ question, scopes, busy, onCancel, onDone }: AlwaysFormProps): ReactElement {
  const [cover, setCover] = useState<number>(Math.max(0, scopes.indexOf('same')))
  const [length, setLength] = useState(0)
  const [count, setCount] = useState(0)
  const [patterns, setPatterns] = useState(() => suggestedPatterns(question))
  const scope = scopes[cover] ?? 'same'
  const id = useId()
  const done = (): void => {
    const hours = lengths[length]?.hours
    const uses = counts[count]?.uses
    onDone({
      covers: scope,
      ...(scope === 'where' && { where: givenPatterns(patterns) }),
      ...(hours !== undefined && { expiresAt: Date.now() + hours * 3_600_000 }),
      ...(uses !== undefined && { uses }),
    })
  }
  return (
    <Form className="tw-form tw-always" onSubmit={done}>
      <p>
        Allow <strong>{printable(question.tool.name, 80)}</strong>{' '}
        <Choice
          label="Which arguments"
          options={scopes.map(scope => covers[scope])}
          value={cover}
          onChange={setCover}
        />{' '}
        in this session,{' '}
        <Choice label="How long" options={listLabels(lengths)} value={length} onChange={setLength} />,{' '}
        <Choice label="How often" options={listLabels(counts)} value={count} onChange={setCount} />.
      </p>
      {scope === 'where' && <PatternFields question={question} patterns={patterns} onChange={setPatterns} />}
      <p className="tw-muted" id={`${id}-note`}>
        This call runs now. The grant holds for this definition of the tool: if the tool changes, it asks
        again. You can revoke it.
      </p>
      <FormButtons
        label="Allow always"
        disabled={busy || (scope === 'where' && Object.keys(givenPatterns(patterns)).length === 0)}
        describedBy={`${id}-note`}
        other={{ label: 'Back', onClick: onCancel }}
      />
    </Form>
  )
}

function listLabels(options: readonly { label: string }[]): string[] {
  return options.map(option => option.label)
}

type ChoiceProps = {
  label: string
  options: readonly string[]
  value: number
  onChange: (value: number) => void
}

function Choice({ label, options, value, onChange }: ChoiceProps): ReactElement {
  return (
    <select aria-label={label} value={value} onChange={event => onChange(Number(event.target.value))}>
      {options.map((option, index) => (
        <option key={option} value={index}>
          {option}
        </option>
      ))}
    </select>
  )
}
