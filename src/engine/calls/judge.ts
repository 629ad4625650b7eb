// The gate's part of the turn: a proposed call is allowed, put to a person, handed to the application, or settled
// without having run. decide-call.ts turns the verdict into events.
import { TurnwireError, wordsOf } from '../../language/errors.ts'
import type { CallSettled, Event, Grant } from '../../language/events.ts'
import type { CallHistory } from '../../language/policy.ts'
import type { Report } from '../../language/report.ts'
import { type ToolCaller, type ToolDeclaration, toolHash } from '../../language/tools.ts'
import type { Json } from '../../lib/json/index.ts'
import type { Admission, FlowLog, Question, Tool, Verdict } from '../ports/index.ts'
import type { EditedArguments } from '../rules/commands.ts'
import {
  type AdmittedCall,
  decideLimit,
  decideSettled,
  decideStartAllowed,
  decideVerdict,
} from '../rules/decide-call.ts'
import { decidePolicyNotes, noteShadow } from '../rules/decide-policy.ts'
import { earlierCalls, turnBegin } from '../rules/earlier-calls.ts'
import { isFor, type Offer, type Offered } from '../rules/offer.ts'
import { outcomes } from '../rules/outcomes.ts'
import { type CallState, findRequesters, type SessionState } from '../rules/state.ts'
import type { CallSession, KnownAdmission } from './call-session.ts'
import { readFlowLog } from './flow-log.ts'
import { exactText, openHidden } from './hidden-arguments.ts'
import { askBeforeCall, askRepair, checkEditedInput } from './hooks.ts'
import { makePreview, wantsPreview } from './preview.ts'
import { declaredFor, isDenied } from './session-tools.ts'

type ServerOffered = Extract<Offered, { side: 'server' }>

/** Calls that policy allows at once are recorded as started in the same event, as long as there is room for them. */
export type Starting = {
  calls: CallState[]
  /** Takes room for one more call. False: it has to wait. */
  take(): boolean
}

