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

/** Stands in each sentence with which the runtime tells a model, in the place of a user, that such a call was checked. */
export const checkedWords = ', of which it was not known whether it took effect, has been checked: '

/** What became of a call that may have taken effect. */
export type Found = 'ran' | 'did-not-run'

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

/** The call by which a turn asks whether it may go on although a budget is spent. */
export const budgetToolName = 'raise_budget'

/** The tool with which a model asks what became of a call that may have taken effect. */
export const checkCallName = 'check_call'

const longestUndoName = 128

/** The tool that undoes calls of this tool. */
export function undoName(tool: string): string {
  return `undo_${tool}`.slice(0, longestUndoName)
}

/** The source that `read_output` reads: a kept output, or the blob with all parts of a result that was cut. */
export type ReadableOutput = KeptOutput | { blob: string; parts: true }

/**
 * The permission under which a call ran. `rule`: the rule that allowed the call or that required a person. `by`: the
 * person, who approved this call or, with `grantId`, gave an earlier grant that covers it. `votes`: those who approved it before
 * that person, where several had to.
 */
export type Approval = { rule: string; by?: string; grantId?: string; votes?: string[] }

/**
 * A page or file that a tool read for its result. `uri`: its final address, without user, query and fragment, which may
 * hold secrets. `at`: the time in milliseconds. `viewport`: the window size, if a picture of a page was taken.
 */
export type OutcomeSource = { uri: string; at: number; viewport?: { width: number; height: number } }

/** The most sources that one result lists. */
export const mostSources = 16

/** The rule name of a call that runs only because the operator trusts its tool. */
export const operatorTrust = 'operator-trust'

/** Where a result came from and how, beside `from`. */
export type OutcomeProvenance = {
  /** Absent on a call that ran: it ran only because the operator trusts its tool. */
  allowed?: Approval
  /** The sources that the tool read through the engine or reports itself. */
  sources?: OutcomeSource[]
  /** The bytes of the whole result, if `parts` show less of it. */
  wholeBytes?: number
}

/** Undefined: it is no address. */
export function sourceUri(address: string | URL): string | undefined {
  const url = URL.parse(String(address))
  return url ? `${url.protocol}//${url.host}${url.pathname}`.slice(0, 500) : undefined
}

/** `stack`: its innermost places. `cause`: the messages of its causes, the nearest first. */
export type Thrown = { message: string; stack?: string[]; cause?: string[] }

/** `Structured`: a type for the data, where a program knows it. */
export type Outcome<Structured = Json> = {
  kind: OutcomeKind
  /** The content that the model reads. Never empty: an empty result becomes a text that says so. */
  parts: ResultPart[]
  structured?: Structured
  /** No model reads it. Absent: there is nothing to say beyond `from`. */
  provenance?: OutcomeProvenance
  /** The arguments that the tool ran with, where its schema changed them: defaults, transforms. No model reads it. */
  input?: Json
  /** The class or the code of the error that the tool threw. */
  errorType?: string
  /** What the tool threw, redacted. For its author: no model reads it, and callers who are no operators are not shown it. */
  thrown?: Thrown
  /** For the application and people. No model reads it. */
  details?: Json
  /** The length of details that were dropped because they exceed the limit. */
  detailsCut?: number
  /** The tool's report of its work. No model reads it. */
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
  /** The tool did not return it: it was asked afterwards what had become of the call. */
  checked?: true
}

/** `native`: vendor fields that the client set on the result, such as a cache mark. */
export type CallResult = { callId: string; name: string; outcome: Outcome; native?: Native }
