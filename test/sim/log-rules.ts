// Which events may follow which in a session's log, written independently of `decide` and `evolve`, so that a mistake
// there is not repeated here. It checks each event as it becomes durable.

import { sessionStatus } from '../../src/engine/index.ts'
import type { Limits, SessionStatus } from '../../src/engine/ports/index.ts'
import { evolve } from '../../src/engine/rules/evolve.ts'
import { emptyState, type SessionState } from '../../src/engine/rules/state.ts'
import type { Approvers, Person } from '../../src/language/approvers.ts'
import { budgetToolName, type CallPart, type Outcome } from '../../src/language/calls.ts'
import type { Event, Grant, Settings } from '../../src/language/events.ts'
import { hashJson, sha256 } from '../../src/lib/json/hash.ts'
import { parseJson } from '../../src/lib/json/index.ts'

type Stage = 'proposed' | 'handed' | 'asking' | 'approved' | 'started' | 'suspended' | 'postponed' | 'settled'

export type CallRecord = {
  part: CallPart
  stage: Stage
  /** The call that made it. */
  parent?: string
  /** Who allowed it to run. */
  authority?: 'policy' | 'person' | 'application'
  argsHash?: string
  toolHash?: string
  attempt: number
  /** The epochs of the writers that recorded the intent of each attempt, and of the one that settled it. */
  startedIn: number[]
  settledIn?: number
  outcome?: Outcome
  decisions: number
  /** Who has to allow it, and who has, where policy says so. */
  approvers?: Approvers
  votes: string[]
  /** Its questions that wait for an answer. */
  open: Set<string>
}

/** The declared trust of a tool, or `undefined` if the server has no such tool. */
export type TrustOf = (
  name: string,
) => { trust: 'trusted' | 'ask' | 'deny'; exposed: boolean; approvers?: Approvers } | undefined

export class LogRules {
  readonly calls = new Map<string, CallRecord>()
  readonly state: SessionState
  readonly #trustOf: TrustOf
  readonly #limits: Limits
  #settings: Settings = { tools: null, options: {}, clientTools: [] }
  #open: CallRecord[] = []
  #turn: string | undefined
  readonly #turns = new Set<string>()
  readonly #grants = new Map<string, Grant>()
  readonly #requests = new Set<string>()
  /** By id: what has become of messages that waited. */
  readonly #messages = new Map<string, string>()
  #steps = 0
  #runs = 0
  #epoch = 0

  constructor(id: string, trustOf: TrustOf, limits: Limits) {
    this.state = emptyState(id)
    this.#trustOf = trustOf
    this.#limits = limits
  }

  get turn(): string | undefined {
    return this.#turn
  }

