// Stored responses, as their session's log has them. A response is what came of one request: from the event that accepted
// it to the event after which the session rested or waited. The log is read in pages; only the events of the response are
// held. Reading claims nothing: another process may be the session's writer.
import type { AgentInfo, Engine, FollowItem, SessionRef } from '../../engine/index.ts'
import type { CallPart } from '../../language/calls.ts'
import type { Ask, Event, Recorded, Settings } from '../../language/events.ts'
import { type Shown, ShownFold } from '../../language/show.ts'
import { ifFound, isNotFound } from '../not-found.ts'
import { readLog } from '../read-log.ts'
import type { ResponsesCaller } from './caller.ts'
import { wireName } from './decode.ts'
import { type EncoderOptions, ResponseEncoder } from './encode.ts'
import { calledIn, requestFields } from './encode-response.ts'
import { type ResponsePlace, readResponseId } from './ids.ts'
import { SteeredEnd } from './steered-end.ts'
import { noSuchResponse } from './wordings.ts'

export type StoredResponse = {
  ref: SessionRef
  /** The number of the event that accepted the request. */
  first: number
  createdAt: number
  agent: string
  /** With what the request itself has set. */
  settings: Pick<Settings, 'clientTools' | 'model' | 'wires'>
  ask: Ask
  /** The calls that waited for an approval when the request came. */
  waited: CallPart[]
  /** The calls that waited for calls of their own then. */
  suspended: CallPart[]
  /** Those that were read from the log. A response that was just accepted has none yet. */
  events: Recorded[]
  over: boolean
  /** It ended before this event, with which its successor begins. */
  steered?: Recorded
}

/** To anyone but its owner, and once it is deleted, a response does not exist. */
export async function findResponse(
  { engine, owner }: Pick<ResponsesCaller, 'engine' | 'owner'>,
  id: string,
): Promise<StoredResponse> {
  const place = readResponseId(id)
  const response = place && (await readResponse(engine, { owner, session: place.session }, place.first))
  if (!response || (await isDeleted(engine, response.ref, response.first))) throw noSuchResponse(id)
  return response
}

/** Undefined: no request was accepted with this event. */
async function readResponse(
  engine: Engine,
  ref: SessionRef,
  first: number,
): Promise<StoredResponse | undefined> {
  const scan = new ResponseScan(ref, first)
  try {
    for await (const recorded of readLog(engine, ref)) {
      scan.take(recorded)
      if (scan.response.over) break
    }
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
  const begun = scan.response.events[0]?.event.type
  return begun === 'request.accepted' || scan.isSuccessor ? scan.response : undefined
}

/** The response that a message began: it steered this one, or came too late for that. `last`: the number of its last event. */
export async function findSuccessor(
  engine: Engine,
  response: StoredResponse,
  last: number,
): Promise<StoredResponse | undefined> {
  const fold = new ShownFold()
  let accepted = last + 1
  for await (const { seq, event } of readLog(engine, response.ref, last)) {
    const shown = fold.take(event)
    if (event.type === 'request.accepted') accepted = seq
    const isDelivered = shown?.type === 'message' && shown.state === 'delivered'
    const isBegun = isDelivered && (!shown.parts || seq === last + 1)
    if (!isBegun && shown?.type !== 'turn') continue
    const first = isBegun ? seq : accepted
    return { ...response, first, createdAt: event.at, waited: [], suspended: [], events: [], over: false }
  }
  return undefined
}

/** Folds a log from its beginning to the end of one response. */
class ResponseScan {
  readonly response: StoredResponse
  readonly #shown = new ShownFold()
  readonly #end = new SteeredEnd()
  /** A message began it, which steered the response before or came too late for that. */
  isSuccessor = false
  /** The number of the last event that the request itself recorded. */
  #lastOwn: number

  constructor(ref: SessionRef, first: number) {
    const settings = { clientTools: [] }
    const unread = { createdAt: 0, agent: '', settings, ask: {}, events: [], over: false }
    this.response = { ref, first, waited: [], suspended: [], ...unread }
    this.#lastOwn = first
  }

  take(recorded: Recorded): void {
    const { seq, event } = recorded
    const { response } = this
    if (seq === response.first) this.#begin(event)
    const shown = this.#shown.take(event)
    if (shown && seq >= response.first && this.#end.take(shown, this.#shown)) {
      response.steered = recorded
      response.over = true
      return
    }
    if (seq === response.first && shown?.type === 'message' && shown.state === 'delivered') {
      this.isSuccessor = true
      // The start of its turn follows.
      if (!shown.parts) this.#lastOwn += 1
    }
    if (seq <= this.#lastOwn) this.#takeSettings(event, shown)
    if (seq < response.first) return
    response.events.push(recorded)
    response.over = seq >= this.#lastOwn && this.#shown.status !== 'running' && !this.#comesLater
  }

  /** A result that comes by itself continues the response. */
  get #comesLater(): boolean {
    return this.#shown.calls.values().some(({ waitsFor }) => waitsFor === 'later')
  }

  #begin(event: Event): void {
    const { response } = this
    response.createdAt = event.at
    for (const { part, text, waitsFor } of this.#shown.calls.values())
      if (waitsFor === 'permission' || waitsFor === 'answer') response.waited.push({ ...part, text })
      else if (waitsFor === 'calls') response.suspended.push({ ...part, text })
    if (event.type === 'request.accepted') this.#lastOwn += event.events
  }

  #takeSettings(event: Event, shown: Shown | undefined): void {
    const { response } = this
    if (event.type === 'session.created') response.agent = event.agent
    if (event.type === 'session.created' || event.type === 'session.configured')
      response.settings = { ...response.settings, ...event.settings }
    if (shown?.type === 'turn') response.ask = shown.turn.ask ?? {}
    else if (event.type === 'turn.asked') response.ask = event.ask
  }
}

