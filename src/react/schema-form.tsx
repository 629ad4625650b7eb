// A form made from a JSON Schema: a field for each simple member, JSON text for the others. It gives the whole value with
// each change. Members that the schema does not know are kept, and shown as JSON.
import { type ReactElement, useEffect, useId, useState } from 'react'
import { isJsonObject, type Json, type JsonObject } from '../lib/json/index.ts'
import { printable } from '../lib/text/index.ts'
import { type SchemaIssue, schemaProperties } from './schema-check.ts'

export type SchemaFormProps = {
  schema: JsonObject | undefined
  value: JsonObject
  onChange: (value: JsonObject) => void
  /** Text of a field is not JSON, or it is again. */
  onProblem?: (problem: string | undefined) => void
  issues?: readonly SchemaIssue[]
  autoFocus?: boolean
}

export function SchemaForm(props: SchemaFormProps): ReactElement {
  const { schema, onChange, onProblem, issues = [], autoFocus = false } = props
  const [value, setValue] = useState(props.value)
  const [broken, setBroken] = useState<readonly string[]>([])
  const properties = schemaProperties(schema)
  const names = [...new Set([...Object.keys(properties), ...Object.keys(props.value)])]
  const required = Array.isArray(schema?.['required']) ? schema['required'] : []
  useEffect(() => {
    onProblem?.(broken.length > 0 ? `${broken.join(', ')}: not JSON` : undefined)
  }, [broken, onProblem])
  const set = (name: string, member: Json | undefined): void => {
    const { [name]: _old, ...rest } = value
    const next = member === undefined ? rest : { ...value, [name]: member }
    setValue(next)
    onChange(next)
  }
  if (names.length === 0) return <p className="tw-muted">This tool takes no arguments.</p>
  return (
    <div className="tw-fields">
      {names.map((name, index) => {
        const own = properties[name]
        return (
          <Field
            key={name}
            name={name}
            schema={own !== undefined && isJsonObject(own) ? own : {}}
            value={value[name]}
            required={required.includes(name)}
            issues={issues.filter(issue => issue.path === `/${name}` || issue.path.startsWith(`/${name}/`))}
            autoFocus={autoFocus && index === 0}
            onChange={member => set(name, member)}
            onBroken={isBroken =>
              setBroken(before =>
                isBroken ? [...new Set([...before, name])] : before.filter(each => each !== name),
              )
            }
          />
        )
      })}
    </div>
  )
}

type FieldProps = {
  name: string
  schema: JsonObject
  value: Json | undefined
  required: boolean
  issues: readonly SchemaIssue[]
  autoFocus: boolean
  onChange: (value: Json | undefined) => void
  onBroken: (isBroken: boolean) => void
}

function Field(props: FieldProps): ReactElement {
  const { name, schema, required, issues } = props
  const title = schema['title']
  const saysName = typeof title === 'string' && title.toLowerCase() === name.toLowerCase()
  const id = useId()
  const about = typeof schema['description'] === 'string' ? schema['description'] : undefined
  const described = [about === undefined ? '' : `${id}-about`, issues.length === 0 ? '' : `${id}-issue`]
    .join(' ')
    .trim()
  return (
    <div className="tw-field">
      <label htmlFor={id}>
        {typeof title === 'string' && <span className="tw-field-title">{printable(title, 120)} </span>}
        {!saysName && <code>{printable(name, 80)}</code>}
        {required ? <span className="tw-muted"> required</span> : <span className="tw-muted"> optional</span>}
      </label>
      <Control {...props} id={id} described={described} />
      {about !== undefined && (
        <p id={`${id}-about`} className="tw-muted tw-about">
          {printable(about, 400)}
        </p>
      )}
      {issues.length > 0 && (
        <p id={`${id}-issue`} className="tw-problem" role="status">
          {issues.map(issue => `${issue.path.slice(1)} ${issue.message}`).join('; ')}
        </p>
      )}
    </div>
  )
}

function Control(props: FieldProps & { id: string; described: string }): ReactElement {
  const { id, schema, value, autoFocus, onChange, described, issues } = props
  const shared = {
    id,
    autoFocus,
    'aria-describedby': described || undefined,
    'aria-invalid': issues.length > 0 || undefined,
  }
  const { type, enum: options } = schema
  if (Array.isArray(options))
    return (
      <select
        {...shared}
        value={value === undefined ? '' : JSON.stringify(value)}
        onChange={event =>
          onChange(event.target.value === '' ? undefined : (JSON.parse(event.target.value) as Json))
        }
      >
        <option value="">–</option>
        {options.map(option => (
          <option key={JSON.stringify(option)} value={JSON.stringify(option)}>
            {printable(typeof option === 'string' ? option : JSON.stringify(option), 80)}
          </option>
        ))}
      </select>
    )
  if (type === 'boolean')
    return (
      <input
        {...shared}
        type="checkbox"
        checked={value === true}
        onChange={event => onChange(event.target.checked)}
      />
    )
  if ((type === 'number' || type === 'integer') && (value === undefined || typeof value === 'number'))
    return (
      <input
        {...shared}
        type="number"
        className="tw-input"
        step={type === 'integer' ? 1 : 'any'}
        value={value ?? ''}
        onChange={event => onChange(event.target.value === '' ? undefined : event.target.valueAsNumber)}
      />
    )
  if (type === 'string' && (value === undefined || typeof value === 'string'))
    return (
      <textarea
        {...shared}
        className="tw-input"
        rows={(value ?? '').length > 60 || (value ?? '').includes('\n') ? 4 : 1}
        value={value ?? ''}
        onChange={event =>
          onChange(event.target.value === '' && !props.required ? undefined : event.target.value)
        }
      />
    )
  return <JsonControl {...props} shared={shared} />
}

function JsonControl(props: FieldProps & { shared: object }): ReactElement {
  const { value, onChange, onBroken, shared } = props
  const [text, setText] = useState(value === undefined ? '' : JSON.stringify(value, null, 2))
  const change = (next: string): void => {
    setText(next)
    if (next.trim() === '') {
      onBroken(false)
      onChange(undefined)
      return
    }
    try {
      const parsed = JSON.parse(next) as Json // JSON.parse gives JSON
      onBroken(false)
      onChange(parsed)
    } catch {
      onBroken(true)
    }
  }
  return (
    <textarea
      {...shared}
      className="tw-input tw-code"
      rows={Math.min(12, text.split('\n').length + 1)}
      value={text}
      onChange={event => change(event.target.value)}
    />
  )
}
