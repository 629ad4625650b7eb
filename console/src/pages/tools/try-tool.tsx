// A form made from the tool's schema. It runs the tool through the gate, in a session of its own, with no model.
import { type ReactElement, useState } from 'react'
import type { OperatorAgent } from '../../../../src/client/index.ts'
import type { JsonObject } from '../../../../src/lib/json/index.ts'
import { Form, FormButtons } from '../../../../src/react/forms.tsx'
import { Approval, checkAgainst, SchemaForm, ToolCall } from '../../../../src/react/index.ts'
import { useAttempt } from '../../lib/attempt.tsx'
import { type OperatorTool, operator } from '../../lib/console-state.tsx'
import { useLiveSession } from '../../lib/live-session.ts'
import { Link, navigate, useAddress, withQuery } from '../../lib/router.tsx'

const none: JsonObject = {}

export function TryTool({ tool, agent }: { tool: OperatorTool; agent: OperatorAgent }): ReactElement {
  const schema = tool.input.form === 'json' ? tool.input.schema : textSchema
  const [value, setValue] = useState<JsonObject>(none)
  const [broken, setBroken] = useState<string>()
  const [isTried, setTried] = useState(false)
  const { attempt, problem } = useAttempt()
  const address = useAddress()
  // In the address, so that a reload shows the call again.
  const session = address.query.get('tried') ?? undefined
  const issues = checkAgainst(schema, value)
  const submit = (): void => {
    setTried(true)
    if (broken !== undefined || issues.length > 0) return
    const running = runTool(agent, tool, value, session)
    attempt(running.then(tried => navigate(withQuery(address, { tried }), { replace: true })))
  }
  return (
    <section className="try" aria-label="Try it">
      <h3>Try it</h3>
      <Form onSubmit={submit}>
        <SchemaForm
          schema={schema}
          value={none}
          onChange={setValue}
          onProblem={setBroken}
          issues={isTried ? issues : []}
        />
        <FormButtons label="Run it through the gate" />
        {problem}
      </Form>
      {session !== undefined && <Tried id={session} kind={tool.kind} />}
    </section>
  )
}

const textSchema: JsonObject = {
  type: 'object',
  properties: { input: { type: 'string' } },
  required: ['input'],
}

async function runTool(
  agent: OperatorAgent,
  tool: OperatorTool,
  input: JsonObject,
  before?: string,
): Promise<string> {
  const session = before ?? (await operator.create({ agent: agent.name })).id
  await operator.command(session, { do: 'call', tool: tool.name, input })
  return session
}

/** The calls that were tried, the newest first. */
function Tried({ id, kind }: { id: string; kind: OperatorTool['kind'] }): ReactElement {
  const session = useLiveSession(id)
  const calls = [...(session.view?.calls.values() ?? [])].reverse()
  return (
    <div className="tried">
      {calls.map((call, index) => (
        <ToolCall
          key={call.id}
          call={call}
          kind={kind}
          open={index === 0}
          loadWhole={session.loadWhole}
          approval={
            <Approval question={session.question(call)} onAnswer={answer => session.decide(call, answer)} />
          }
        />
      ))}
      <p>
        <Link to={`/sessions/${id}`} className="link">
          Open the session of these calls
        </Link>
      </p>
    </div>
  )
}
