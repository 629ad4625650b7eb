// The data of a session that a page shows. view-fold.ts makes it from the log and from live deltas. Its objects are
// replaced, never changed, so that a part of a page is drawn again only when its own data is new.
import type { CallForm, Found, Outcome, OutcomeKind } from '../language/calls.ts'
import type { HostedPart, InputPart } from '../language/content.ts'
import {
  type Grant,
  isFailure,
  type LimitName,
  type Settings,
  type TurnStop,
  type Usage,
} from '../language/events.ts'
import type { FlowFact } from '../language/flow.ts'
import type { AnswerAction, FormSchema } from '../language/questions.ts'
import type { Report } from '../language/report.ts'
import type { QueuedMessage } from '../language/show.ts'

/**
 * `writing`: its arguments are still arriving. `proposed`: the gate has not looked. `client`: an application runs it.
 * `waiting`: a person decides. `allowed`: it may run, and has not started.
 */
export type CallStatus = 'writing' | 'proposed' | 'client' | 'waiting' | 'allowed' | 'running' | OutcomeKind

export type Decided = { granted: boolean; by: string; at: number; reason?: string }

export type AskedApproval = {
  seq: number
  at: number
  argsHash: string
  toolHash: string
  rule: string
  reason?: string
  expiresAt?: number
  expired?: true
  /** The tool's report of what the call would do. */
  preview?: Report
  /** Where its arguments came from, if that is why it asks. */
  flow?: readonly FlowFact[]
  decided?: Decided
}

/** A question of a running call to a person. `answer` is set once it is over. */
export type QuestionView = {
  id: string
  message: string
  at: number
  schema?: FormSchema
  url?: string
  expiresAt?: number
  answer?: { action: AnswerAction | 'expired' | 'withdrawn'; by?: string }
  closedAt?: number
}

export type CallView = {
  id: string
  name: string
  form: CallForm
  /** The arguments that count: the model's, or what a person made of them. */
  text: string
  status: CallStatus
  /** The number of the answer that made it. Absent while the answer is still arriving. */
  seq?: number
  /** The numbers of all events about it. */
  events: number[]
  proposedAt: number
  startedAt?: number
  settledAt?: number
  attempts: number
  approval?: AskedApproval
  /** The rule or grant that let it run without a question. */
  allowed?: { rule: string; grantId?: string }
  /** The rule by which it was denied without a question. */
  forbiddenBy?: string
  argsHash?: string
  toolHash?: string
  /** The model's own arguments, if a person changed them. */
  edited?: { by: string; original: string }
  progress?: { message?: string; done?: number; total?: number }
  /** Output while it runs. It is live only. */
  output: string
  outcome?: Outcome
  late?: Outcome
  /** What its tool said later, of a call that may have taken effect. */
  checked?: { found: Found; by: string; at: number; outcome: Outcome }
  /** The newest call that undoes this one. */
  undoneBy?: string
  cut?: true
  /** The call that made this one, if no model did. */
  parent?: string
  questions?: QuestionView[]
  /** The tool's report of its work so far. */
  report?: Report
  /** The session in which an agent carries it out, and what that has used so far. */
  delegated?: { agent: string; session: string; used: UsageTotal }
}

export type UserItem = {
  type: 'user'
  key: string
  seq: number
  at: number
  parts: InputPart[]
  wire?: string
}
export type SystemItem = { type: 'system'; key: string; seq: number; at: number; text: string }
export type AnswerItem = {
  type: 'answer'
  key: string
  /** Absent while it is still arriving. */
  seq?: number
  at: number
  thinking: string
  text: string
  model?: string
  usage?: Usage
  warnings?: string[]
}
export type CallItem = { type: 'call'; key: string; call: CallView }
export type HostedItem = { type: 'hosted'; key: string; seq: number; at: number; part: HostedPart }
export type NoteTone = 'plain' | 'good' | 'bad' | 'waiting'
/** Everything else that a reader has to know: how a turn ended, a change of settings, a grant. */
export type NoteItem = { type: 'note'; key: string; seq: number; at: number; tone: NoteTone; text: string }
export type ViewItem = UserItem | SystemItem | AnswerItem | CallItem | HostedItem | NoteItem

/** One request to a model. `resets`: how often its stream started over while we looked. */
export type StepView = {
  seq?: number
  turn: string
  startedAt: number
  endedAt?: number
  model?: string
  usage?: Usage
  resets: number
  calls: string[]
}

export type TurnView = {
  id: string
  seq: number
  startedAt: number
  endedAt?: number
  stop?: TurnStop
  limit?: LimitName
  error?: string
}

export type UsageTotal = {
  input: number
  output: number
  cacheRead: number
  thinking: number
  cost: number
  /** False: the price of a model is unknown, so `cost` is too low or zero. */
  priced: boolean
  steps: number
}

