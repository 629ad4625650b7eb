// Everything that waits for a person, over all sessions that a caller may see: calls that need a decision, and questions of
// running calls. The waiting calls of a session are read from its state; its log says what was asked, why, after which message, and
// which arguments were approved last for the same tool.

import type { AgentInfo, Engine, ListedSession, SessionCall, SessionSummary } from '../../engine/index.ts'
import { type Person, whyNotDecide } from '../../language/approvers.ts'
import type { Recorded } from '../../language/events.ts'
import type { FlowFact } from '../../language/flow.ts'
import { type Shown, type ShownCall, ShownFold, type ShownWait } from '../../language/show.ts'
import { present } from '../../lib/json/present.ts'
import type { OperatorApproval, OperatorQuestion } from './schema.ts'

/** Sessions that wait beyond these are counted, not shown. */
const mostSessions = 200
/** Log that is searched for the last approved arguments. */
const searchedBytes = 256 * 1024

/** `owner` null: of all owners. `more`: there are sessions beyond those that were looked at. */
export async function waitingApprovals(
  engine: Engine,
  agents: readonly AgentInfo[],
  owner: string | null,
  person: Person,
): Promise<{ approvals: OperatorApproval[]; questions: OperatorQuestion[]; more: boolean }> {
  const { rows, next } = await engine.list(owner, { status: 'waiting', limit: mostSessions })
  const approvals: OperatorApproval[] = []
  const questions: OperatorQuestion[] = []
  // One after the other: each may read a log.
  for (const row of rows) {
    const waiting = await listWaiting(engine, agents, row, person)
    approvals.push(...waiting.approvals)
    questions.push(...waiting.questions)
  }
  approvals.sort((one, other) => (one.askedAt ?? 0) - (other.askedAt ?? 0))
  questions.sort((one, other) => one.askedAt - other.askedAt)
  return { approvals, questions, more: next !== undefined }
}

type Waiting = { approvals: OperatorApproval[]; questions: OperatorQuestion[] }

async function listWaiting(
  engine: Engine,
  agents: readonly AgentInfo[],
  { owner, id }: ListedSession,
  person: Person,
): Promise<Waiting> {
  const ref = { owner, session: id }
  // It may have been deleted since it was listed.
  const summary = await engine.summary(ref).catch(() => undefined)
  if (!summary || summary.calls.length === 0) return { approvals: [], questions: [] }
  const log = await engine.events(ref, Math.max(0, summary.seq - 500), searchedBytes)
  const past = readPast(log)
  const find = (call: ShownCall | SessionCall): OperatorApproval['tool'] =>
    findTool(agents, summary.agent, call, past)
  return {
    approvals: summary.calls
      .filter(({ stage }) => stage === 'asking')
      .map(call => ({ ...waiting(summary, call, find(call), past), ...restriction(call, person) })),
    questions: past.questions.flatMap(({ wait, at, message }) =>
      wait.call ? [askedQuestion(summary, { wait, call: wait.call, at, message }, find(wait.call))] : [],
    ),
  }
}

/** A call of an agent that works for this one has that agent's tools. */
function findTool(
  agents: readonly AgentInfo[],
  agent: string,
  call: ShownCall | SessionCall,
  { delegated, parents }: Past,
): OperatorApproval['tool'] {
  const { name, id } = call.part
  const parent = parents.get(id)
  const other = parent === undefined ? undefined : delegated.get(parent)
  const owners = other === undefined ? [agent] : [other, agent]
  const found = owners.flatMap(each => agents.find(({ name: named }) => named === each)?.tools ?? [])
  return {
    ...(found.find(tool => tool.name === name) ?? { name }),
    ...(other !== undefined && { agent: other }),
  }
}

type Asked = { wait: QuestionWait; call: ShownCall; at: number; message: PastMessage | undefined }

function askedQuestion(
  { id: session, owner, agent, opening }: SessionSummary,
  { wait: { question }, call, at, message }: Asked,
  tool: OperatorApproval['tool'],
): OperatorQuestion {
  const { id, message: words, schema, url, expiresAt } = question
  return {
    session,
    owner,
    agent,
    callId: call.part.id,
    tool,
    text: call.text,
    question: { id, message: words, ...present({ schema, url, expiresAt }) },
    askedAt: at,
    ...present({ opening, message }),
  }
}

