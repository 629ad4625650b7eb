// Describes a vendor's API as data and pure functions. A protocol never sees a socket, a key or a clock: the one runner
// (run.ts) owns those, and a provider (providers/) says where the API is and how it deviates. `prepare` gives a
// `reading` for the answer; nothing else passes from a request to its answer.

import type { ModelAnswer, ModelDelta, ModelRequest } from '../engine/ports/index.ts'
import type { ErrorCode } from '../language/errors.ts'
import type { AnswerFormat } from '../language/format.ts'
import type { ImageLimits } from '../lib/images/index.ts'
import type { Json, JsonObject } from '../lib/json/index.ts'
import type { Restores } from './common/restore-values.ts'
import type { SessionCache } from './common/session-cache.ts'

/** A deployment as a protocol needs to know it. */
export type ModelTarget = {
  /** The vendor's name of the model. */
  model: string
  /** Artifacts (signatures, encrypted reasoning) made by another family are not sent to this one. */
  family: string
  /** The default token limit of an answer; 0: the vendor's own limit applies. */
  maxTokens: number
  /** The operator's limit: a caller may ask for less, never for more. Absent: `maxTokens` is only a default. */
  mostTokens?: number
  /** Fields that go into the body as they are: thinking, effort, sampling, service tier. */
  body: JsonObject
  /** The vendor's own tools, declared as the vendor wants them. Their blocks are carried through. */
  hosted: readonly JsonObject[]
  /** Declared deviations of this deployment. Each protocol knows its own; nothing is guessed from addresses. */
  quirks: ReadonlySet<string>
  /** Continue from what the vendor stored (`previous_response_id`, `previous_interaction_id`) where that is sound. */
  stateful: boolean
  /** The vendor has deleted what it stored for this session: the request names no response and no container. */
  forgotten?: true
}

export type Prepared<Reading = unknown> = {
  /** Appended to the provider's base URL. */
  path: string
  headers: Record<string, string>
  /** JSON text: well-formed Unicode, ready to send. */
  body: string
  /** Content that this vendor cannot take, and what was sent instead, in words. */
  warnings: string[]
  /** Data for decoding the answer: names and forms of the tools, the origin of its artifacts. */
  reading: Reading
  /** The form that this vendor does not guarantee: the answer has to be checked against it. */
  unchecked?: AnswerFormat
  /** Schemas by which the runner undoes strict fitting (restore-values.ts) before anyone sees the answer. */
  restores?: Restores
  /** The body names something that the vendor stored and may have deleted since. */
  usesStored: boolean
  /** How many entries of the history were encoded for this request. The others came from the cache. */
  encoded: number
}

/** One SSE frame, or a whole JSON body given as one frame with no event name. */
export type Frame = { event?: string | undefined; data: string }

export type ModelFailure = {
  code: Extract<ErrorCode, `model_${string}`>
  message: string
  retryAfterMs?: number
  retry: boolean
  /** The vendor has deleted what the request names. The same request without it may succeed at once. */
  forgotten?: true
  /** The vendor's refusal shows that the deployment has this undeclared quirk. With it, the request may succeed. */
  quirk?: string
}

/**
 * Contract: all functions are pure, except that `step` may change its state in place and `prepare` may use a cache,
 * which never changes the result. `step` gives the deltas of one frame; unknown frames give none. `halt` gives the whole
 * answer, or a failure when the stream ended before its terminal event. A non-streaming answer is `step` on one frame.
 * The real API accepts every history that the engine can produce; content that the API has no form for is adapted, with a
 * warning.
 */
export type Protocol<State = unknown, Reading = unknown> = {
  readonly name: string
  /** How many tools a request may hold, where the vendor limits them. */
  readonly mostTools?: number
  /** How large a picture may be, or is worth being: vendors refuse larger ones, or scale them down themselves. */
  readonly images?: ImageLimits
  /** Whether the vendor can search deferred tools with this target. Absent: it cannot. */
  searchesTools?(target: ModelTarget): boolean
  /** `now`: in milliseconds since 1970. The request names nothing that has expired by then. Absent: nothing has. */
  prepare(request: ModelRequest, target: ModelTarget, cache?: SessionCache, now?: number): Prepared<Reading>
  initial(reading: Reading): State
  step(state: State, frame: Frame): ModelDelta[]
  halt(state: State): Halted
  /** The vendor has begun a call that acts outside its own servers (MCP). Asking again might make that call twice. */
  hasRun(state: State): boolean
  /** A response with an error status. `body` is parsed if it was JSON. */
  failure(status: number, headers: Headers, body: Json | string): ModelFailure
}

export type Halted = { answer: ModelAnswer } | { failure: ModelFailure }
