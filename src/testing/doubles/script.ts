/**
 * What a double is told to say, as plain data: turns, calls, and the rule that keeps them coherent.
 * It knows no vendor and no socket; a vendor's file turns a scripted turn into that vendor's own shapes.
 * Kept apart so that a script can come from a YAML file, a test or a generator alike.
 */
import type { Fault } from './faults.ts'

/** What a real API refuses. `rule` is the row of the contract table, e.g. `A-01`. */
export type Rejection = {
  rule: string
  status: number
  type: string
  message: string
  param?: string | null
  code?: string | null
}

/** `strict` enforces every row; `lenient` lets pass what a live API was measured to let pass. */
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
  /** The arguments end in the middle: the vendor must not close them as if they were whole. */
  cut?: boolean
}

export type ScriptedThinking = { text: string; signature?: string; redacted?: string; encrypted?: string }

export type ScriptedTurn = {
  thinking?: string | ScriptedThinking
  text?: string
  calls?: ScriptedCall[]
  /** A `NeutralStop` or the vendor's own value; an impossible pair is mended, see `stopOf`. */
  stop?: string
  usage?: Record<string, number>
  refusal?: string
  /** Items in the vendor's own shape (server tools and the like), placed after the thinking, before the text. */
  native?: unknown[]
  /** Fields laid over the vendor's response, e.g. a container. */
  extra?: Record<string, unknown>
  /** A whole vendor response, or a list of frames (`{ event?, data }`), played as it is. */
  raw?: unknown
  /** Characters per streamed delta. */
  chunk?: number
  /** Milliseconds before the answer, and between the frames of a stream. */
  delayMs?: number
  fault?: Fault | Fault[]
  /** An assertion on the request; what it throws is answered as a harness error. */
  expect?: (body: unknown) => void
}

export type Script = ScriptedTurn[] | ((body: unknown, turn: number) => ScriptedTurn)

/** One server-sent event. A mark says where in the vendor's grammar a frame stands, so that faults can find it. */
export type Frame = {
  event?: string
  data: string
  mark?: 'call-start' | 'arguments' | 'terminal'
  /** Written as an SSE comment line instead of an event. */
  comment?: boolean
}

export type NeutralStop =
  | 'end'
  | 'tool'
  | 'length'
  | 'stop-sequence'
  | 'pause'
  | 'refusal'
  | 'filter'
  | 'context'

const NEUTRAL: readonly string[] = [
  'end',
  'tool',
  'length',
  'stop-sequence',
  'pause',
  'refusal',
  'filter',
  'context',
]
const MAY_HOLD_CALLS: readonly NeutralStop[] = ['tool', 'length', 'refusal', 'filter', 'context']

const isNeutral = (stop: string): stop is NeutralStop => NEUTRAL.includes(stop)

/**
 * Why a scripted turn stops. `own` maps the vendor's values to neutral ones.
 * A pair that no API serves (an ordinary end over a tool call, a tool stop without a call) becomes the
 * nearest possible one; only `raw` can serve nonsense.
 */
export function stopOf(turn: ScriptedTurn, own: Readonly<Record<string, NeutralStop>>): NeutralStop {
  const asked = turn.stop
  const hasCalls = (turn.calls?.length ?? 0) > 0
  let wanted: NeutralStop
  if (asked === undefined) wanted = turn.refusal !== undefined ? 'refusal' : hasCalls ? 'tool' : 'end'
  else if (isNeutral(asked)) wanted = asked
  else {
    const mapped = own[asked]
    if (mapped === undefined) {
      throw new Error(
        `unknown stop "${asked}": use one of ${[...NEUTRAL, ...Object.keys(own)].join(', ')}, or script the response as raw`,
      )
    }
    wanted = mapped
  }
  if (hasCalls && turn.calls?.some(call => call.cut)) return wanted === 'context' ? 'context' : 'length'
  if (hasCalls && !MAY_HOLD_CALLS.includes(wanted)) return 'tool'
  if (!hasCalls && wanted === 'tool') return 'end'
  return wanted
}

/** The arguments of a call as JSON text (or the input text of a custom call). */
export function argumentsText(call: ScriptedCall): string {
  if (call.text !== undefined) return call.text
  if (call.custom && typeof call.input === 'string') return call.input
  return JSON.stringify(call.input ?? {})
}

/** The arguments of a call as a value (`null` included); text that is no JSON gives `undefined`. */
export function argumentsValue(call: ScriptedCall): unknown {
  if (call.text === undefined) return call.input ?? {}
  try {
    return JSON.parse(call.text)
  } catch {
    return undefined
  }
}

export function thinkingOf(turn: ScriptedTurn): ScriptedThinking | undefined {
  return typeof turn.thinking === 'string' ? { text: turn.thinking } : turn.thinking
}

/** Splits text into deltas of `size` characters, never inside a surrogate pair. */
export function pieces(text: string, size = 24): string[] {
  const points = Array.from(text)
  const step = Math.max(1, Math.floor(size))
  const out: string[] = []
  for (let at = 0; at < points.length; at += step) out.push(points.slice(at, at + step).join(''))
  return out
}

/** `raw` as a list of frames, when it is one. */
export function rawFrames(raw: unknown): Frame[] | null {
  if (!Array.isArray(raw) || raw.length === 0) return null
  const frames: Frame[] = []
  for (const item of raw) {
    if (typeof item !== 'object' || item === null || !('data' in item)) return null
    const data = typeof item.data === 'string' ? item.data : JSON.stringify(item.data)
    frames.push('event' in item && typeof item.event === 'string' ? { event: item.event, data } : { data })
  }
  return frames
}

export type Player = {
  /** The turn for this request, or `null` when the script has run out. */
  next(body: unknown): { turn: ScriptedTurn; index: number } | null
  push(turns: ScriptedTurn[]): void
}

/** Hands out a script's turns one by one; pushed turns follow a list, and go before a function. */
export function createPlayer(script: Script = []): Player {
  const queue: ScriptedTurn[] = Array.isArray(script) ? [...script] : []
  let played = 0
  return {
    next(body) {
      const index = played
      const queued = queue.shift()
      const turn = queued ?? (typeof script === 'function' ? script(body, index) : undefined)
      if (turn === undefined) return null
      played += 1
      return { turn, index }
    },
    push(turns) {
      queue.push(...turns)
    },
  }
}
