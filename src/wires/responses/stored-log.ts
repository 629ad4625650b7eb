// Responses as a session's log has them. A response is what came of one request: from the event that took it to where the
// session came to rest or had to wait. Everything here is read, nothing is written.
import { fold, type OpenSessions, type SessionState, segment } from '../../engine/index.ts'
import type { CallPart, Outcome } from '../../language/calls.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { ModelAnswered, Recorded } from '../../language/events.ts'
import type { JsonObject } from '../../lib/json.ts'
import type { WireHost } from '../host.ts'
import type { Before } from './decode-history.ts'
import { Emitter } from './emitter.ts'
import { type ItemPlace, type ResponsePlace, readResponseId, responseId, stemOf } from './ids.ts'
import { noSuchResponse } from './refuse.ts'
import { Resource, requestFields } from './resource.ts'
import type { OutputItem } from './schema.ts'
import { ResponseView } from './view.ts'

export type StoredResponse = ResponsePlace & {
  id: string
  log: readonly Recorded[]
  /** The events of the response, and whether it is over. */
  events: readonly Recorded[]
  over: boolean
  /** As it was when the request came. */
  before: SessionState
}

/** Reads it for its owner; to everyone else, and once it is deleted, there is none. */
export async function findResponse(host: WireHost, owner: string, id: string): Promise<StoredResponse> {
  const place = readResponseId(id)
  const log = place && (await logOf(host.old, owner, place.session))
  const at = place && log?.[place.first - 1]
  if (!log || at?.event.type !== 'request.accepted') throw noSuchResponse(id)
  if (await isDeleted(host.old, owner, place)) throw noSuchResponse(id)
  const { events, over } = segment(place.session, log, place.first)
  return { ...place, id, log, events, over, before: fold(place.session, log.slice(0, place.first - 1)) }
}

async function logOf(engine: OpenSessions, owner: string, session: string): Promise<Recorded[] | undefined> {
  try {
    return await engine.events(owner, session)
  } catch (error) {
    if (error instanceof TurnwireError && error.code === 'session_not_found') return undefined
    throw error
  }
}

// ---- what is deleted ------------------------------------------------------------------------------------------------

/** A log only grows: a response that is deleted gets a mark beside it, and with the last one goes the session. */
const markOf = (first: number): string => `responses.deleted.${first}`

async function isDeleted(
  engine: OpenSessions,
  owner: string,
  { session, first }: ResponsePlace,
): Promise<boolean> {
  try {
    await engine.blob(owner, session, markOf(first))
    return true
  } catch (error) {
    if (error instanceof TurnwireError && error.code === 'not_found') return false
    throw error
  }
}

export async function deleteResponse(host: WireHost, owner: string, response: StoredResponse): Promise<void> {
  const { old: engine } = host
  const { session, log } = response
  await engine.ports.store.putBlob(session, markOf(response.first), 'deleted')
  const own = log.filter(({ event }) => event.type === 'request.accepted')
  const turns = log.filter(({ event }) => event.type === 'turn.started')
  // Turns of other doors are not ours to delete.
  if (turns.some(({ event }) => event.type === 'turn.started' && event.wire !== 'responses')) return
  for (const { seq } of own) if (!(await isDeleted(engine, owner, { session, first: seq }))) return
  await engine.remove(owner, session)
}

// ---- what it says ---------------------------------------------------------------------------------------------------

export function viewOfStored(host: WireHost, response: StoredResponse, emitter: Emitter): ResponseView {
  const { before, session, first } = response
  const state = stateAfterRequest(response)
  const agent = host.agents.find(each => each.name === state.agent)
  return new ResponseView({
    emitter,
    resource: new Resource(
      response.id,
      response.events[0]?.event.at ?? state.createdAt,
      requestFields(agent, state.settings, state.turn?.ask ?? {}, session),
    ),
    at: { stem: stemOf(session), first },
    agent: state.agent,
    live: false,
    open: before.batch.flatMap(call => (call.stage === 'asking' ? [call.part] : [])),
  })
}

/** With the settings that the request itself brought. */
function stateAfterRequest({ before, events, session, log }: StoredResponse): SessionState {
  const [taken] = events
  const own = taken?.event.type === 'request.accepted' ? taken.event.events : 0
  if (before.seq + 1 + own > log.length) return before
  return fold(session, log.slice(0, before.seq + 1 + own))
}

/** The output items of a response that is over, or as far as it is. */
export function outputOf(host: WireHost, response: StoredResponse): OutputItem[] {
  const view = viewOfStored(host, response, new Emitter())
  for (const recorded of response.events) view.take({ type: 'event', ...recorded })
  return [...view.output]
}

/** An item of an earlier response, and the model's answer that it is a part of. */
export type FoundItem = { item: JsonObject; answered: ModelAnswered | undefined }

export async function findItem(
  host: WireHost,
  owner: string,
  place: ItemPlace,
): Promise<FoundItem | undefined> {
  try {
    const response = await findResponse(host, owner, responseId(place))
    const item = outputOf(host, response).find(each => each.id === place.id)
    const answers = response.events.flatMap(({ event }) => (event.type === 'model.answered' ? [event] : []))
    // Output items are JSON by construction.
    return item && { item: item as JsonObject, answered: answers[place.answer] }
  } catch (error) {
    if (error instanceof TurnwireError && error.status === 404) return undefined
    throw error
  }
}

// ---- where it left the session ----------------------------------------------------------------------------------------

/** The session as the response left it. */
export function stateAfter({ session, log, events }: StoredResponse): SessionState {
  return fold(session, log.slice(0, events.at(-1)?.seq ?? 0))
}

/** Whether nothing was said in the session since. */
export function isNewest({ log, events }: StoredResponse): boolean {
  const last = events.at(-1)?.seq ?? 0
  return log.slice(last).every(({ event }) => event.type !== 'turn.started' && event.type !== 'call.settled')
}

/** The calls that a state waits for, and what is known of the rest of their batch. */
export function openCalls({ batch }: SessionState): Before {
  const calls: CallPart[] = []
  const settled = new Map<string, Outcome>()
  for (const { part, outcome } of batch) {
    calls.push(part)
    if (outcome) settled.set(part.id, outcome)
  }
  return { calls, settled }
}