export type SessionView = {
  /** The number of the last event. */
  seq: number
  agent: string
  owner: string
  wire: string
  createdAt: number
  updatedAt: number
  settings: Settings | undefined
  items: readonly ViewItem[]
  calls: ReadonlyMap<string, CallView>
  steps: readonly StepView[]
  turns: readonly TurnView[]
  grants: readonly Grant[]
  /** All of it: answers, summaries, samples of tools, and agents that worked for calls. */
  usage: UsageTotal
  byModel: ReadonlyMap<string, UsageTotal>
  /** The part of `usage` of agents that worked for calls of this session, by their names. */
  byAgent: ReadonlyMap<string, UsageTotal>
  controlledBy: string | undefined
  /** The messages that wait for their delivery, in the order in which they were said. */
  messages: readonly QueuedMessage[]
  /** Whether a turn is under way. */
  active: boolean
}

export const noUsage: UsageTotal = {
  input: 0,
  output: 0,
  cacheRead: 0,
  thinking: 0,
  cost: 0,
  priced: true,
  steps: 0,
}

export function addViewUsage(total: UsageTotal, usage: Usage | undefined, steps = 1): UsageTotal {
  return {
    input: total.input + (usage?.input ?? 0),
    output: total.output + (usage?.output ?? 0),
    cacheRead: total.cacheRead + (usage?.cacheRead ?? 0),
    thinking: total.thinking + (usage?.thinking ?? 0),
    cost: total.cost + (usage?.cost ?? 0),
    priced: total.priced && (usage === undefined || usage.cost !== undefined),
    steps: total.steps + steps,
  }
}

export type Activity = 'new' | 'running' | 'waiting' | 'done' | 'stopped' | 'failed'

/** The session's current activity, as a word for its colour and as a sentence. */
export function describeActivity(view: SessionView): { activity: Activity; words: string } {
  const last = view.turns.at(-1)
  if (last === undefined) return { activity: 'new', words: 'Nothing was said yet' }
  if (!view.active) return describeEnd(last)
  if (view.controlledBy !== undefined)
    return { activity: 'waiting', words: `Under the manual control of ${view.controlledBy}` }
  const open = [...openCallViews(view)]
  if (open.some(isAsking))
    return { activity: 'waiting', words: `Waiting for an answer to ${open.find(isAsking)?.name}` }
  const busy = open.find(call => call.status === 'running' && !open.some(each => each.parent === call.id))
  if (busy) return { activity: 'running', words: `Running ${callNames(open, 'running')}` }
  const asks = open.filter(call => call.status === 'waiting')
  if (asks.length > 0)
    return { activity: 'waiting', words: `Waiting for approval of ${callNames(open, 'waiting')}` }
  if (open.some(call => call.status === 'client'))
    return { activity: 'waiting', words: `Waiting for the application to run ${callNames(open, 'client')}` }
  return { activity: 'running', words: 'The model is answering' }
}

/** It waits for a person to fill in a form. */
export function isAsking(call: CallView): boolean {
  return (
    call.questions?.some(question => question.answer === undefined) === true && call.settledAt === undefined
  )
}

/** The calls of the last step that have no outcome, and the calls that they made. */
export function* openCallViews(view: SessionView): Generator<CallView> {
  for (const id of view.steps.at(-1)?.calls ?? []) {
    const call = view.calls.get(id)
    if (call && call.settledAt === undefined) yield call
  }
}

function callNames(calls: readonly CallView[], status: CallStatus): string {
  const names = calls.filter(call => call.status === status).map(call => call.name)
  return names.length > 3 ? `${names.slice(0, 2).join(', ')} and ${names.length - 2} more` : names.join(', ')
}

function describeEnd({ stop, limit, error }: TurnView): { activity: Activity; words: string } {
  if (stop === 'end') return { activity: 'done', words: 'Done' }
  return { activity: isFailure(stop) ? 'failed' : 'stopped', words: stopWords(stop, limit, error) }
}

export function stopWords(stop: TurnStop | undefined, limit?: string, error?: string): string {
  switch (stop) {
    case 'end':
      return 'Done'
    case 'length':
      return 'Ended: the model reached its length limit'
    case 'refusal':
      return 'Ended: the model refused'
    case 'filter':
      return 'Ended by the vendor’s filter'
    case 'limit':
      return `Ended: the limit on ${limit ?? 'the turn'} was reached`
    case 'cancelled':
      return 'Stopped'
    case 'abandoned':
      return 'Left: a new message came first'
    case 'error':
      return `Failed: ${error ?? 'no reason is recorded'}`
    case undefined:
      return 'At work'
  }
}
