// What a vendor's API looks like, as data and pure functions. A protocol never sees a socket, a key or a clock: the
// one runner (run.ts) owns those, and a provider (providers/) says where the API is and what is odd about it.

import type { ModelAnswer, ModelDelta, ModelRequest } from '../engine/ports.ts'
import type { ErrorCode } from '../language/errors.ts'
import type { Json, JsonObject } from '../lib/json.ts'

/** A deployment as the codec needs to know it. */
export type Target = {
  /** The vendor's name of the model. */
  model: string
  /** Artifacts (signatures, encrypted reasoning) made by another family are not sent to this one. */
  family: string
  /** The limit of an answer where nobody says one; 0: the vendor's own holds. */
  maxTokens: number
  /** What the operator set: a caller may ask for less, never for more. Absent: `maxTokens` is only a default. */
  mostTokens?: number
  /** Fields that go into the body as they are: thinking, effort, sampling, service tier. */
  body: JsonObject
  /** The vendor's own tools, declared as the vendor wants them. Their blocks are carried through. */
  hosted: readonly JsonObject[]
  /** Declared oddities of this deployment. A codec knows which names it heeds; nothing is guessed from addresses. */
  quirks: ReadonlySet<string>
  /** True: continue by the vendor's own memory (`previous_response_id`, `previous_interaction_id`) where it is sound. */
  stateful: boolean
  /** The vendor no longer keeps what this session left with it: nothing of that is named, be it a response or a container. */
  forgotten?: true
}

export type Prepared = {
  /** Appended to the provider's base URL. */
  path: string
  headers: Record<string, string>
  /** JSON text: well-formed Unicode, ready to send. */
  body: string
  /** What could not be said to this vendor, and what was done instead. */
  warnings: string[]
  /** Wire name → our name, to read the answer back. */
  names: ReadonlyMap<string, string>
  /** It names something that the vendor keeps, and that may be gone. */
  leans?: boolean
  /** How many entries of the history had to be encoded for this request; the others were remembered. */
  encoded: number
}

/** One SSE frame, or a whole JSON body given as one frame with no event name. */
export type Frame = { event?: string; data: string }

export type Failure = {
  code: Extract<ErrorCode, `model_${string}`>
  message: string
  retryAfterMs?: number
  retry: boolean
  /** The vendor no longer keeps what the request leans on: without it, the same may do better, at once. */
  forgotten?: true
  /** The deployment has told that it has this quirk, which nobody has declared: asked with it, it may answer. */
  quirk?: string
}

/**
 * Contract: all pure but for `State`, which `step` may change in place, and for encodings that are remembered per entry
 * object and target. `step` gives the deltas of one frame; unknown frames give none. `halt` gives the whole answer, or
 * a failure when the stream ended before its terminal event. The non-streaming answer is `step` on one whole frame.
 * Every history the engine can produce is accepted by the real API; what cannot be said is adapted, with a warning.
 */
export type Protocol<State> = {
  readonly name: string
  prepare(request: ModelRequest, target: Target): Prepared
  initial(prepared: Prepared): State
  step(state: State, frame: Frame): ModelDelta[]
  halt(state: State): { answer: ModelAnswer } | { failure: Failure }
  /** A response with an error status. `body` is parsed if it was JSON. */
  failure(status: number, headers: Headers, body: Json | string): Failure
}
