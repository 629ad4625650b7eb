// Input that steers the response which a connection makes: `response.steer`, and what is told of it. It is accepted once it is in
// the session as a message that waits. The response that it begins says by itself that it was taken; what keeps it waiting and what
// ends it are told here.
import { refuseParameter } from '../../apis/openai/refusal.ts'
import type { SessionCall, SessionRef } from '../../engine/index.ts'
import type { InputPart } from '../../language/content.ts'
import { hasCode, wordsOf } from '../../language/errors.ts'
import type { Event } from '../../language/events.ts'
import { ShownFold } from '../../language/show.ts'
import type { Json, JsonObject } from '../../lib/json/index.ts'
import { randomIds } from '../../lib/text/random.ts'
import type { ResponsesCaller } from './caller.ts'
import { decodeRequest, wireName } from './decode.ts'
import { decodeContinuation, isAsking } from './decode-command.ts'
import { approvalId } from './ids.ts'
import { readItems } from './once.ts'

type SteerFailure =
  | 'response_not_found'
  | 'response_already_completed'
  | 'invalid_input'
  | 'steering_not_supported'
  | 'successor_creation_failed'
  | 'too_many_pending_steers'

/** Input that was accepted. */
type Steer = { id: string; previous_response_id: string; input: Json }

/** `ref`: of a stored response. `arriving`: input that is not accepted yet. `withdrawn`: messages that someone took back. */
export type ActiveResponse = {
  id: string
  agent: string
  mark: { stream_id?: string }
  ref?: SessionRef | undefined
  steers: Steer[]
  arriving: Set<Promise<void>>
  withdrawn: Set<string>
  shown: ShownFold
}

/** Responses that have ended and are still told apart from unknown ones. */
const mostEnded = 32

export class Steering {
  readonly #caller: ResponsesCaller
  readonly #send: (frame: JsonObject) => void
  readonly #newId = randomIds()
  /** The response that is being made. */
  #active: ActiveResponse | undefined
  /** The last shown last. */
  #ended: string[] = []

  constructor(caller: ResponsesCaller, send: (frame: JsonObject) => void) {
    this.#caller = caller
    this.#send = send
  }

  begin(id: string, agent: string, mark: string | undefined, ref?: SessionRef): ActiveResponse {
    this.#active = {
      ...{ id, agent, ref, mark: mark === undefined ? {} : { stream_id: mark }, steers: [] },
      ...{ arriving: new Set(), withdrawn: new Set(), shown: new ShownFold() },
    }
    return this.#active
  }

  /** The successor that the input of this response has begun. */
  goOn(active: ActiveResponse, id: string): ActiveResponse {
    this.#active = { ...active, id }
    return this.#active
  }

  /** No more input is taken for it. */
  end(active: ActiveResponse): void {
    if (this.#active === active) this.#active = undefined
    this.#ended = [...this.#ended, active.id].slice(-mostEnded)
  }

  /** Of the session of this response. */
  take(active: ActiveResponse, event: Event): void {
    const shown = active.shown.take(event)
    if (shown?.type !== 'message') return
    if (shown.state === 'withdrawn') {
      active.withdrawn.add(shown.message)
      this.#tellWithdrawn(active)
    }
    // It has joined the response.
    if (shown.state === 'delivered') active.steers = active.steers.filter(({ id }) => id !== shown.message)
  }

  /** Tells what keeps input waiting. True: some was accepted, so a successor has begun or begins after what it waits for. */
  async settle(active: ActiveResponse): Promise<boolean> {
    await Promise.all(active.arriving)
    const { ref, steers, mark } = active
    if (!ref || steers.length === 0) return false
    const { messages = [], calls } = await this.#caller.engine.summary(ref)
    const required_input = calls.flatMap(requiredInput)
    const reason = 'waiting_for_required_input'
    // The others have begun the successor.
    active.steers = steers.filter(({ id }) => messages.some(message => message.id === id))
    if (required_input.length > 0)
      for (const { id, previous_response_id } of active.steers)
        this.#tell('pending', { reason, required_input, steer: { id, previous_response_id }, ...mark })
    return true
  }

  async steer({ input = null, previous_response_id: target = null }: JsonObject): Promise<void> {
    const active = this.#active
    const refused = { input, previous_response_id: target }
    if (!active || active.id !== target) {
      const hasEnded = this.#ended.some(id => id === target)
      if (hasEnded) this.#tellFailed('response_already_completed', 'This response has ended.', refused)
      else
        this.#tellFailed(
          'response_not_found',
          'No response of this id is under way on this connection.',
          refused,
        )
      return
    }
    const accepting = this.#accept(active, { input, previous_response_id: active.id })
    active.arriving.add(accepting)
    await accepting.finally(() => active.arriving.delete(accepting))
  }

  /** Never rejects. */
  async #accept(active: ActiveResponse, given: Omit<Steer, 'id'>): Promise<void> {
    const { ref, mark } = active
    if (!ref) {
      const words = "Only a stored response can be steered: leave out 'store: false'."
      this.#tellFailed('steering_not_supported', words, given, mark)
      return
    }
    try {
      const parts = await this.#parts(active, given.input)
      const key = this.#newId('req')
      const { message } = await this.#caller.engine.command(ref, {
        do: 'say',
        wire: wireName,
        parts,
        during: 'steer',
        request: { key, hash: key },
      })
      // Without a message the response had just ended, and the input has begun its successor.
      const id = message?.id ?? key
      active.steers.push({ id, ...given })
      this.#tell('accepted', { steer: { id, previous_response_id: active.id }, ...mark })
      this.#tellWithdrawn(active)
    } catch (error) {
      const isFull = hasCode(error, 'busy')
      this.#tellFailed(isFull ? 'too_many_pending_steers' : 'invalid_input', wordsOf(error), given, mark)
    }
  }

  /** The same forms of input as a request takes, but user messages only. */
  async #parts({ agent }: ActiveResponse, input: Json): Promise<InputPart[]> {
    const request = decodeRequest(this.#caller.host, { model: agent, input, stream: true }, undefined)
    const { items } = await readItems(this.#caller, request)
    const next = decodeContinuation(items, [], this.#caller.name)
    if (next?.do !== 'say' || next.parts.length === 0)
      return refuseParameter('A response is steered with user messages only.', 'input')
    return next.parts
  }

  /** The client gets its input back. */
  #tellWithdrawn(active: ActiveResponse): void {
    const isTaken = ({ id }: Steer): boolean => active.withdrawn.has(id)
    const taken = active.steers.filter(isTaken)
    active.steers = active.steers.filter(steer => !isTaken(steer))
    for (const steer of taken)
      this.#tellFailed('successor_creation_failed', 'The input was withdrawn.', steer, active.mark)
  }

  #tellFailed(code: SteerFailure, message: string, steer: JsonObject, mark: JsonObject = {}): void {
    this.#tell('failed', { error: { type: 'invalid_request_error', code, message }, steer, ...mark })
  }

  #tell(what: 'accepted' | 'pending' | 'failed', body: JsonObject): void {
    // It belongs to no response, whose events would be numbered.
    this.#send({ type: `response.steer.${what}`, sequence_number: 0, ...body })
  }
}

/** A stub of the input that a call waits for. */
function requiredInput(call: SessionCall): JsonObject[] {
  const { id, name } = call.part
  if (isAsking(call)) return [{ type: 'mcp_approval_response', approval_request_id: approvalId(id) }]
  if (call.stage !== 'handed') return []
  const call_id = id
  return [
    call.part.form === 'text'
      ? { type: 'custom_tool_call_output', call_id }
      : { type: 'function_call_output', call_id, name },
  ]
}
