// What a recording and its replay have in common: requests to models, verdicts of the gate, outcomes, ends of turns. Pure.
import type { ModelAnswer } from '../engine/index.ts'
import type { CallPart } from '../language/calls.ts'
import { type Event, isFailure, type ModelAnswered, type Usage } from '../language/events.ts'
import { type Entry, listCalls } from '../language/history.ts'
import { entriesWithoutSeals } from '../language/seals.ts'
import { canonicalJson, type Json } from '../lib/json/index.ts'
import { type DiffLine, lineDiff } from '../lib/text/line-diff.ts'
import { listCallParts, type RecordedCall, type Recording } from './recording.ts'

/** A place where the replay is not what was recorded. `seq`: the recorded event that it is about. */
export type Difference = {
  seq: number
  about: 'request' | 'verdict' | 'outcome' | 'answer' | 'turn'
  text: string
  diff?: DiffLine[]
}

/** The sums of a log. `unasked`: calls that ran although nobody was asked. */
export type ReplayTotals = {
  steps: number
  unasked: number
  asked: number
  denied: number
  tokens: number
  /** Absent: no price is known. */
  cost?: number
}

/** A call that was not recorded. `verdict`: what the gate said about it, in words. No tool ran. */
export type NewCall = { tool: string; arguments: string; verdict: string }

// ---- requests --------------------------------------------------------------------------------------------

/** The parts of a history that say which way a session took: who spoke, which calls were made, and how they ended. */
export function isSameWay(then: readonly Entry[], now: readonly Entry[]): boolean {
  return (
    then.length === now.length &&
    then.every((entry, index) => describeWay(entry) === describeWay(now[index]!))
  )
}

function describeWay(entry: Entry): string {
  if (entry.role === 'assistant')
    return `assistant ${listCalls(entry)
      .map(({ id }) => id)
      .join(' ')}`
  if (entry.role !== 'tool') return entry.role
  return `tool ${entry.results.map(({ callId, outcome }) => `${callId}:${outcome.kind}`).join(' ')}`
}

/** The lines that differ. Undefined: none. */
export function jsonDiff(then: unknown, now: unknown): DiffLine[] | undefined {
  const [before, after] = [pretty(then), pretty(now)]
  return before === after ? undefined : lineDiff(before, after)
}

function pretty(value: unknown): string {
  return typeof value === 'string' ? value : `${JSON.stringify(value, null, 2)}\n`
}

/** Members that no model reads may differ: how long a call took, who allowed it, what was reported beside it. */
export function readByModel(entries: readonly Entry[]): unknown {
  return entriesWithoutSeals([...entries]).map(entry =>
    entry.role === 'tool'
      ? {
          role: entry.role,
          results: entry.results.map(({ callId, name, outcome: { kind, parts, structured } }) => ({
            callId,
            name,
            kind,
            parts,
            ...(structured !== undefined && { structured }),
          })),
        }
      : entry,
  )
}

// ---- answers ---------------------------------------------------------------------------------------------

export function isSameCalls(recorded: ModelAnswered, answer: ModelAnswer): boolean {
  const [then, now] = [listCallParts(recorded), answer.parts.filter(part => part.type === 'call')]
  return then.length === now.length && then.every((call, index) => callKey(call) === callKey(now[index]!))
}

/** The same for the same tool with the same arguments, however they are written. */
export function callKey({ name, form, text }: Pick<CallPart, 'name' | 'form' | 'text'>): string {
  if (form === 'text') return `${name} ${text}`
  try {
    return `${name} ${canonicalJson(JSON.parse(text) as Json)}` // JSON gives JSON.
  } catch {
    return `${name} ${text}`
  }
}

// ---- verdicts --------------------------------------------------------------------------------------------

/** What the gate said about each call, in words, by the id of the call. */
function verdicts(events: readonly Event[]): Map<string, string> {
  const said = new Map<string, string>()
  for (const event of events) {
    if (event.type === 'call.allowed') said.set(event.callId, `ran unasked (${event.rule})`)
    else if (event.type === 'call.started' && event.allowed)
      said.set(event.callId, `ran unasked (${event.allowed.rule})`)
    else if (event.type === 'approval.requested') said.set(event.callId, `asked (${event.rule})`)
    else if (event.type === 'call.forbidden') said.set(event.callId, `denied (${event.rule})`)
    else if (event.type === 'call.handed') said.set(event.callId, 'was given to the application')
    else if (event.type === 'call.settled' && !said.has(event.callId)) {
      const { kind } = event.outcome
      if (kind === 'denied' || kind === 'invalid') said.set(event.callId, kind)
    }
  }
  return said
}

