// The script that a double plays, as plain data: turns, calls, and the rule that keeps them coherent.
// It knows no vendor and no socket; each vendor's `answer.ts` turns a scripted turn into that vendor's shapes.
// It stands apart so that a script can come from a YAML file, a test or a generator.
import type { Fault } from './faults.ts'
import { isRecord, type JsonRecord } from './shape.ts'

/** A refusal of the real API. `rule` is its id in `src/doctor/reasons.ts`, e.g. `A-01`. */
export type Rejection = {
  rule: string
  status: number
  type: string
  message: string
  param?: string | null
  code?: string | null
}

/** The refusals that a check finds, in the order in which the API looks for them. */
export type Rejections = Iterable<Rejection>

/** One request under check: its body, and the vendor's memory. */
export type Check<Memory> = { body: JsonRecord; memory: Memory; mode: Mode }

/** `strict` enforces every rule; `lenient` accepts what a live API was measured to accept. */
export type Mode = 'strict' | 'lenient'

export type ScriptedCall = {
  id?: string
  name: string
  /** Parsed arguments. Ignored where `text` is given. */
  input?: unknown
  /** Raw arguments text, or the input of a custom tool, sent as it is. */
  text?: string
  custom?: boolean
  signature?: string
  /** The arguments are cut off in the middle. The vendor never closes them as if they were whole. */
  cut?: boolean
}

export type ScriptedThinking = { text: string; signature?: string; redacted?: string; encrypted?: string }

export type ScriptedTurn = {
  thinking?: string | ScriptedThinking
  text?: string
  calls?: ScriptedCall[]
  /** A `NeutralStop` or the vendor's own value. `scriptedStop` corrects a stop that the API would never send. */
  stop?: string
  usage?: Record<string, number>
  refusal?: string
  /** Items in the vendor's own shape (server tools and the like), placed after the thinking, before the text. */
  native?: unknown[]
  /** Fields that replace those of the vendor's response, e.g. a container. */
  extra?: Record<string, unknown>
  /** A whole vendor response, or a list of frames (`{ event?, data }`), played as it is. */
  raw?: unknown
  /** Characters per streamed delta. */
  chunk?: number
  /** Milliseconds before the answer, and between the frames of a stream. */
  delayMs?: number
  fault?: Fault | Fault[]
  /** An assertion on the request. If it throws, the double answers with a harness error. */
  expect?: (body: unknown) => void
}

export type Script = ScriptedTurn[] | ((body: unknown, turn: number) => ScriptedTurn)

/** One server-sent event. A mark names its place in the vendor's stream, so that faults can find it. */
export type DoubleFrame = {
  event?: string
  data: string
  mark?: 'call-start' | 'arguments' | 'terminal'
  /** Written as an SSE comment line instead of an event. */
  comment?: boolean
}

/** A vendor's answer to one turn: the whole body, and the same as a stream. */
export type DoubleAnswer = { body: unknown; frames: DoubleFrame[] }

/** An event of a stream, before it gets its number. */
export type StreamEvent = { type: string; fields: JsonRecord; mark?: DoubleFrame['mark'] }

export const streamEvent = (type: string, fields: JsonRecord, mark?: DoubleFrame['mark']): StreamEvent => ({
  type,
  fields,
  ...(mark && { mark }),
})

/** An event whose data is JSON. `undefined` leaves the event name or the mark out. */
export function jsonFrame(event: string | undefined, data: unknown, mark?: DoubleFrame['mark']): DoubleFrame {
  return { ...(event && { event }), data: JSON.stringify(data), ...(mark && { mark }) }
}

const NEUTRAL = ['end', 'tool', 'length', 'stop-sequence', 'pause', 'refusal', 'filter', 'context'] as const
export type NeutralStop = (typeof NEUTRAL)[number]

type OwnStops = Readonly<Record<string, NeutralStop>>

const MAY_HOLD_CALLS: readonly NeutralStop[] = ['tool', 'length', 'refusal', 'filter', 'context']

