// Every call that waits for a person, over all sessions that a caller may see. The waiting calls of a session are read
// from its state; the arguments that were approved last for the same tool come from its log, newest first.

import type { AgentInfo, Engine, ListedSession, SessionCall, SessionSummary } from '../../engine/index.ts'
import type { Recorded } from '../../language/events.ts'
import type { FlowFact } from '../../language/flow.ts'
import { ShownFold } from '../../language/show.ts'
import { present } from '../../lib/json/present.ts'
import type { OperatorApproval } from './schema.ts'

/** Sessions that wait beyond these are counted, not shown. */
const mostSessions = 200
/** Log that is searched for the last approved arguments. */
const searchedBytes = 256 * 1024

/** `owner` null: of all owners. `more`: there are sessions beyond those that were looked at. */
export async function waitingApprovals(
  engine: Engine,
  agents: readonly AgentInfo[],
  owner: string | null,
): Promise<{ approvals: OperatorApproval[]; more: boolean }> {
  const { rows, next } = await engine.list(owner, { status: 'waiting', limit: mostSessions })
  const found: OperatorApproval[] = []
  // One after the other: each may read a log.
  for (const row of rows) found.push(...(await listApprovals(engine, agents, row)))
  found.sort((one, other) => (one.askedAt ?? 0) - (other.askedAt ?? 0))
  return { approvals: found, more: next !== undefined }
}

async function listApprovals(
  engine: Engine,
  agents: readonly AgentInfo[],
  { owner, id }: ListedSession,
): Promise<OperatorApproval[]> {
  const ref = { owner, session: id }
  // It may have been deleted since it was listed.
  const summary = await engine.summary(ref).catch(() => undefined)
  const asking = summary?.calls.filter(({ stage }) => stage === 'asking') ?? []
  if (!summary || asking.length === 0) return []
  const log = await engine.events(ref, Math.max(0, summary.seq - 500), searchedBytes)
  const tools = agents.find(({ name }) => name === summary.agent)?.tools ?? []
  const past = pastApprovals(log)
  return asking.map(call => {
    const { name } = call.part
    const tool = tools.find(each => each.name === name)
    return waiting(summary, call, tool ?? { name }, past)
  })
}

function waiting(
  { id, owner, agent, opening }: SessionSummary,
  { part, text, argsHash, toolHash, rule, reason, expiresAt }: SessionCall,
  tool: OperatorApproval['tool'],
  { asked, approved, flow }: PastApprovals,
): OperatorApproval {
  const last = approved.get(part.name)
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
      askedAt: asked.get(part.id),
      flow: flow.get(part.id),
    }),
    ...(last && { last: { ...last, session: id } }),
  }
}

/** When and why each call was asked about last, and by tool the arguments that a person approved last. */
type PastApprovals = {
  asked: Map<string, number>
  approved: Map<string, { text: string; at: number }>
  flow: Map<string, NonNullable<OperatorApproval['flow']>>
}

function pastApprovals(log: readonly Recorded[]): PastApprovals {
  const past: PastApprovals = { asked: new Map(), approved: new Map(), flow: new Map() }
  const fold = new ShownFold()
  const made = new Map<string, number>()
  for (const { event, seq } of log) {
    const shown = fold.take(event)
    if (shown?.type === 'answer') for (const { part } of shown.calls) made.set(part.id, seq)
    if (shown?.type === 'waits' && shown.for === 'permission') {
      past.asked.set(shown.callId, event.at)
      const { flow } = shown.asked
      if (flow)
        past.flow.set(
          shown.callId,
          flow.map(fact => withPlace(fact, made)),
        )
    } else if (shown?.type === 'decided' && shown.decision.granted && shown.call)
      past.approved.set(shown.call.part.name, { text: shown.call.text, at: event.at })
  }
  return past
}

function withPlace(fact: FlowFact, made: ReadonlyMap<string, number>): FlowFact & { seq?: number } {
  return { ...fact, ...present({ seq: fact.call === undefined ? undefined : made.get(fact.call) }) }
}
