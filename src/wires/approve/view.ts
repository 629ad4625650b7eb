// What the page of a link shows: the approval as it stands now, by the session's own log. Reading changes nothing.
import type { AgentInfo, Engine, SessionCall, SessionRef, SessionSummary } from '../../engine/index.ts'
import { describeApprovers, neededVotes, whyNotApprover } from '../../language/approvers.ts'
import { hasCode } from '../../language/errors.ts'
import { ShownFold } from '../../language/show.ts'
import { present } from '../../lib/json/present.ts'
import { type LinkFacts, revokedMark } from '../approval-link.ts'
import { readLog } from '../read-log.ts'

export type ApprovalView = Omit<LinkFacts, 'call'> & {
  agent: string
  owner: string
  call: SessionCall
  tool: { name: string; title?: string; description?: string }
  /** Who else has to decide, in words. */
  needs?: string
}

export type LinkState =
  /** The person may decide. */
  | { state: 'open'; view: ApprovalView }
  /** `own`: the person decided, or had allowed it before the last one who was needed did. */
  | { state: 'decided'; granted: boolean; by: string; at: number; own?: 'last' | 'earlier'; reason?: string }
  /** The person has allowed it, and others have to as well. */
  | { state: 'voted'; missing: number }
  /** Policy does not let this person decide, and why. */
  | { state: 'refused'; why: string }
  /** The time for the link, or for the approval, is over. */
  | { state: 'expired' }
  /** Other arguments, or another definition of the tool, than those that the link is for. */
  | { state: 'changed' }
  | { state: 'revoked' }
  /** The call waits for nobody any more, and nobody decided about it. */
  | { state: 'gone' }

const pageBytes = 256 * 1024

export async function readLink(
  engine: Engine,
  agents: readonly AgentInfo[],
  facts: LinkFacts,
  now: number,
): Promise<LinkState> {
  const owner = await engine.lookUp({ get: 'owner', session: facts.session })
  if (owner === undefined) return { state: 'gone' }
  const ref = { owner, session: facts.session }
  const decided = await findDecision(engine, ref, facts)
  if (decided) return decided
  if (await isRevoked(engine, ref, facts)) return { state: 'revoked' }
  const summary = await engine.summary(ref)
  const call = summary.calls.find(({ part }) => part.id === facts.call)
  if (call?.stage !== 'asking') return { state: 'gone' }
  if (call.argsHash !== facts.argsHash || call.toolHash !== facts.toolHash) return { state: 'changed' }
  if (facts.expiresAt <= now || (call.expiresAt ?? Infinity) <= now) return { state: 'expired' }
  return judgeApprover(call, facts) ?? { state: 'open', view: describe(summary, call, agents, facts) }
}

/** Undefined: the person may decide now. */
function judgeApprover(
  { approvers, requesters = [], votes = [] }: SessionCall,
  { approver: name, roles }: LinkFacts,
): LinkState | undefined {
  if (!approvers) return undefined
  if (votes.some(vote => vote.name === name))
    return { state: 'voted', missing: Math.max(0, neededVotes(approvers) - votes.length) }
  const why = whyNotApprover(approvers, { name, roles }, requesters)
  return why === undefined ? undefined : { state: 'refused', why }
}

function describe(
  { agent, owner }: SessionSummary,
  call: SessionCall,
  agents: readonly AgentInfo[],
  facts: LinkFacts,
): ApprovalView {
  const { name } = call.part
  const tool = agents.find(each => each.name === agent)?.tools.find(each => each.name === name) ?? { name }
  const { approvers } = call
  return { ...facts, agent, owner, call, tool, ...(approvers && { needs: describeApprovers(approvers) }) }
}

/** The decision about this request for approval. A later request of the same call is another one. */
async function findDecision(
  engine: Engine,
  ref: SessionRef,
  { call, seq, approver }: LinkFacts,
): Promise<Extract<LinkState, { state: 'decided' | 'changed' }> | undefined> {
  const fold = new ShownFold()
  let own: 'earlier' | undefined
  for await (const { event } of readLog(engine, ref, seq, pageBytes)) {
    const shown = fold.take(event)
    if (!shown || !('callId' in shown) || shown.callId !== call) continue
    if (shown.type === 'decided') {
      const { granted, by, at, reason } = shown.decision
      const whose: 'last' | 'earlier' | undefined = by === approver ? 'last' : own
      return { state: 'decided', granted, by, at, ...present({ own: whose, reason }) }
    }
    if (shown.type === 'voted' && shown.by === approver) own = 'earlier'
    if (shown.type === 'waits' || shown.type === 'edited') return { state: 'changed' }
  }
  return undefined
}

async function isRevoked(engine: Engine, ref: SessionRef, { id, call }: LinkFacts): Promise<boolean> {
  for (const mark of [revokedMark(id), revokedMark(call)]) {
    try {
      await engine.blob(ref, { get: 'text', name: mark })
      return true
    } catch (error) {
      if (!hasCode(error, 'not_found')) throw error
    }
  }
  return false
}
