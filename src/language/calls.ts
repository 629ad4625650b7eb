// A tool call that a model asked for, and the ways in which it can end.
import type { Json } from '../lib/json/index.ts'
import type { Native, ResultPart } from './content.ts'
import type { Report } from './report.ts'

/** `json`: arguments of a function. `text`: free text of a custom tool, with or without a grammar. */
export type CallForm = 'json' | 'text'

export type CallPart = {
  type: 'call'
  /** Our own id: unique in the session, the same on every wire. */
  id: string
  /** The tool's name as it was declared, never a vendor's spelling of it. */
  name: string
  form: CallForm
  /** The arguments exactly as the model wrote them, unless they are `sealed`. */
  text: string
  /** Set when `text` was redacted: the exact arguments, which only the installation itself can open. */
  sealed?: string
  /** Set when the stream ended inside the arguments. Such a call is never run. */
  cut?: true
  /** A program that runs at the model's vendor made the call: its id there. Absent: the model itself. */
  caller?: string
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

/** Where a result came from. Nothing inside the result can change it. */
export type Provenance =
  /** `protocolError`: not the tool failed but the protocol of its server, with this code. */
  | { source: 'tool'; tool: string; protocolError?: number }
  | { source: 'client' }
  | { source: 'runtime' }
  | { source: 'person'; by: string }

/** An output in the store beside the log, by the name of its blob, as it was after redaction. `binary`: it is no text. */
export type KeptOutput = { blob: string; bytes: number; sha256: string; binary?: true }

/** The name of a call's kept output. A call has one at most. */
export function keptName(callId: string): string {
  return `${callId}.output`
}

/** The tool with which a model reads what was left out of a long result. */
export const readOutputName = 'read_output'

/** What that tool reads: a kept output, or a result that was cut, whose blob has its parts. */
export type ReadableOutput = KeptOutput | { blob: string; parts: true }

/**
 * Who or what let a call run. `rule`: the rule that allowed it, or because of which a person was needed. `by`: that person, who
 * decided at once or, with `grantId`, by an earlier grant.
 */
export type Approval = { rule: string; by?: string; grantId?: string }

/**
 * What a tool read for its result. `uri`: where it was found in the end, without query, fragment and user, where secrets stand. `at`: when, in milliseconds.
 * `viewport`: of a picture of a page.
 */
export type OutcomeSource = { uri: string; at: number; viewport?: { width: number; height: number } }

/** Of one result. */
export const mostSources = 16

/** The name of the rule by which a call runs that nothing but the operator's trust in its tool allows. */
export const operatorTrust = 'operator-trust'

/** Where a result came from and how, beside `from`. */
export type OutcomeProvenance = {
  /** Absent, of a call that ran: nothing but the operator's trust in its tool let it run. */
  allowed?: Approval
  /** What the tool read, as far as it did so through the engine or says so. */
  sources?: OutcomeSource[]
  /** The bytes of the whole result, if `parts` show less of it. */
  wholeBytes?: number
}

/** Undefined: it is no address. */
export function sourceUri(address: string | URL): string | undefined {
  const url = URL.parse(String(address))
  return url ? `${url.protocol}//${url.host}${url.pathname}`.slice(0, 500) : undefined
}

export type Outcome = {
  kind: OutcomeKind
  /** What the model reads. Never empty: an empty result becomes a text that says so. */
  parts: ResultPart[]
  structured?: Json
  /** No model reads it. Absent: there is nothing to say beyond `from`. */
  provenance?: OutcomeProvenance
  /** The arguments that the tool ran with, where its schema changed them: defaults, transforms. No model reads it. */
  input?: Json
  /** Of a tool that threw: the class or the code of what it threw. */
  errorType?: string
  /** For the application and people. No model reads it. */
  details?: Json
  /** How large details were that are not kept, because they are over the limit. */
  detailsCut?: number
  /** What the tool reported of its work. No model reads it. */
  report?: Report
  from: Provenance
  /** Set when `parts` were cut to the tool's limit. The whole result is in the store under `blob`. */
  cut?: { bytes: number; blob: string }
  /** Set when the output was too large for the log too: `parts` hold a preview of it. */
  kept?: KeptOutput
  /** How much the tool produced, if it is more than `parts` show. */
  produced?: number
  redactions?: number
  /** Of a search: the tools that it found, which the model is offered from here on. */
  loads?: string[]
  ms?: number
}

/** `native`: what a client says of it to the model's vendor beside its content, such as where to cache. */
export type CallResult = { callId: string; name: string; outcome: Outcome; native?: Native }
