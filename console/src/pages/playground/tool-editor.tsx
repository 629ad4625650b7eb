// The list of tools that run in this page, and the form that defines one.
import { type FormEvent, type ReactElement, useId, useState } from 'react'
import { isJsonObject, type JsonObject } from '../../../../src/lib/json.ts'
import { type AnswerKind, answers, type PageTool, toolProblem } from './page-tools.ts'

type ToolEditorProps = { tools: readonly PageTool[]; onChange: (tools: PageTool[]) => void }

export function ToolEditor({ tools, onChange }: ToolEditorProps): ReactElement {
  const [isAdding, setAdding] = useState(false)
  return (
    <div className="page-tools">
      <ul className="plain">
        {tools.map(tool => (
          <li key={tool.name}>
            <code>{tool.name}</code> <span className="tw-muted">answers with {answers[tool.answer]}</span>
            <button
              type="button"
              className="tw-button tw-small"
              aria-label={`Remove ${tool.name}`}
              onClick={() => onChange(tools.filter(each => each !== tool))}
            >
              Remove
            </button>
          </li>
        ))}
      </ul>
      {isAdding ? (
        <ToolForm
          taken={tools.map(tool => tool.name)}
          onCancel={() => setAdding(false)}
          onDone={tool => {
            onChange([...tools, tool])
            setAdding(false)
          }}
        />
      ) : (
        <button type="button" className="tw-button tw-small" onClick={() => setAdding(true)}>
          Define a tool
        </button>
      )}
    </div>
  )
}

type ToolFormProps = { taken: readonly string[]; onCancel: () => void; onDone: (tool: PageTool) => void }

function ToolForm({ taken, onCancel, onDone }: ToolFormProps): ReactElement {
  const [name, setName] = useState('')
  const [description, setDescription] = useState('')
  const [parameters, setParameters] = useState('{ "type": "object", "properties": {} }')
  const [answer, setAnswer] = useState<AnswerKind>('person')
  const [text, setText] = useState('')
  const [problem, setProblem] = useState<string>()
  const id = useId()
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    const schema = schemaOf(parameters)
    const words =
      toolProblem({ name, description }) ??
      (taken.includes(name) ? 'There is a tool of this name already.' : undefined) ??
      (schema === undefined ? 'The parameters are no JSON object.' : undefined)
    setProblem(words)
    if (words === undefined && schema !== undefined)
      onDone({ name, description, parameters: schema, answer, text })
  }
  const field = (label: string, control: ReactElement, key: string): ReactElement => (
    <div className="tw-field">
      <label htmlFor={`${id}-${key}`}>{label}</label>
      {control}
    </div>
  )
  return (
    <form className="tw-form" onSubmit={submit}>
      {field(
        'Name',
        <input
          id={`${id}-n`}
          className="tw-input tw-code"
          value={name}
          autoFocus
          onChange={e => setName(e.target.value)}
        />,
        'n',
      )}
      {field(
        'What it is for',
        <input
          id={`${id}-d`}
          className="tw-input"
          value={description}
          onChange={e => setDescription(e.target.value)}
        />,
        'd',
      )}
      {field(
        'Parameters (JSON Schema)',
        <textarea
          id={`${id}-p`}
          className="tw-input tw-code"
          rows={3}
          value={parameters}
          onChange={e => setParameters(e.target.value)}
        />,
        'p',
      )}
      {field(
        'It answers with',
        <select id={`${id}-a`} value={answer} onChange={e => setAnswer(e.target.value as AnswerKind)}>
          {Object.entries(answers).map(([kind, words]) => (
            <option key={kind} value={kind}>
              {words}
            </option>
          ))}
        </select>,
        'a',
      )}
      {answer === 'text' &&
        field(
          'The text',
          <input id={`${id}-t`} className="tw-input" value={text} onChange={e => setText(e.target.value)} />,
          't',
        )}
      {problem !== undefined && (
        <p role="alert" className="tw-problem">
          {problem}
        </p>
      )}
      <div className="tw-actions">
        <button type="submit" className="tw-button tw-primary">
          Add the tool
        </button>
        <button type="button" className="tw-button" onClick={onCancel}>
          Back
        </button>
      </div>
    </form>
  )
}

function schemaOf(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
