// The list of tools that run in this page, and the form that defines one.
import { type ReactElement, useId, useState } from 'react'
import { parseObject } from '../../../../src/lib/json/index.ts'
import { Form, FormButtons, Problem } from '../../../../src/react/forms.tsx'
import { type AnswerKind, answers, type PageTool, toolProblem } from './page-tools.ts'

type ToolEditorProps = { tools: readonly PageTool[]; onChange: (tools: PageTool[]) => void }

export function ToolEditor({ tools, onChange }: ToolEditorProps): ReactElement {
  const [isAdding, setAdding] = useState(false)
  return (
    <div className="page-tools">
      <ul className="plain">
        {tools.map(tool => (
          <li key={tool.name}>
            <code>{tool.name}</code>
            <button
              type="button"
              className="tw-button tw-small"
              aria-label={`Remove ${tool.name}`}
              onClick={() => onChange(tools.filter(each => each !== tool))}
            >
              Remove
            </button>
            <span className="tw-muted">answers with {answers[tool.answer]}</span>
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

const emptyTool = { name: '', description: '', answer: 'person' as AnswerKind, text: '' }
const emptySchema = '{ "type": "object", "properties": {} }'

function ToolForm({ taken, onCancel, onDone }: ToolFormProps): ReactElement {
  const [tool, setTool] = useState(emptyTool)
  const [parameters, setParameters] = useState(emptySchema)
  const [problem, setProblem] = useState<string>()
  const set = (change: Partial<typeof emptyTool>): void => setTool({ ...tool, ...change })
  const submit = (): void => {
    const schema = parseObject(parameters)
    const words =
      toolProblem(tool) ??
      (taken.includes(tool.name) ? 'There is a tool of this name already.' : undefined) ??
      (schema === undefined ? 'The parameters are no JSON object.' : undefined)
    setProblem(words)
    if (words === undefined && schema !== undefined) onDone({ ...tool, parameters: schema })
  }
  return (
    <Form onSubmit={submit}>
      <TextField label="Name" value={tool.name} onChange={name => set({ name })} />
      <TextField
        label="What it is for"
        value={tool.description}
        onChange={description => set({ description })}
      />
      <TextField label="Parameters (JSON Schema)" value={parameters} onChange={setParameters} />
      <AnswerField answer={tool.answer} onChange={answer => set({ answer })} />
      {tool.answer === 'text' && (
        <TextField label="The text" value={tool.text} onChange={text => set({ text })} />
      )}
      <Problem text={problem} />
      <FormButtons label="Add the tool" other={{ label: 'Back', onClick: onCancel }} />
    </Form>
  )
}

type TextFieldProps = { label: string; value: string; onChange: (value: string) => void }

function TextField({ label, value, onChange }: TextFieldProps): ReactElement {
  const id = useId()
  return (
    <div className="tw-field">
      <label htmlFor={id}>{label}</label>
      <input id={id} className="tw-input" value={value} onChange={event => onChange(event.target.value)} />
    </div>
  )
}

type AnswerFieldProps = { answer: AnswerKind; onChange: (answer: AnswerKind) => void }

function AnswerField({ answer, onChange }: AnswerFieldProps): ReactElement {
  const id = useId()
  const kinds = Object.keys(answers) as AnswerKind[] // its keys are the kinds
  return (
    <div className="tw-field">
      <label htmlFor={id}>It answers with</label>
      <select
        id={id}
        value={answer}
        onChange={event => onChange(kinds.find(kind => kind === event.target.value) ?? 'person')}
      >
        {kinds.map(kind => (
          <option key={kind} value={kind}>
            {answers[kind]}
          </option>
        ))}
      </select>
    </div>
  )
}
