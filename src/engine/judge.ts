// The gate's part of the turn: one proposed call becomes allowed, asked about, handed to the application, or is
// settled without having run.
import { TurnwireError, wordsOf } from '../language/errors.ts'
import type { Allowed, ApprovalRequested, Event, Grant, LimitName } from '../language/events.ts'
import { type ToolDeclaration, toolHash } from '../language/tools.ts'
import type { Json } from '../lib/json.ts'
import { intent, settled } from './decide.ts'
import { usesOf } from './identical.ts'
import type { Offer, Offered } from './offer.ts'
import { outcomes } from './outcomes.ts'
import type { Admission, Question, Tool, Verdict } from './ports.ts'
import type { Session } from './session.ts'
import type { CallState } from './state.ts'

type Admitted = Extract<Admission, { ok: true }>

/**
 * `starting`: what policy allows at once is recorded as started in the same event, and added to it, for the caller to
 * run once that is durable. Without it, what is allowed waits.
 */
export function judgeAll(
  session: Session,
  calls: readonly CallState[],
  starting?: CallState[],
): Promise<void> | undefined {
  const waiting: Promise<void>[] = []
  const { byName } = session.offer
  for (const call of calls) {
    const judging = judge(session, call, byName, starting)
    if (judging) waiting.push(judging)
  }
  return waiting.length === 0 ? undefined : Promise.all(waiting).then(() => {})
}

const noGrants: readonly Grant[] = []

/** Judges one call and records the verdict. Waits only if policy itself has to ask elsewhere. */
function judge(
  session: Session,
  call: CallState,
  byName: Offer['byName'],
  starting: CallState[] | undefined,
): Promise<void> | undefined {
  const offered = byName.get(call.part.name)
  if (!offered) {
    const names = [...byName.keys()]
    session.record([settled(call, outcomes.unknownTool(call.part.name, names), session.context)])
    return undefined
  }
  const admission = admit(session, call, offered)
  if (!admission.ok) {
    session.record([settled(call, outcomes.invalid(admission.reason), session.context)])
    return undefined
  }
  const refusal = overLimit(session, call, offered)
  if (refusal) {
    session.record([refusal])
    return undefined
  }
  const { stage } = call
  const { settings } = session.state
  const grants = session.state.grants.size === 0 ? noGrants : [...session.state.grants.values()]
  const verdict = offered.side === 'client' ? undefined : authorise(session, call, offered, admission, grants)
  if (!(verdict instanceof Promise)) {
    if (starting && verdict?.verdict === 'allow') {
      session.ports.world.crashPoint('intent-decided')
      session.record([intent(call, session.context, allowedBy(verdict, offered))])
      starting.push(call)
    } else session.record([eventOf(session, call, offered, admission, verdict)])
    return undefined
  }
  return verdict.then(late => {
    // A cancellation may have settled it while policy was thinking.
    if (session.lost || call.stage !== stage) return
    // New settings, or a grant that was spent or given meanwhile: the verdict is about the past, and the call is judged again.
    if (session.state.settings !== settings || !sameGrants(grants, session.state.grants)) return
    // Others of the batch may have been counted while policy was thinking.
    const over = overLimit(session, call, offered)
    session.record([over ?? eventOf(session, call, offered, admission, late)])
  })
}

/** What policy says of a call with other arguments than the model's: a person's edit passes the same gate. */
export async function judgeEdit(session: Session, call: CallState, text: string): Promise<Admitted> {
  const offered = session.offer.byName.get(call.part.name)
  if (!offered) throw new TurnwireError('unknown_call', `There is no tool "${call.part.name}" any more.`)
  const { name, form } = call.part
  const admission = session.agent.gate.admit({ name, form, text }, offered.tool)
  if (!admission.ok)
    throw new TurnwireError('invalid_edit', `The changed arguments do not fit: ${admission.reason}`)
  if (offered.side === 'client') return admission
  const verdict = await authorise(session, call, offered, admission, [])
  if (verdict.verdict === 'deny')
    throw new TurnwireError('invalid_edit', `The changed call is denied: ${verdict.reason}`)
  return admission
}

function sameGrants(before: readonly Grant[], now: ReadonlyMap<string, Grant>): boolean {
  return before.length === now.size && before.every(grant => now.get(grant.id) === grant)
}

/** What the gate found of the open calls, by their places in the answer. */
export type Admissions = { call: CallState; text: string; tool: ToolDeclaration; admission: Admission }[]

/** Looked at once per text and tool: what was judged is what runs. */
export function admit(session: Session, call: CallState, { tool }: Offered): Admission {
  session.admissions ??= []
  const known = session.admissions[call.index]
  if (known?.call === call && known.text === call.text && known.tool === tool) return known.admission
  const { name, form, cut } = call.part
  const wanted = cut === undefined ? { name, form, text: call.text } : { name, form, text: call.text, cut }
  const admission = session.agent.gate.admit(wanted, tool)
  session.admissions[call.index] = { call, text: call.text, tool, admission }
  return admission
}

