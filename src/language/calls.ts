// A call: what a model asked for, and the ways in which it can end.
import type { Json } from '../lib/json.ts'
import type { Native, ResultPart } from './content.ts'

/** `json`: arguments of a function. `text`: free text of a custom tool, bound by a grammar or by nothing. */
export type CallForm = 'json' | 'text'

export type CallPart = {
  type: 'call'
  /** Ours: unique in the session, the same on every wire. */
  id: string
  /** The tool's name as it was declared to us, never a vendor's spelling of it. */
  name: string
  form: CallForm
  /** The arguments exactly as the model wrote them. */
  text: string
  /** Set when the stream ended inside the arguments: such a call is never run. */
  cut?: true
  nativeId?: string
  native?: Native
}

export const outcomeKinds = [
  'ok',
  'error',
  'invalid',
  'denied',
  'timeout',
  'cancelled',
  'abandoned',
  'unknown',
] as const
export type OutcomeKind = (typeof outcomeKinds)[number]

/** Where a result came from. It is data from there, whatever it says of itself. */
export type Provenance =
  | { source: 'tool'; tool: string }
  | { source: 'client' }
  | { source: 'runtime' }
  | { source: 'person'; by: string }

export type Outcome = {
  kind: OutcomeKind
  /** What the model reads. Never empty: an empty result is said in words. */
  parts: ResultPart[]
  structured?: Json
  from: Provenance
  /** Set when `parts` were cut to the tool's limit: the whole is kept in the store under `blob`. */
  cut?: { bytes: number; blob: string }
  redactions?: number
  ms?: number
}

export type CallResult = { callId: string; name: string; outcome: Outcome }
