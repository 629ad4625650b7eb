// A form made from the tool's schema. It runs the tool through the gate, in a session of its own, with no model.
import { type FormEvent, type ReactElement, useState } from 'react'
import type { OperatorAgent } from '../../../../src/client/index.ts'
import type { JsonObject } from '../../../../src/lib/json/index.ts'
import { Approval, checkAgainst, SchemaForm, ToolCall } from '../../../../src/react/index.ts'
import { type OperatorTool, operator } from '../../lib/console-state.tsx'
import { useLiveSession } from '../../lib/live-session.ts'
import { Link, navigate, useAddress, withQuery } from '../../lib/router.tsx'

const none: JsonObject = {}

export function TryTool({ tool, agent }: { tool: OperatorTool; agent: OperatorAgent }): ReactElement {
  const schema = tool.input.form === 'json' ? tool.input.schema : textSchema
  const [value, setValue] = useState<JsonObject>(none)
  const [broken, setBroken] = useState<string>()
  const [isTried, setTried] = useState(false)
  const [problem, setProblem] = useState<string>()
  const address = useAddress()
  // In the address, so that a reload shows the call again.
  const session = address.query.get('tried') ?? undefined
  const issues = checkAgainst(schema, value)
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    setTried(true)
    if (broken !== undefined || issues.length > 0) return
    setProblem(undefined)
    runTool(agent, tool, value, session).then(
      tried => navigate(withQuery(address, { tried }), { replace: true }),
      (error: unknown) => setProblem(error instanceof Error ? error.message : String(error)),
    )
  }
  return (
    <section className="try" aria-label="Try it">
      <h3>Try it</h3>
      <form className="tw-form" onSubmit={submit}>
        <SchemaForm
          schema={schema}
          value={none}
          onChange={setValue}
          onProblem={setBroken}
          issues={isTried ? issues : []}
        />
        <div className="tw-actions">
          <button type="submit" className="tw-button tw-primary">
            Run it through the gate
          </button>
        </div>
        {problem !== undefined && (
          <p role="alert" className="tw-problem">
            {problem}
          </p>
        )}
      </form>
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