/** Only a call that was not judged before counts. */
function overLimit(session: Session, call: CallState, offered: Offered): Event | undefined {
  const { turn } = session.state
  if (!turn || call.stage !== 'proposed') return undefined
  const { limits } = session.agent
  if (turn.steps >= limits.steps)
    return overTurn(session, call, 'steps', `the turn has used its ${limits.steps} model requests.`)
  const before = turn.calls - session.state.batch.length + call.index
  if (before >= limits.calls)
    return overTurn(session, call, 'calls', `the turn has used its ${limits.calls} tool calls.`)
  const texts = turn.admitted.get(call.part.name)
  const mayRepeat = texts === undefined || texts.length < limits.identicalCalls
  const uses = mayRepeat ? 0 : usesOf(texts, call.text, call.part.form)
  if (uses >= limits.identicalCalls)
    return overTurn(
      session,
      call,
      'identicalCalls',
      `it was called ${uses} times with the same arguments in this turn.`,
    )
  const maxCalls = turn.ask?.maxCalls
  if (maxCalls === undefined || offered.side === 'client' || serverCalls(session) < maxCalls) return undefined
  return settled(call, outcomes.limit(`the request allows ${maxCalls} tool calls.`), session.context)
}

/** The turn ends with it. */
function overTurn(session: Session, call: CallState, limit: LimitName, words: string): Event {
  return { ...settled(call, outcomes.limit(words), session.context), limit }
}

/** The calls of this turn that ran here, or are about to. */
function serverCalls({ state, offer }: Session): number {
  const isOurs = (name: string): boolean => offer.byName.get(name)?.side === 'server'
  let count = state.batch.filter(({ stage, part, outcome }) =>
    stage === 'settled' ? outcome?.from.source === 'tool' : stage !== 'proposed' && isOurs(part.name),
  ).length
  const begin = state.entries.findLastIndex(entry => entry.role === 'user') + 1
  for (const entry of state.entries.slice(begin)) {
    if (entry.role === 'tool')
      count += entry.results.filter(({ outcome }) => outcome.from.source === 'tool').length
  }
  return count
}

/** A class, for its getter: a hash that nobody asks for is not made. */
class Asked implements Question {
  readonly session: string
  readonly owner: string
  readonly agent: string
  readonly callId: string
  readonly tool: Tool
  readonly toolHash: string
  readonly input: Json
  readonly trust: Tool['trust']
  readonly clientTrust?: boolean
  readonly grants: readonly Grant[]
  readonly now: number
  readonly #admission: Admitted

  constructor(
    { state, agent, ports }: Session,
    call: CallState,
    { tool, clientTrust }: Extract<Offered, { side: 'server' }>,
    admission: Admitted,
    grants: readonly Grant[],
  ) {
    this.session = state.id
    this.owner = state.owner
    this.agent = agent.name
    this.callId = call.part.id
    this.tool = tool
    this.toolHash = toolHash(tool)
    this.input = admission.input
    this.trust = tool.trust
    if (clientTrust !== undefined) this.clientTrust = clientTrust
    this.grants = grants
    this.now = ports.world.now()
    this.#admission = admission
  }

  get argsHash(): string {
    return this.#admission.argsHash
  }
}

function authorise(
  session: Session,
  call: CallState,
  offered: Extract<Offered, { side: 'server' }>,
  admission: Admitted,
  grants: readonly Grant[],
): Verdict | Promise<Verdict> {
  try {
    const verdict = session.agent.gate.authorise(new Asked(session, call, offered, admission, grants))
    return verdict instanceof Promise ? verdict.catch(error => policyFailed(session, error)) : verdict
  } catch (error) {
    return policyFailed(session, error)
  }
}

function policyFailed({ state, ports }: Session, error: unknown): Verdict {
  ports.log('error', 'Policy failed; the call is denied.', { session: state.id, error: wordsOf(error) })
  return { verdict: 'deny', rule: 'policy-failed', reason: 'policy could not be evaluated' }
}

function allowedBy({ rule, grantId }: Extract<Verdict, { verdict: 'allow' }>, { tool }: Offered): Allowed {
  const allowed: Allowed = { toolHash: toolHash(tool), rule }
  if (grantId !== undefined) allowed.grantId = grantId
  return allowed
}

function eventOf(
  session: Session,
  call: CallState,
  offered: Offered,
  admission: Admitted,
  verdict: Verdict | undefined,
): Event {
  const at = session.ports.world.now()
  const callId = call.part.id
  const hash = toolHash(offered.tool)
  if (!verdict) return { v: 1, at, type: 'call.handed', callId, argsHash: admission.argsHash, toolHash: hash }
  const { rule } = verdict
  switch (verdict.verdict) {
    case 'deny':
      return settled(call, outcomes.deniedByPolicy(verdict.reason), session.context)
    case 'allow':
      return { v: 1, at, type: 'call.allowed', callId, ...allowedBy(verdict, offered) }
    case 'ask': {
      const { reason, expiresInMs } = verdict
      const event: ApprovalRequested = {
        v: 1,
        at,
        type: 'approval.requested',
        callId,
        argsHash: admission.argsHash,
        toolHash: hash,
        rule,
      }
      if (reason !== undefined) event.reason = reason
      if (expiresInMs !== undefined) event.expiresAt = at + expiresInMs
      return event
    }
  }
}
