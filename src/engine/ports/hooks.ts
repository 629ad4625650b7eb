// The types of hooks: an operator's functions around a turn, with their arguments and answers. A hook sees, refuses or
// replaces. calls/hooks.ts calls them.
import type { Outcome } from '../../language/calls.ts'
import type { TurnEnded } from '../../language/events.ts'
import type { Entry } from '../../language/history.ts'
import type { Json } from '../../lib/json/index.ts'
import type { ToolOutput } from './tool.ts'

// biome-ignore lint/suspicious/noConfusingVoidType: a hook that only looks returns nothing.
export type Answered<Change> = Change | undefined | void | Promise<Change | undefined | void>
export type Refusal = { refuse: string }

/** The session, its owner and its agent, as every hook is told them. */
export type HookSubject = { session: string; owner: string; agent: string }
export type HookStep = HookSubject & {
  readonly system?: string
  readonly history: readonly Entry[]
  /** The names of the tools that the model is offered. */
  readonly tools: readonly string[]
}
export type HookAnswer = HookSubject & { readonly text: string; readonly calls: readonly string[] }
export type HookCall = HookSubject & {
  readonly callId: string
  readonly tool: string
  readonly side: 'server' | 'client'
  readonly input: Json
}
export type HookResult = Omit<HookCall, 'input' | 'side'> & { readonly outcome: Readonly<Outcome> }
export type HookRepair = HookSubject & {
  readonly callId: string
  readonly tool: string
  /** The arguments as the model wrote them, and why they were refused. */
  readonly text: string
  readonly reason: string
}

export type Hooks = {
  /** `system` replaces the instructions; `tools` narrows what is offered. */
  beforeStep?(step: HookStep): Answered<Refusal | { system?: string; tools?: readonly string[] }>
  /** `text` replaces what the model said; its calls stay. With this hook an answer is shown when it is whole. */
  afterStep?(answer: HookAnswer): Answered<Refusal | { text: string }>
  /** Before policy looks at the call. `input` replaces the arguments. */
  beforeCall?(call: HookCall): Answered<Refusal | { input: Json }>
  /** `output` replaces the result. */
  afterCall?(result: HookResult): Answered<Refusal | { output: ToolOutput }>
  /** Arguments that do not fit: gives others, as the text that the model should have written. */
  repair?(call: HookRepair): Answered<string>
  turnEnded?(turn: HookSubject & Pick<TurnEnded, 'turn' | 'stop' | 'limit' | 'error'>): Answered<never>
  /** A hook that takes longer counts as a refusal. Default 10,000. */
  timeoutMs?: number
}