  /** The problem of these events at this point, if any. `status` is the status that their writer recorded. */
  append(events: readonly Event[], epoch: number, status?: SessionStatus): string | undefined {
    if (epoch < this.#epoch) return `one writer: epoch ${epoch} wrote after ${this.#epoch}`
    this.#epoch = epoch
    for (const event of events) {
      const wrong = this.#take(event)
      if (wrong !== undefined) return `${event.type}: ${wrong}`
      evolve(this.state, event)
    }
    const folded = sessionStatus(this.state)
    // A write that ends a turn starts the next one.
    if (status !== undefined && this.#turn === undefined && [...this.#messages.values()].includes('queued'))
      return 'a message waits, and no turn is open'
    if (status !== undefined && folded !== status) return `the row says ${status}, the log says ${folded}`
    return undefined
  }

  #take(event: Event): string | undefined {
    switch (event.type) {
      case 'session.created':
        this.#settings = event.settings
        return this.state.seq === 0 ? undefined : 'not the first event'
      case 'session.configured':
        this.#settings = { ...this.#settings, ...event.settings }
        return undefined
      case 'request.accepted':
        if (this.#requests.has(event.key)) return 'a request key was accepted twice'
        this.#requests.add(event.key)
        return undefined
      case 'turn.started':
        return this.#startTurn(event.turn)
      case 'turn.ended':
        return this.#endTurn(event.turn)
      case 'model.answered':
        return this.#answer(event.parts.filter(part => part.type === 'call'))
      case 'call.nested':
        return this.#nest(event.parent, event.call)
      case 'grant.given':
        this.#grants.set(event.grant.id, event.grant)
        return undefined
      case 'grant.revoked':
        return this.#grants.delete(event.grantId) ? undefined : 'there is no such grant'
      case 'history.compacted':
        return event.replaces <= this.state.view.length ? undefined : 'it replaces more than there is'
      case 'history.rewound':
        return event.keeps <= this.state.view.length ? undefined : 'it keeps more than there is'
      case 'message.queued':
        if (this.#turn === undefined) return 'no turn is open'
        if (this.#messages.has(event.message)) return 'a message id is used twice'
        this.#messages.set(event.message, 'queued')
        return undefined
      case 'message.delivered':
        // Joining, it never stands between a call and its result; starting a turn, the one before is over.
        if (event.parts ? this.#turn !== event.turn : this.#turn !== undefined) return 'the turn is another'
        return this.#unsettled() ?? this.#leave(event.message, 'delivered')
      case 'message.withdrawn':
        return this.#leave(event.message, 'withdrawn')
      case 'control.taken':
      case 'control.returned':
      case 'turn.asked':
      case 'hook.acted':
      case 'policy.applied':
      case 'model.sampled':
      case 'log.signed':
      case 'payment.recorded':
        return undefined
      default:
        return this.#takeOfCall(event)
    }
  }

  #leave(message: string, as: string): string | undefined {
    const before = this.#messages.get(message)
    this.#messages.set(message, as)
    return before === 'queued' ? undefined : `the message was ${before ?? 'never said'}`
  }

  #startTurn(turn: string): string | undefined {
    if (this.#turn !== undefined) return 'a turn is open'
    if (this.#turns.has(turn)) return 'a turn id is used twice'
    this.#turns.add(turn)
    this.#turn = turn
    this.#steps = 0
    this.#runs = 0
    return this.#unsettled()
  }

  #endTurn(turn: string): string | undefined {
    if (this.#turn !== turn) return 'it ends a turn that is not open'
    this.#turn = undefined
    return this.#unsettled()
  }

  #answer(parts: readonly CallPart[]): string | undefined {
    if (this.#turn === undefined) return 'no turn is open'
    const unsettled = this.#unsettled()
    if (unsettled !== undefined) return unsettled
    this.#steps += 1
    if (this.#steps > this.#limits.steps) return 'more model steps than the limit'
    this.#open = []
    for (const part of parts) {
      if (this.calls.has(part.id)) return `call id ${part.id} is used twice`
      const record: CallRecord = {
        part,
        stage: 'proposed',
        attempt: 0,
        startedIn: [],
        decisions: 0,
        votes: [],
        open: new Set(),
      }
      this.calls.set(part.id, record)
      this.#open.push(record)
    }
    return undefined
  }

  #nest(parent: string, part: CallPart): string | undefined {
    const asks = part.name === budgetToolName && parent === this.#turn
    if (asks) {
      // Between two steps only.
      const unsettled = this.#unsettled()
      if (unsettled !== undefined) return unsettled
      this.#open = []
    } else if (this.calls.get(parent)?.stage !== 'started') return `its parent ${parent} does not run`
    if (this.calls.has(part.id)) return `call id ${part.id} is used twice`
    const record: CallRecord = {
      part,
      stage: 'proposed',
      parent,
      attempt: 0,
      startedIn: [],
      decisions: 0,
      votes: [],
      open: new Set(),
    }
    this.calls.set(part.id, record)
    this.#open.push(record)
    return undefined
  }

  #unsettled(): string | undefined {
    const call = this.#open.find(each => each.stage !== 'settled')
    return call && `call ${call.part.id} is still ${call.stage}`
  }

  #takeOfCall(event: Extract<Event, { callId: string }>): string | undefined {
    const call = this.calls.get(event.callId)
    if (!call) return `there is no call ${event.callId}`
    if (event.type === 'call.late') return call.stage === 'settled' ? undefined : 'its call is not settled'
    if (call.stage === 'settled') return `call ${event.callId} is settled already (${call.outcome?.kind})`
    switch (event.type) {
      case 'call.handed':
      case 'call.allowed':
      case 'approval.requested':
        return this.#judged(call, event)
      case 'policy.shadowed':
        return undefined
      case 'call.forbidden':
        return call.stage === 'started' ? 'it runs already' : undefined
      case 'call.edited':
        if (call.stage !== 'asking' && call.stage !== 'proposed') return `it is ${call.stage}`
        call.argsHash = event.argsHash
        return undefined
      case 'approval.voted':
        if (call.stage !== 'asking') return `it is ${call.stage}`
        if (event.argsHash !== call.argsHash) return 'the vote is for other arguments'
        return countVote(call, { name: event.by, roles: event.roles ?? [] })
      case 'approval.refused':
        return isApprover(call.approvers, event.roles ?? []) ? 'the person may decide' : undefined
      case 'approval.decided':
        return decided(call, event)
      case 'call.started':
        return (
          (event.allowed && this.#judged(call, { ...event, type: 'call.allowed', ...event.allowed })) ??
          this.#started(call, event.attempt)
        )
      case 'question.asked':
        if (call.stage !== 'started') return `it is ${call.stage}`
        call.open.add(event.question)
        return undefined
      case 'question.answered':
      case 'question.expired':
      case 'question.withdrawn':
        return call.open.delete(event.question) ? undefined : 'the question is not open'
      case 'budget.decided':
        return call.part.name === budgetToolName && call.stage === 'started'
          ? undefined
          : 'its call does not ask'
      case 'call.postponed':
        if (call.stage !== 'started') return `it is ${call.stage}`
        call.stage = 'postponed'
        return undefined
      case 'call.suspended':
        if (call.stage !== 'started') return `it is ${call.stage}`
        call.stage = 'suspended'
        return this.#open.some(each => each.parent === call.part.id) ? undefined : 'it has made no calls'
      case 'call.settled':
        if (this.#open.some(each => each.parent === call.part.id && each.stage !== 'settled'))
          return 'a call that it made is open'
        if (call.open.size > 0) return 'it leaves a question open'
        call.stage = 'settled'
        call.outcome = event.outcome
        call.settledIn = this.#epoch
        return wrongOutcome(event.outcome)
    }
  }

  #judged(
    call: CallRecord,
    event: Extract<Event, { type: 'call.handed' | 'call.allowed' | 'approval.requested' }>,
  ): string | undefined {
    const asksAgain = event.type === 'approval.requested' && call.stage === 'asking' && call.approvers
    if (call.stage !== 'proposed' && !asksAgain) return `it is ${call.stage}`
    if (call.part.cut) return 'its arguments were cut'
    call.argsHash = 'argsHash' in event ? event.argsHash : hashOf(call)
    call.toolHash = event.toolHash
    const { name } = call.part
    const server = this.#trustOf(name)
    const clientOwned = this.#settings.clientTools.some(tool => tool.name === name)
    if (event.type === 'call.handed') {
      call.stage = 'handed'
      return clientOwned ? undefined : 'the application has no such tool'
    }
    if (!server || server.trust === 'deny') return 'the server offers no such tool'
    const ref = this.#settings.tools?.find(tool => tool.name === name)
    if (server.exposed && this.#settings.tools && !ref) return 'the tool is switched off'
    const trusted = server.exposed && ref ? ref.trust : server.trust === 'trusted'
    const { approvers } = server
    if (event.type === 'approval.requested') {
      call.stage = 'asking'
      if ((approvers?.quorum ?? 1) !== ((event.v === 2 && event.approvers.quorum) || 1))
        return 'it is asked of others than policy says'
      if (approvers) call.approvers = approvers
      call.votes = []
      if (approvers) return undefined
      return trusted ? 'it is trusted' : undefined
    }
    call.stage = 'approved'
    call.authority = 'policy'
    if (event.grantId !== undefined) return this.#spend(event.grantId, event, approvers)
    if (approvers) return 'nobody was asked who has to be'
    return trusted ? undefined : 'it ran without being asked about'
  }

  #spend(
    id: string,
    { callId, toolHash, at }: Extract<Event, { type: 'call.allowed' }>,
    approvers: Approvers | undefined,
  ): string | undefined {
    const grant = this.#grants.get(id)
    const givers = (grant?.people ?? []).filter(({ roles = [] }) => isApprover(approvers, roles))
    if (approvers && givers.length < (approvers.quorum ?? 1)) return 'too few people gave its grant'
    if (!grant || grant.deny) return 'there is no grant for it any more'
    if (grant.tool !== this.calls.get(callId)?.part.name || grant.toolHash !== toolHash)
      return 'its grant is for another tool'
    if (grant.expiresAt !== undefined && grant.expiresAt <= at) return 'its grant has expired'
    if (grant.usesLeft === 1) this.#grants.delete(id)
    else if (grant.usesLeft !== undefined) this.#grants.set(id, { ...grant, usesLeft: grant.usesLeft - 1 })
    return undefined
  }

  #started(call: CallRecord, attempt: number): string | undefined {
    if (call.stage !== 'approved' && call.stage !== 'started' && call.stage !== 'suspended')
      return `it is ${call.stage}`
    if (attempt !== call.attempt + 1) return `attempt ${attempt} follows ${call.attempt}`
    if (call.stage === 'approved' && call.part.name !== budgetToolName) {
      this.#runs += 1
      if (this.#runs > this.#limits.calls) return 'more calls ran than the limit'
    }
    call.stage = 'started'
    call.attempt = attempt
    call.startedIn[attempt] = this.#epoch
    return undefined
  }
}

/** The hash of the arguments in the log: the model's, or those that a person edited. */
function hashOf({ part, argsHash }: CallRecord): string {
  return argsHash ?? (part.form === 'text' ? sha256(part.text) : hashJson(parseJson(part.text || '{}')))
}

function isApprover(approvers: Approvers | undefined, roles: readonly string[]): boolean {
  return !approvers?.roles || roles.some(role => approvers.roles?.includes(role))
}

function countVote(call: CallRecord, { name, roles = [] }: Person): string | undefined {
  if (!call.approvers) return 'it needs no votes'
  if (!isApprover(call.approvers, roles)) return `${name} may not decide`
  if (call.votes.includes(name)) return `${name} voted twice`
  call.votes.push(name)
  return undefined
}

function decided(
  call: CallRecord,
  { granted, argsHash, by, roles = [] }: Extract<Event, { type: 'approval.decided' }>,
): string | undefined {
  if (call.stage !== 'asking') return `it is ${call.stage}`
  if (call.approvers) {
    if (!isApprover(call.approvers, roles)) return `${by} may not decide`
    // An edit of one who suffices alone asks nobody again.
    if (argsHash !== call.argsHash) call.votes = []
    const wrong = granted ? countVote(call, { name: by, roles }) : undefined
    if (wrong !== undefined) return wrong
    if (granted && call.votes.length < (call.approvers.quorum ?? 1)) return 'too few people allowed it'
  }
  call.decisions += 1
  if (call.decisions > 1) return 'it was decided twice'
  if (granted && argsHash !== call.argsHash) return 'the decision is about other arguments'
  if (granted) {
    call.stage = 'approved'
    call.authority = 'person'
  }
  return undefined
}

function wrongOutcome(outcome: Outcome): string | undefined {
  if (outcome.parts.length === 0) return 'its outcome says nothing'
  return outcome.parts.some(part => part.type === 'text' && part.text === '') ? 'an empty text' : undefined
}
