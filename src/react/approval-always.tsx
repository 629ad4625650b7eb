// "Always": a sentence to complete. It becomes a grant, which can be listed and revoked.
import { type ReactElement, useId, useState } from 'react'
import { printable } from '../lib/text.ts'

/** `any`: any arguments. `same`: exactly these. */
export type Scope = { covers: 'any' | 'same'; expiresAt?: number; uses?: number }

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
const covers = { any: 'with any arguments', same: 'with exactly these arguments' } as const

export type AlwaysFormProps = {
  tool: string
  scopes: readonly Scope['covers'][]
  busy: boolean
  onCancel: () => void
  onDone: (scope: Scope) => void
}

export function AlwaysForm({ tool, scopes, busy, onCancel, onDone }: AlwaysFormProps): ReactElement {
  const [cover, setCover] = useState<number>(Math.max(0, scopes.indexOf('same')))
  const [length, setLength] = useState(0)
  const [count, setCount] = useState(0)
  const id = useId()
  const done = (): void => {
    const hours = lengths[length]?.hours
    const uses = counts[count]?.uses
    onDone({
      covers: scopes[cover] ?? 'same',
      ...(hours !== undefined && { expiresAt: Date.now() + hours * 3_600_000 }),
      ...(uses !== undefined && { uses }),
    })
  }
  return (
    <form
      className="tw-form tw-always"
      onSubmit={event => {
        event.preventDefault()
        done()
      }}
    >
      <p>
        Allow <strong>{printable(tool, 80)}</strong>{' '}
        <Choice
          label="Which arguments"
          options={scopes.map(scope => covers[scope])}
          value={cover}
          onChange={setCover}
        />{' '}
        in this session,{' '}
        <Choice label="How long" options={labelsOf(lengths)} value={length} onChange={setLength} />,{' '}
        <Choice label="How often" options={labelsOf(counts)} value={count} onChange={setCount} />.
      </p>
      <p className="tw-muted" id={`${id}-note`}>
        This call runs now. The grant holds for this definition of the tool: if the tool changes, it asks
        again. You can revoke it.
      </p>
      <div className="tw-actions">
        <button
          type="submit"
          className="tw-button tw-primary"
          disabled={busy}
          aria-describedby={`${id}-note`}
        >
          Allow always
        </button>
        <button type="button" className="tw-button" onClick={onCancel}>
          Back
        </button>
      </div>
    </form>
  )
}

function labelsOf(options: readonly { label: string }[]): string[] {
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