/** The calls of a log that the recording does not have, in their order. */
export function findNewCalls({ calls }: Recording, log: readonly Event[]): NewCall[] {
  const judged = verdicts(log)
  return log
    .flatMap(event => {
      if (event.type === 'model.answered') return listCallParts(event)
      return event.type === 'call.nested' ? [event.call] : []
    })
    .filter(({ id }) => !calls.has(id))
    .map(({ id, name, text }) => ({ tool: name, arguments: text, verdict: judged.get(id) ?? 'not judged' }))
}

// ---- sums ------------------------------------------------------------------------------------------------

export function addUp(events: readonly Event[]): ReplayTotals {
  const total: ReplayTotals = { steps: 0, unasked: 0, asked: 0, denied: 0, tokens: 0 }
  const add = ({ input, output, cost }: Usage): void => {
    total.tokens += input + output
    if (cost !== undefined) total.cost = (total.cost ?? 0) + cost
  }
  for (const event of events) {
    if (event.type === 'model.answered' || event.type === 'history.compacted') {
      if (event.type === 'model.answered') total.steps += 1
      if (event.usage) add(event.usage)
    } else if (event.type === 'call.allowed' || (event.type === 'call.started' && event.allowed))
      total.unasked += 1
    else if (event.type === 'approval.requested') total.asked += 1
    else if (event.type === 'call.settled' && event.outcome.kind === 'denied') total.denied += 1
  }
  return total
}

/** How each turn ended, in words. */
function turnEnds(events: readonly Event[]): Map<string, string> {
  return new Map(
    events.flatMap(event => {
      if (event.type !== 'turn.ended') return []
      const { turn, stop, limit, error } = event
      const why = limit ?? (isFailure(stop) ? error?.code : undefined)
      return [[turn, why === undefined ? stop : `${stop} (${why})`]]
    }),
  )
}

// ---- whole logs ------------------------------------------------------------------------------------------

/** What came to something else. `leftAt`: the number of the recorded event from which on the logs have nothing in common. */
export function compareLogs(
  { events, calls }: Recording,
  log: readonly Event[],
  leftAt = events.length,
): Difference[] {
  const common = events.slice(0, leftAt)
  const [judged, judges] = [verdicts(common), verdicts(log)]
  const [ended, ends] = [turnEnds(common), turnEnds(log)]
  const settled = new Map(
    log.flatMap(event => (event.type === 'call.settled' ? [[event.callId, event.outcome]] : [])),
  )
  return common.flatMap((event, index): Difference[] => {
    const seq = index + 1
    if (event.type === 'turn.ended' && ends.get(event.turn) !== ended.get(event.turn)) {
      const text = `The turn ended with ${ended.get(event.turn)}. Now: ${ends.get(event.turn) ?? 'it goes on'}.`
      return [{ seq, about: 'turn', text }]
    }
    if (event.type !== 'call.settled') return []
    const [call, outcome] = [calls.get(event.callId), settled.get(event.callId)]
    const [then, now] = [judged.get(event.callId), judges.get(event.callId)]
    // It is judged before it comes to something: the replay may end in between.
    if (!call || (!outcome && now === undefined)) return []
    const { name } = call.part
    // A person in control may answer a call that nobody judged.
    if (then !== undefined && then !== now) {
      const who = call.decision && !now?.startsWith('asked') ? ` ${describeDecision(call.decision)}` : ''
      return [{ seq, about: 'verdict', text: `${name} ${then}. Now: ${now ?? 'not judged'}.${who}` }]
    }
    if (!outcome || outcome.kind === event.outcome.kind) return []
    return [{ seq, about: 'outcome', text: `${name} came to ${event.outcome.kind}. Now: ${outcome.kind}.` }]
  })
}

function describeDecision({ granted, by, reason }: NonNullable<RecordedCall['decision']>): string {
  return `${by} had ${granted ? 'allowed' : 'rejected'} it${reason === undefined ? '' : ` (${reason})`}.`
}
