// What the engine needs of a tool, as types: one of the ports of ports.ts.
import type { ResultPart } from '../language/content.ts'
import type { Report } from '../language/report.ts'
import type { ToolDeclaration } from '../language/tools.ts'
import type { EgressInit } from '../lib/egress.ts'
import type { Json } from '../lib/json.ts'

/**
 * What tools are given by the program: database handles, the user, the tenant. A program declares its own members:
 * `declare module 'turnwire' { interface AppContext { db: Database } }`.
 */
// biome-ignore lint/suspicious/noEmptyInterface: programs add their members to it.
export interface AppContext {}

/** `terminal`: the id of the terminal that shows the output, as `report` named it. */
export type Progress =
  | { message?: string; done?: number; total?: number }
  | { output: string; terminal?: string }

export type ToolContext = {
  signal: AbortSignal
  session: string
  owner: string
  callId: string
  /** The call's id, and so the same for every attempt at it, also after a crash: for whatever must not happen twice. */
  idempotencyKey: string
  attempt: number
  progress(update: Progress): void
  /** Shows people which files the call works on, what it changes and what it runs. The last report stays in the log. */
  report(report: Report): void
  options: Readonly<Record<string, string>>
  /** What the program was given as `context`, with what the request added to it. Never logged. */
  readonly app: AppContext
  /** Fetches within the configured egress rule: private networks are not reached, and size, time and rate are limited. */
  fetch(input: string | URL, init?: EgressInit): Promise<Response>
}

/** `report`: in place of what was reported while it ran, member by member. */
export type ToolOutput = { parts: ResultPart[]; structured?: Json; failed?: boolean; report?: Report }

/** What a preview may know of the call besides its input. */
export type PreviewContext = Pick<ToolContext, 'session' | 'owner' | 'callId' | 'signal'>

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
  /**
   * What the call would do, for whoever is asked about it. It changes nothing, and is called at any time with an input that
   * passed `input`. It has a few seconds; if it throws or is late, the question is asked without it.
   */
  preview?(input: Json, context: PreviewContext): Promise<Report> | Report
}

/** Thrown by a tool whose own, finer check refused the input; nothing has happened. */
export class InvalidInput extends Error {
  override readonly name = 'InvalidInput'
}