/** The vendor's values and their neutral stops. Of two neutral stops with one value, the first in the table counts. */
export function neutralStops(own: Readonly<Record<NeutralStop, string>>): Record<string, NeutralStop> {
  const neutral: Record<string, NeutralStop> = {}
  for (const [stop, value] of Object.entries(own)) neutral[value] ??= stop as NeutralStop // keys of the table
  return neutral
}

/**
 * Why a scripted turn stops. `own` maps the vendor's values to neutral ones.
 * A stop that no API sends (an ordinary end with a tool call, a tool stop without a call) becomes the nearest possible
 * one. Only `raw` can send the impossible.
 */
export function scriptedStop(turn: ScriptedTurn, own: OwnStops): NeutralStop {
  const hasCalls = (turn.calls?.length ?? 0) > 0
  const stop = requestedStop(turn, own, hasCalls)
  if (hasCalls && turn.calls?.some(call => call.cut)) return stop === 'context' ? 'context' : 'length'
  if (hasCalls && !MAY_HOLD_CALLS.includes(stop)) return 'tool'
  return !hasCalls && stop === 'tool' ? 'end' : stop
}

function requestedStop({ stop, refusal }: ScriptedTurn, own: OwnStops, hasCalls: boolean): NeutralStop {
  if (stop === undefined) return refusal !== undefined ? 'refusal' : hasCalls ? 'tool' : 'end'
  const known = NEUTRAL.find(neutral => neutral === stop) ?? own[stop]
  if (known !== undefined) return known
  const usable = [...NEUTRAL, ...Object.keys(own)].join(', ')
  throw new Error(`unknown stop "${stop}": use one of ${usable}, or script the response as raw`)
}

/** The arguments of a call as JSON text (or the input text of a custom call). */
export function scriptedText(call: ScriptedCall): string {
  if (call.text !== undefined) return call.text
  if (call.custom && typeof call.input === 'string') return call.input
  return JSON.stringify(call.input ?? {})
}

/** The arguments of a call as a value (`null` included). Text that is not JSON gives `undefined`. */
export function scriptedValue(call: ScriptedCall): unknown {
  if (call.text === undefined) return call.input ?? {}
  try {
    return JSON.parse(call.text)
  } catch {
    return undefined
  }
}

/** Whether the arguments of some whole call are not JSON. Google's APIs report that instead of the call. */
export const hasMalformedCall = (turn: ScriptedTurn): boolean =>
  turn.calls?.some(call => !call.cut && scriptedValue(call) === undefined) ?? false

export function readThinking(turn: ScriptedTurn): ScriptedThinking | undefined {
  return typeof turn.thinking === 'string' ? { text: turn.thinking } : turn.thinking
}

/** Splits text into deltas of `size` characters, never inside a surrogate pair. */
export function splitText(text: string, size = 24): string[] {
  const points = Array.from(text)
  const step = Math.max(1, Math.floor(size))
  const out: string[] = []
  for (let at = 0; at < points.length; at += step) out.push(points.slice(at, at + step).join(''))
  return out
}

/** `raw` as a list of frames, or `null` when it is something else. */
export function rawFrames(raw: unknown): DoubleFrame[] | null {
  if (!Array.isArray(raw) || raw.length === 0) return null
  const frames: DoubleFrame[] = []
  for (const item of raw) {
    if (!isRecord(item) || !('data' in item)) return null
    const data = typeof item['data'] === 'string' ? item['data'] : JSON.stringify(item['data'])
    frames.push(typeof item['event'] === 'string' ? { event: item['event'], data } : { data })
  }
  return frames
}

/** Hands out a script's turns one by one. Pushed turns come after a list and before a function. */
export function createPlayer(script: Script = []) {
  const queue: ScriptedTurn[] = Array.isArray(script) ? [...script] : []
  let played = 0
  return {
    /** The turn for this request, or `null` when the script has run out. */
    next(body: unknown): { turn: ScriptedTurn; index: number } | null {
      const index = played
      const turn = queue.shift() ?? (typeof script === 'function' ? script(body, index) : undefined)
      if (turn === undefined) return null
      played += 1
      return { turn, index }
    },
    push(turns: ScriptedTurn[]): void {
      queue.push(...turns)
    },
  }
}
