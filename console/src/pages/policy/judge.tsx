// What the gate would say about a call that nobody made. The call is in the address, so a link shows the same verdict.
import { type ReactElement, useCallback, useId, useState } from 'react'
import type { JudgeAnswer, OperatorAgent } from '../../../../src/client/index.ts'
import { type JsonObject, parseBounded, parseObject } from '../../../../src/lib/json/index.ts'
import { printable } from '../../../../src/lib/text/index.ts'
import { FlowFacts } from '../../../../src/react/flow-facts.tsx'
import { Form, FormButtons } from '../../../../src/react/forms.tsx'
import { SchemaForm } from '../../../../src/react/index.ts'
import { operator } from '../../lib/console-state.tsx'
import { Failure, useLoaded } from '../../lib/parts.tsx'
import { navigate, useAddress, withQuery } from '../../lib/router.tsx'
import { ruleWords, Verdict } from '../../lib/verdict.tsx'

export type Judged = { answer: JudgeAnswer | undefined; error: Error | undefined; judgeAgain: () => void }

/** The verdict on the call of the address. Undefined: it names none. */
export function useJudged({ name: agent, tools }: OperatorAgent): Judged {
  const { query } = useAddress()
  const tool = query.get('tool') ?? ''
  const input = query.get('input') ?? ''
  const session = query.get('session') ?? ''
  const isText = tools.find(each => each.name === tool)?.input.form !== 'json'
  const load = useCallback(async (): Promise<JudgeAnswer | undefined> => {
    if (tool === '' || input === '') return undefined
    const value = isText ? input : (parseBounded(input) ?? input)
    return operator.judge({ agent, tool, input: value, ...(session !== '' && { session }) })
  }, [agent, tool, input, isText, session])
  const { value, error, reload } = useLoaded(load)
  return { answer: value, error, judgeAgain: reload }
}

export function Judge({ agent, judged }: { agent: OperatorAgent; judged: Judged }): ReactElement {
  const address = useAddress()
  const tool = agent.tools.find(each => each.name === address.query.get('tool')) ?? agent.tools[0]
  const id = useId()
  if (!tool)
    return (
      <aside className="judge" aria-label="Judge a call">
        <h2>Judge a call</h2>
        <p className="tw-muted">This agent has no tools.</p>
      </aside>
    )
  return (
    <aside className="judge" aria-label="Judge a call">
      <h2>Judge a call</h2>
      <p className="tw-muted">Which rule would decide it? Nothing runs and nothing is recorded.</p>
      <label htmlFor={`${id}-tool`}>Tool</label>
      <select
        id={`${id}-tool`}
        className="tw-input"
        value={tool.name}
        onChange={event =>
          navigate(withQuery(address, { tool: event.target.value, input: undefined }), { replace: true })
        }
      >
        {agent.tools.map(({ name }) => (
          <option key={name} value={name}>
            {printable(name, 80)}
          </option>
        ))}
      </select>
      <Arguments key={tool.name} tool={tool} judgeAgain={judged.judgeAgain} />
      <div role="status">
        {judged.error && <Failure error={judged.error} retry={judged.judgeAgain} />}
        {!judged.error && judged.answer && <Answer answer={judged.answer} />}
      </div>
    </aside>
  )
}

type ArgumentsProps = { tool: OperatorAgent['tools'][number]; judgeAgain: () => void }

function Arguments({ tool, judgeAgain }: ArgumentsProps): ReactElement {
  const address = useAddress()
  const [given] = useState(() => readInput(address.query.get('input'), tool.input.form === 'json'))
  const [value, setValue] = useState<JsonObject>(given)
  const [session, setSession] = useState(address.query.get('session') ?? '')
  const [broken, setBroken] = useState<string>()
  const id = useId()
  const isJson = tool.input.form === 'json'
  const submit = (): void => {
    if (broken !== undefined) return
    const { input: text } = value
    const input = isJson ? JSON.stringify(value) : typeof text === 'string' ? text : ''
    const next = withQuery(address, { tool: tool.name, input, session: session.trim() })
    navigate(next, { replace: true })
    judgeAgain()
  }
  return (
    <Form onSubmit={submit}>
      <SchemaForm
        schema={tool.input.form === 'json' ? tool.input.schema : textSchema}
        value={given}
        onChange={setValue}
        onProblem={setBroken}
      />
      <label htmlFor={`${id}-session`}>As the next call of a session (optional)</label>
      <input
        id={`${id}-session`}
        className="tw-input"
        placeholder="sess_…"
        value={session}
        onChange={event => setSession(event.target.value)}
      />
      <FormButtons label="Judge it" />
      {broken !== undefined && <p className="tw-problem">{broken}</p>}
    </Form>
  )
}

const textSchema: JsonObject = { type: 'object', properties: { input: { type: 'string' } } }

function readInput(text: string | null, isJson: boolean): JsonObject {
  if (text === null) return {}
  if (!isJson) return { input: text }
  return parseObject(text) ?? {}
}

function Answer({ answer }: { answer: JudgeAnswer }): ReactElement {
  if ('problem' in answer)
    return (
      <div className="judge-answer">
        <b>The gate refuses it before any rule is asked.</b>
        <p>{printable(answer.problem, 600)}</p>
      </div>
    )
  const { verdict, rule, reason, shadow, flow = [] } = answer
  return (
    <div className="judge-answer">
      <p>
        <Verdict verdict={verdict} /> by <b>{ruleWords(rule)}</b>
      </p>
      {reason !== undefined && <p className="tw-muted">“{printable(reason, 400)}”</p>}
      {shadow && (
        <p>
          Shadow rules would say: <Verdict verdict={shadow.verdict} /> by <b>{ruleWords(shadow.rule)}</b>
        </p>
      )}
      <FlowFacts facts={flow} />
    </div>
  )
}
