// Judges the cases of a table through the gate of the configured agents, each by itself. Nothing runs, nothing is recorded and
// nobody is asked.
import { buildAgents } from '../config/build-agent.ts'
import type { TurnwireConfig } from '../config/config.ts'
import { agentServers } from '../config/mcp-servers.ts'
import {
  type Agent,
  type JudgedCall,
  type Question,
  RecordedSession,
  type SessionState,
  supposeCall,
  supposeSession,
} from '../engine/index.ts'
import { TurnwireError } from '../language/errors.ts'
import type { CallFlow } from '../language/flow.ts'
import { nearest } from '../lib/text/nearest.ts'
import type { KeptServers } from '../tools/mcp/index.ts'
import type { CaseVerdict, PolicyCase } from './cases.ts'

/** `got`: absent if the call could not be judged. `failures`: empty if it is as expected. */
export type JudgedCase = {
  name: string
  tool: string
  got?: { verdict: CaseVerdict; rule?: string; reason?: string; policy?: string; warranted?: boolean }
  /** The tool is not known here; it was judged by its name. */
  isAssumed?: true
  failures: string[]
}

/** `now`: the time of all calls. `servers`: those that run; without them their tools are judged by their names. */
export type CasesOptions = { now: number; servers?: KeptServers | undefined }

export async function judgeCases(
  cases: readonly PolicyCase[],
  config: TurnwireConfig,
  options: CasesOptions,
): Promise<JudgedCase[]> {
  const judged: JudgedCase[] = []
  for (const each of cases) judged.push(await judgeCase(each, config, options))
  return judged
}

async function judgeCase(
  given: PolicyCase,
  config: TurnwireConfig,
  { now, servers }: CasesOptions,
): Promise<JudgedCase> {
  const { name, tool } = given
  const failures: string[] = []
  // Agents of its own: rates are counted for this case alone.
  const agents = buildAgents(config, logFailures(failures), servers)
  const agent = findAgent(agents, given)
  const found: { flow?: CallFlow } = {}
  const assumesTools = !servers && agentServers(config, agent.name).length > 0
  const judge = (session: SessionState, call: ReturnType<typeof supposeCall>, by: Agent) =>
    new RecordedSession(session, {
      agent: () => by,
      vault: undefined,
      parent: () => Promise.reject(new TurnwireError('internal', 'A supposed session has no parent.')),
      assumesTools,
    }).judge(call, now)
  const before = { agent: agent.name, owner: given.owner, now }
  // Rates count the calls that the gate has judged.
  for (const [index, step] of given.history.entries()) {
    if (!('tool' in step)) continue
    const state = supposeSession({ ...before, steps: given.history.slice(0, index) })
    await judge(state, supposeCall(state, step.tool, step.input ?? {}, now), agent)
  }
  failures.length = 0
  const state = supposeSession({ ...before, steps: given.history })
  const judged = await judge(
    state,
    supposeCall(state, tool, given.input, now),
    watchFlow(agent, given.flow, found),
  )
  const got = readVerdict(judged, found.flow)
  if (!got) failures.push(describeUnjudged(judged, agent, tool))
  else failures.push(...compare(given.expect, got))
  const isAssumed = judged.is === 'judged' && judged.isAssumed
  return { name, tool, ...(got && { got }), ...(isAssumed && { isAssumed }), failures }
}

/** A rule that throws denies the call. The report says why. */
function logFailures(failures: string[]): (level: string, message: string, more?: object) => void {
  return (level, _message, more) => {
    if (level !== 'error' || !more || !('rule' in more) || !('error' in more)) return
    failures.push(`The rule ${String(more.rule)} failed: ${String(more.error)}`)
  }
}

function findAgent(agents: readonly Agent[], { name, agent }: PolicyCase): Agent {
  const found = agent === undefined ? agents[0] : agents.find(each => each.name === agent)
  if (found) return found
  const names = agents.map(each => each.name)
  throw new TurnwireError(
    'config_invalid',
    `The case "${name}" is for the agent "${agent ?? ''}", which is not configured. Agents: ${names.join(', ')}.`,
  )
}

/**
 * The same gate. What the case says of the arguments stands in place of what flow control would find; `found` gets what the
 * rules were given.
 */
function watchFlow(agent: Agent, given: PolicyCase['flow'], found: { flow?: CallFlow }): Agent {
  const { warranted = true, tainted = !warranted } = given ?? {}
  const flow: CallFlow = { mode: 'warrants', tainted, warranted, facts: [] }
  const authorise = (question: Question) => {
    if (given) question.flow = flow
    const verdict = agent.gate.authorise(question)
    if (question.flow) found.flow = question.flow
    return verdict
  }
  // Its tools may be a getter.
  return Object.create(agent, { gate: { value: { ...agent.gate, authorise } } }) as Agent
}

function readVerdict(judged: JudgedCall, flow: CallFlow | undefined): JudgedCase['got'] | undefined {
  if (judged.is === 'invalid') return { verdict: 'invalid', reason: judged.reason }
  if (judged.is !== 'judged') return undefined
  const { verdict } = judged
  return {
    verdict: verdict.verdict,
    rule: verdict.rule,
    ...('reason' in verdict && verdict.reason !== undefined && { reason: verdict.reason }),
    ...(verdict.policy !== undefined && { policy: verdict.policy }),
    ...(flow && { warranted: flow.warranted }),
  }
}

function describeUnjudged({ is }: JudgedCall, agent: Agent, tool: string): string {
  if (is !== 'no-tool') return `The call cannot be judged (${is}).`
  const names = agent.tools.map(({ name }) => name)
  const near = nearest(tool, names)
  const hint = near === undefined ? `It has: ${names.join(', ') || 'none'}.` : `Did you mean "${near}"?`
  return `The agent "${agent.name}" has no tool "${tool}". ${hint}`
}

function compare(expect: PolicyCase['expect'], got: NonNullable<JudgedCase['got']>): string[] {
  const { verdict, rule, reason, warranted } = expect
  const by = got.rule === undefined ? '' : ` by ${got.rule}`
  const why = got.reason === undefined ? '' : `: ${got.reason}`
  const failures: string[] = []
  if (verdict !== got.verdict) failures.push(`Expected ${verdict}, got ${got.verdict}${by}${why}`)
  if (rule !== undefined && rule !== got.rule)
    failures.push(`Expected the rule ${rule}, got ${got.rule ?? 'none'}.`)
  if (reason !== undefined && !got.reason?.includes(reason))
    failures.push(
      `Expected a reason with ${JSON.stringify(reason)}, got ${JSON.stringify(got.reason ?? '')}.`,
    )
  if (warranted !== undefined && warranted !== (got.warranted ?? true))
    failures.push(
      `Expected arguments ${warranted ? 'with' : 'without'} a warrant, got ${warranted ? 'one without' : 'all with one'}.`,
    )
  return failures
}