/** The number of the last event that was read. */
export function lastRead({ first, events }: StoredResponse): number {
  return events.at(-1)?.seq ?? first
}

/** Whether nothing was said or answered in the session since. */
export async function isNewest(engine: Engine, response: StoredResponse): Promise<boolean> {
  if (response.steered) return false
  const fold = new ShownFold()
  for await (const { event } of readLog(engine, response.ref, lastRead(response))) {
    const shown = fold.take(event)
    if (shown?.type === 'turn' || shown?.type === 'result') return false
  }
  return true
}

// ---- deleted responses ---------------------------------------------------------------------------------------

/** A log only grows, so a deleted response gets a mark beside it. */
const logMark = (first: number): string => `responses.deleted.${first}`

async function isDeleted(engine: Engine, ref: SessionRef, first: number): Promise<boolean> {
  return (await ifFound(engine.blob(ref, { get: 'text', name: logMark(first) }))) !== undefined
}

/** The session goes with its last response, unless another wire has turns in it. */
export async function deleteResponse(engine: Engine, { ref, first }: StoredResponse): Promise<void> {
  await engine.command(ref, { do: 'keep', name: logMark(first), text: 'deleted' })
  const accepted: number[] = []
  const fold = new ShownFold()
  for await (const { seq, event } of readLog(engine, ref)) {
    const shown = fold.take(event)
    if (shown?.type === 'turn' && shown.turn.wire !== wireName) return
    if (event.type === 'request.accepted') accepted.push(seq)
  }
  for (const each of accepted) if (!(await isDeleted(engine, ref, each))) return
  await engine.remove(ref)
}

// ---- encoding ------------------------------------------------------------------------------------------------

/** `after`: for a stream, the number of the last event that the client has, or -1. */
export function storedEncoder(
  agents: readonly AgentInfo[],
  response: StoredResponse,
  after?: number,
  form?: EncoderOptions['form'],
): ResponseEncoder {
  const { ref, first, createdAt, agent, settings, ask, waited, suspended } = response
  const place: ResponsePlace = { session: ref.session, first }
  const info = agents.find(({ name }) => name === agent)
  const request = requestFields(info, settings, ask, ref.session)
  const called = calledIn(settings.wires?.[wireName] ?? {})
  const options: EncoderOptions = { place, agent, createdAt, request, waited, suspended, called }
  return new ResponseEncoder({
    ...options,
    ...(after !== undefined && { after }),
    ...(form && { form }),
  })
}

/** The response as far as it was read, in the form in which the engine gives items. */
export function itemsRead({ events, over, steered }: StoredResponse): FollowItem[] {
  const items: FollowItem[] = events.map(recorded => ({ type: 'event', ...recorded }))
  if (steered) return [...items, { type: 'event', ...steered }]
  return over ? [...items, { type: 'ended' }] : items
}

/** The encoder after all that was read. */
export function encodeStored(agents: readonly AgentInfo[], response: StoredResponse): ResponseEncoder {
  const encoder = storedEncoder(agents, response)
  for (const item of itemsRead(response)) encoder.take(item)
  return encoder
}