/** `starting`: the caller runs its calls once their start is durable. Other allowed calls are only recorded as allowed. */
export function judgeAll(
  session: CallSession,
  calls: readonly CallState[],
  starting?: Starting,
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

/** Judges one call and records the verdict. Gives a promise only if the gate has to ask elsewhere. */
function judge(
  session: CallSession,
  call: CallState,
  byName: Offer['byName'],
  starting: Starting | undefined,
): Promise<void> | undefined {
  const offered = byName.get(call.part.name)
  const { withheld } = session.state
  if (!offered || withheld?.includes(call.part.name) || (offered.deferred && isHidden(session, call))) {
    session.record([unknownTool(session, call, offered)])
    return undefined
  }
  if ((offered.callers ?? offered.tool.callers) && !mayMake(session, call, offered)) {
    session.record([wrongCaller(session, call)])
    return undefined
  }
  const admission = admit(session, call, offered)
  // Once it is there, it is remembered, and the call is judged again.
  if (admission instanceof Promise) return admission.then(() => {})
  const asking = session.ports.hooks && askHooks(session, call, offered, admission)
  if (asking) return asking
  if (!admission.ok) {
    session.record([decideSettled(call, outcomes.invalid(admission.reason), session.context)])
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
  if (!(verdict instanceof Promise) && (verdict?.verdict !== 'ask' || !wantsPreview(offered))) {
    const starts = verdict?.verdict === 'allow' && starting?.take()
    if (starts) session.ports.world.crashPoint?.('intent-decided')
    const event = starts
      ? decideStartAllowed(call, offered, verdict, session.context)
      : decideVerdict(session.state, call, offered, admission, verdict, session.context)
    if (verdict?.policy === undefined) session.record([event])
    else recordByRules(session, call, verdict, event)
    if (starts) starting?.calls.push(call)
    return undefined
  }
  return withPreview(session, call, offered, admission, verdict).then(([late, preview]) => {
    // A cancellation may have settled the call while policy was evaluated.
    if (session.lost || call.stage !== stage) return
    // Settings or grants changed meanwhile: the verdict is outdated, and the call is judged again.
    if (session.state.settings !== settings || !sameGrants(grants, session.state.grants)) return
    // Other calls of the batch may have been counted meanwhile.
    const over = overLimit(session, call, offered)
    const event =
      over ?? decideVerdict(session.state, call, offered, admission, late, session.context, preview)
    if (over || late?.policy === undefined) session.record([event])
    else recordByRules(session, call, late, event)
  })
}

/** A verdict of rules, with what is to be said of them. */
function recordByRules(session: CallSession, call: CallState, verdict: Verdict, event: Event): void {
  session.record([...decidePolicyNotes(session.state, call, verdict, event), event])
  // Shadow rules that ask elsewhere hold nobody up. If the call is over by then, nothing is recorded.
  void verdict.shadowLater?.then(shadow => {
    const isOver = session.lost || session.stopping || !session.state.batch.includes(call)
    if (shadow && !isOver) session.record([noteShadow(call, verdict.verdict, shadow, session.context)])
  })
}

/** The verdict, and what a person who is asked is shown of the call. */
async function withPreview(
  session: CallSession,
  call: CallState,
  offered: Offered,
  { input }: AdmittedCall,
  given: Verdict | undefined | Promise<Verdict>,
): Promise<[Verdict | undefined, Report?]> {
  const verdict = await given
  if (verdict?.verdict !== 'ask' || !wantsPreview(offered)) return [verdict]
  const preview = await makePreview(session, call, offered, input)
  return preview ? [verdict, preview] : [verdict]
}

/** Undefined: no hook wants to see this call, or all have. Afterwards the call is judged again. */
function askHooks(
  session: CallSession,
  call: CallState,
  offered: Offered,
  admission: Admission,
): Promise<void> | undefined {
  return admission.ok
    ? askBeforeCall(session, call, offered, admission.input)
    : askRepair(session, call, offered, admission.reason)
}

/** A deferred tool that the model was not declared. A caller or a program that names a tool itself needs no search. */
function isHidden(session: CallSession, call: CallState): boolean {
  if (call.parent !== undefined || session.state.turn?.ask?.direct) return false
  return !declaredFor(session).tools.some(({ name }) => name === call.part.name)
}

/** A hook withheld the tool in the step that made the call, or the call that made this one. */
function isWithheld({ state }: CallSession, { part: { name } }: CallState): boolean {
  return state.withheld?.includes(name) === true
}

/** Names no tool that the model was not declared. A tool that a search would not find counts as unknown. */
function unknownTool(session: CallSession, call: CallState, offered: Offered | undefined): CallSettled {
  const { withheld = [] } = session.state
  const tools = declaredFor(session).tools.filter(tool => !withheld.includes(tool.name))
  const { name } = call.part
  const search = tools.find(tool => tool.finds)?.name
  const outcome =
    offered && !isWithheld(session, call) && !isDenied(session, offered)
      ? outcomes.notLoaded(name, search)
      : outcomes.unknownTool(
          name,
          tools.map(tool => tool.name),
        )
  return decideSettled(call, outcome, session.context)
}

/** A program of the vendor's says so in the call; nobody else's word is taken. */
function findCaller({ parent, part }: CallState): ToolCaller {
  return parent !== undefined || part.caller !== undefined ? 'code' : 'model'
}

/** No model and no program may call the tool of a person's undo. */
function mayMake({ state }: CallSession, call: CallState, offered: Offered): boolean {
  const isUndo = state.turn?.ask?.undoes !== undefined && call.parent === undefined
  return isUndo || isFor(offered, findCaller(call))
}

function wrongCaller({ context }: CallSession, call: CallState): CallSettled {
  const { name } = call.part
  const who = findCaller(call) === 'code' ? 'may not be called by a program' : 'is called by programs only'
  return decideSettled(call, outcomes.invalid(`the tool ${JSON.stringify(name)} ${who}.`), context)
}

/** Policy's verdict on a person's edit: other arguments pass the same gate. */
export async function judgeEdit(
  session: CallSession,
  call: CallState,
  text: string,
): Promise<EditedArguments> {
  const offered = session.offer.byName.get(call.part.name)
  if (!offered) throw new TurnwireError('unknown_call', `There is no tool "${call.part.name}" any more.`)
  const { name, form } = call.part
  const admission = await session.agent.gate.admit({ name, form, text }, offered.tool, session.state.owner)
  if (!admission.ok)
    throw new TurnwireError('invalid_edit', `The changed arguments do not fit: ${admission.reason}`)
  await checkEditedInput(session, call, offered, admission.input)
  const edit = { text, argsHash: admission.argsHash }
  if (offered.side === 'client') return edit
  const verdict = await authorise(session, call, offered, admission, [])
  if (verdict.verdict === 'deny')
    throw new TurnwireError('invalid_edit', `The changed call is denied: ${verdict.reason}`)
  return verdict.verdict === 'ask' && verdict.approvers ? { ...edit, approvers: verdict.approvers } : edit
}

function sameGrants(before: readonly Grant[], now: ReadonlyMap<string, Grant>): boolean {
  return before.length === now.size && before.every(grant => now.get(grant.id) === grant)
}

/** Checks each text and tool once, so that the input that was judged is the input that runs. */
export function admit(
  session: CallSession,
  call: CallState,
  { tool }: Offered,
): Admission | Promise<Admission> {
  session.admissions ??= []
  const known = session.admissions[call.index]
  const { text, sealed } = call
  if (known?.call === call && known.text === text && known.sealed === sealed && known.tool === tool)
    return known.admission
  const admission = sealed === undefined ? check(session, call, text, tool) : checkHidden(session, call, tool)
  const made: KnownAdmission = { call, text, sealed, tool, admission }
  session.admissions[call.index] = made
  if (!(admission instanceof Promise)) return admission
  return admission.then(late => {
    made.admission = late
    return late
  })
}

function check(
  { agent, state }: CallSession,
  { part: { name, form, cut } }: CallState,
  text: string,
  tool: ToolDeclaration,
): Admission | Promise<Admission> {
  const wanted = cut === undefined ? { name, form, text } : { name, form, text, cut }
  return agent.gate.admit(wanted, tool, state.owner)
}

/** The exact arguments are checked; the reason of a refusal is redacted, because it may quote them. */
function checkHidden(
  session: CallSession,
  call: CallState,
  tool: ToolDeclaration,
): Admission | Promise<Admission> {
  const text = exactText(session.ports.vault, call)
  if (text === undefined) {
    const callId = call.part.id
    const message = 'Sealed arguments cannot be opened: the vault key is another. The call is not run.'
    session.ports.log('error', message, { session: session.id, callId })
    return { ok: false, reason: 'Its arguments were sealed and can no longer be opened. Call it again.' }
  }
  const redact = session.agent.gate.redactArguments
  const hide = (admission: Admission): Admission =>
    admission.ok || !redact ? admission : { ok: false, reason: redact(admission.reason, 'text') }
  const admission = check(session, call, text, tool)
  return admission instanceof Promise ? admission.then(hide) : hide(admission)
}

function overLimit(session: CallSession, call: CallState, offered: Offered): CallSettled | undefined {
  const { limits } = session
  const serverCalls = offered.side === 'client' ? undefined : () => countServerCalls(session)
  const counted = { uses: () => countUses(session, call, limits.identicalCalls), serverCalls }
  return decideLimit(session.state, call, limits, counted, session.context)
}

/** How often the turn made this call before. Not counted while the tool was called fewer times than a turn may repeat. */
function countUses(session: CallSession, call: CallState, mayRepeat: number): number {
  const { part, text, sealed } = call
  const texts = session.state.turn?.admitted.get(part.name)
  if (texts === undefined || texts.length < mayRepeat) return 0
  const open = openHidden(session)
  const exact = sealed === undefined ? text : open({ callId: part.id, sealed })
  return session.identicalCalls.uses(part.name, texts, exact, part.form, open)
}

/** The calls of this turn that ran here, or are about to. */
function countServerCalls({ state, offer }: CallSession): number {
  const isOurs = (name: string): boolean => offer.byName.get(name)?.side === 'server'
  let count = state.batch.filter(({ stage, part, outcome }) =>
    stage === 'settled' ? outcome?.from.source === 'tool' : stage !== 'proposed' && isOurs(part.name),
  ).length
  const begin = turnBegin(state)
  for (const entry of state.entries.slice(begin)) {
    if (entry.role === 'tool')
      count += entry.results.filter(({ outcome }) => outcome.from.source === 'tool').length
  }
  return count
}

/** A class for its getters: the hash and the history are made only if policy reads them. */
class PolicyQuestion implements Question {
  readonly session: string
  readonly owner: string
  readonly agent: string
  readonly callId: string
  readonly tool: Tool
  readonly toolHash: string
  readonly input: Json
  readonly trust: Tool['trust']
  readonly changed?: string
  demands?: string
  log?: FlowLog
  readonly clientTrust?: boolean
  readonly grants: readonly Grant[]
  readonly now: number
  readonly #admission: AdmittedCall
  readonly #state: SessionState
  readonly #call: CallState

  constructor(
    { state, agent, ports }: JudgedSession,
    call: CallState,
    { tool, clientTrust }: ServerOffered,
    admission: AdmittedCall,
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
    if (tool.changed !== undefined) this.changed = tool.changed
    if (clientTrust !== undefined) this.clientTrust = clientTrust
    this.grants = grants
    this.now = ports.world.now()
    this.#admission = admission
    this.#state = state
    this.#call = call
  }

  get argsHash(): string {
    return this.#admission.argsHash
  }

  get requesters(): readonly string[] {
    return findRequesters(this.#state)
  }

  get history(): CallHistory {
    return earlierCalls(this.#state, this.#call)
  }
}

/** What a call is judged by. A session that is read from its log has it too. */
export type JudgedSession = Pick<CallSession, 'id' | 'state' | 'agent' | 'offer' | 'flowMemory'> & {
  readonly ports: Pick<CallSession['ports'], 'world' | 'log'>
  readonly subSessions: Pick<CallSession['subSessions'], 'state'>
}

/** The gate's word on an admitted call, as it stands. Records nothing. */
export function authorise(
  session: JudgedSession,
  call: CallState,
  offered: ServerOffered,
  admission: AdmittedCall,
  grants: readonly Grant[],
): Verdict | Promise<Verdict> {
  try {
    const { tool } = offered
    const question = new PolicyQuestion(session, call, offered, admission, grants)
    const about = { session: session.id, owner: session.state.owner, callId: call.part.id }
    const demands = tool.demandsApproval?.(admission.input, about)
    const decide = (reason: string | undefined): Verdict | Promise<Verdict> => {
      if (reason !== undefined) question.demands = reason
      if (!session.agent.gate.followsValues) return session.agent.gate.authorise(question)
      const judged = (log: FlowLog): Verdict | Promise<Verdict> => {
        question.log = log
        return session.agent.gate.authorise(question)
      }
      const log = readFlowLog(session, call)
      return log instanceof Promise ? log.then(judged) : judged(log)
    }
    const verdict = demands instanceof Promise ? demands.then(decide) : decide(demands)
    return verdict instanceof Promise ? verdict.catch(error => policyFailed(session, error)) : verdict
  } catch (error) {
    return policyFailed(session, error)
  }
}

function policyFailed({ state, ports }: Pick<JudgedSession, 'state' | 'ports'>, error: unknown): Verdict {
  ports.log('error', 'Policy failed; the call is denied.', { session: state.id, error: wordsOf(error) })
  return { verdict: 'deny', rule: 'policy-failed', reason: 'policy could not be evaluated' }
}