function waiting(
  { id, owner, agent, opening }: SessionSummary,
  { part, text, argsHash, toolHash, rule, reason, expiresAt }: SessionCall,
  tool: OperatorApproval['tool'],
  { asked, approved }: Past,
): OperatorApproval {
  const last = approved.get(part.name)
  const { at: askedAt, message, preview, flow } = asked.get(part.id) ?? {}
  return {
    session: id,
    owner,
    agent,
    callId: part.id,
    tool,
    text,
    ...present({
      opening,
      argsHash,
      toolHash,
      rule,
      reason,
      expiresAt,
      askedAt,
      message,
      preview,
      flow,
    }),
    ...(last && { last: { ...last, session: id } }),
  }
}

/** Who may decide, and whether the caller may. */
function restriction(
  call: SessionCall,
  person: Person,
): Pick<OperatorApproval, 'approvers' | 'votes' | 'whyNot'> {
  const { approvers, votes } = call
  return approvers ? { approvers, ...present({ votes, whyNot: whyNotDecide(call, person) }) } : {}
}

type PastMessage = { text: string; seq: number }
type QuestionWait = Extract<ShownWait, { for: 'answer' }>

/** The last question about a call, and after which message it came. */
type PastAsked = Pick<OperatorApproval, 'preview' | 'flow'> & { at: number; message: PastMessage | undefined }

type Past = {
  asked: Map<string, PastAsked>
  /** By tool: the arguments that a person approved last. */
  approved: Map<string, { text: string; at: number }>
  /** The call that made a call, and the agent that carries a call out. */
  parents: Map<string, string>
  delegated: Map<string, string>
  /** Those that are still open. */
  questions: { wait: QuestionWait; at: number; message: PastMessage | undefined }[]
}

function readPast(log: readonly Recorded[]): Past {
  const past: Past = {
    asked: new Map(),
    approved: new Map(),
    parents: new Map(),
    delegated: new Map(),
    questions: [],
  }
  const fold = new ShownFold()
  const made = new Map<string, number>()
  const begun = new Map<string, Pick<PastAsked, 'at' | 'message'>>()
  let message: PastMessage | undefined
  for (const { event, seq } of log) {
    const shown = fold.take(event)
    const { at } = event
    message = readMessage(shown, seq) ?? message
    if (shown?.type === 'answer') for (const { part } of shown.calls) made.set(part.id, seq)
    else if (shown?.type === 'call' && shown.call.parent !== undefined)
      past.parents.set(shown.call.part.id, shown.call.parent)
    else if (shown?.type === 'delegated') past.delegated.set(shown.callId, shown.to.agent)
    else if (shown?.type === 'waits' && shown.for === 'permission') {
      const { preview, flow } = shown.asked
      const facts = flow?.map(fact => withPlace(fact, made))
      past.asked.set(shown.callId, { at, message, ...present({ preview, flow: facts }) })
    } else if (shown?.type === 'waits' && shown.for === 'answer')
      begun.set(shown.question.id, { at, message })
    else if (shown?.type === 'decided' && shown.decision.granted && shown.call)
      past.approved.set(shown.call.part.name, { text: shown.call.text, at })
  }
  for (const wait of fold.waits.values())
    if (wait.for === 'answer') past.questions.push({ wait, at: 0, message, ...begun.get(wait.question.id) })
  return past
}

/** What the user said, if this is a message. */
function readMessage(shown: Shown | undefined, seq: number): PastMessage | undefined {
  const parts =
    shown?.type === 'turn'
      ? shown.turn.parts
      : shown?.type === 'message' && 'parts' in shown
        ? shown.parts
        : []
  const text = parts?.find(part => part.type === 'text')?.text
  return text === undefined ? undefined : { text, seq }
}

function withPlace(fact: FlowFact, made: ReadonlyMap<string, number>): FlowFact & { seq?: number } {
  return { ...fact, ...present({ seq: fact.call === undefined ? undefined : made.get(fact.call) }) }
}
