// What the engine needs of a tool, as types: one of the ports of ports.ts.
import type { InputPart, ResultPart } from '../language/content.ts'
import type { ModelStop } from '../language/events.ts'
import type { ToolDeclaration } from '../language/tools.ts'
import type { EgressInit } from '../lib/egress.ts'
import type { Json } from '../lib/json.ts'

/**
 * What tools are given by the program: database handles, the user, the tenant. A program declares its own members:
 * `declare module 'turnwire' { interface AppContext { db: Database } }`.
 */
// biome-ignore lint/suspicious/noEmptyInterface: programs add their members to it.
export interface AppContext {}

export type Progress = { message?: string; done?: number; total?: number } | { output: string }

export type SampleMessage = { role: 'user' | 'assistant'; parts: InputPart[] }

/** `by`: who asks, for the log. */
export type SampleRequest = {
  by: string
  messages: readonly SampleMessage[]
  system?: string
  maxTokens: number
  signal?: AbortSignal
}

export type SampleAnswer = { text: string; model: string; stop: ModelStop }

export type ToolContext = {
  signal: AbortSignal
  session: string
  owner: string
  callId: string
  /** The call's id, and so the same for every attempt at it, also after a crash: for whatever must not happen twice. */
  idempotencyKey: string
  attempt: number
  progress(update: Progress): void
  options: Readonly<Record<string, string>>
  /** What the program was given as `context`, with what the request added to it. Never logged. */
  readonly app: AppContext
  /**
   * Asks the session's model something of the tool's own: without the history and without tools. It counts to the turn's
   * tokens and money, and is recorded.
   */
  sample(request: SampleRequest): Promise<SampleAnswer>
  /** Fetches within the configured egress rule: private networks are not reached, and size, time and rate are limited. */
  fetch(input: string | URL, init?: EgressInit): Promise<Response>
}

export type ToolOutput = { parts: ResultPart[]; structured?: Json; failed?: boolean }

/**
 * Contract: `run` is called only with an input that passed `input` and policy, at most `retries + 1` times per
 * call, and never again after a crash unless `readOnly` or `idempotent`. It heeds `signal`. What it throws becomes
 * the outcome `error`; an `InvalidInput` becomes `invalid`.
 */
export type Tool = ToolDeclaration & {
  side: 'server'
  /** Listed to clients, who then decide about it. A hidden one runs as its `trust` says. */
  exposed: boolean
  /** What the operator says of it when the client has said nothing: run, ask first, or never. */
  trust: 'trusted' | 'ask' | 'deny'
  timeoutMs: number
  retries: number
  outputLimit: number
  /** How its definition differs from the one that was accepted before. While it is set, every call asks first. */
  readonly changed?: string | undefined
  /** Why it cannot run now. It stays declared, so that requests do not change with every outage. */
  readonly unavailable?: string | undefined
  run(input: Json, context: ToolContext): Promise<ToolOutput> | ToolOutput
}

/** Thrown by a tool whose server refused the request itself: an error of the protocol, not a result of the tool. */
export class ProtocolFailure extends Error {
  override readonly name = 'ProtocolFailure'
  readonly code: number

  constructor(code: number, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** Thrown by a tool whose own, finer check refused the input; nothing has happened. */
export class InvalidInput extends Error {
  override readonly name = 'InvalidInput'
}
