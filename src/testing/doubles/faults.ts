// Everything that can go wrong between a model API and its caller, as data that a YAML file can name.
// Three pure layers: a fault changes the turn, then its frames, then the way its bytes are written.
// A vendor supplies its own error frame and unknown event through `FrameMaker`.
import { type DoubleFrame, type ScriptedCall, type ScriptedTurn, scriptedText } from './script.ts'
import { isRecord, wordList } from './shape.ts'

/** The double answers with this instead of the turn. */
type RefusalFault =
  | { kind: 'rate-limit'; retryAfter?: number; as?: 'seconds' | 'http-date' }
  | { kind: 'overloaded' }
  | { kind: 'server-error'; status?: number }
  /** 401: the key is not valid. */
  | { kind: 'unauthorized' }
  /** 403: the key may not do this. */
  | { kind: 'forbidden' }
  | { kind: 'hang' }
  | { kind: 'reset' }

/** Changes the content of the turn. */
type TurnFault =
  | { kind: 'max-tokens-in-arguments'; keep?: number }
  | { kind: 'call-ids'; ids: 'empty' | 'duplicate' | 'long' }
  | { kind: 'tool-not-offered'; name?: string }
  | { kind: 'arguments'; text: string }
  | { kind: 'same-function-twice' }

/** Changes the frames of a stream. */
type FrameFault =
  | { kind: 'error-event'; after?: number; type?: string; message?: string }
  | { kind: 'eof-before-end' }
  | { kind: 'eof-after-tool-name' }
  | { kind: 'unknown-events' }
  | { kind: 'ping-flood'; count?: number }

/** Changes how bytes are written. */
type ByteFault =
  | { kind: 'one-byte-writes' }
  | { kind: 'crlf' }
  | { kind: 'split-utf8' }
  | { kind: 'hang-after-headers' }
  | { kind: 'hang-after-frames'; frames: number }
  | { kind: 'reset-after-frames'; frames: number }

/** Handled by the vendor's own `answer.ts`, since it changes something that only this vendor has. */
type VendorFault =
  | { kind: 'usage-only-delta' }
  | { kind: 'index'; quirk: 'all-zero' | 'missing' | 'repeat-id' }
  | { kind: 'malformed-function-call' }
  | { kind: 'signature-on-empty-part' }
  | { kind: 'omit-ids' }
  | { kind: 'omit-arguments-done' }

export type Fault = RefusalFault | TurnFault | FrameFault | ByteFault | VendorFault
export type FaultKind = Fault['kind']

/** Every kind, so that a script read from a file can be checked. A test holds the list against the type. */
export const FAULT_KINDS = wordList(`
  rate-limit overloaded server-error unauthorized forbidden hang reset max-tokens-in-arguments call-ids tool-not-offered arguments
  same-function-twice error-event eof-before-end eof-after-tool-name unknown-events ping-flood one-byte-writes crlf
  split-utf8 hang-after-headers hang-after-frames reset-after-frames usage-only-delta index malformed-function-call
  signature-on-empty-part omit-ids omit-arguments-done`) as readonly FaultKind[]

/** The frames that a frame fault inserts, in the vendor's own shape. */
export type FrameMaker = {
  /** `sent` holds the frames before it, for a vendor that numbers its frames. */
  errorFrame(type: string | undefined, message: string | undefined, sent: readonly DoubleFrame[]): DoubleFrame
  /** `null` where the vendor's stream has no such event; an SSE comment is sent instead. */
  noiseFrame(kind: 'unknown' | 'ping'): DoubleFrame | null
}

/** Throws for a fault that no double knows: it would be played as no fault at all. `at` is the place of the turn. */
export function checkFaults(fault: unknown, at: string): void {
  for (const each of fault === undefined ? [] : [fault].flat()) {
    const kind: unknown = isRecord(each) ? each['kind'] : each
    if (FAULT_KINDS.some(known => known === kind)) continue
    const known = FAULT_KINDS.join(', ')
    throw new Error(`${at}.fault.kind ${JSON.stringify(kind)} is not known: use one of ${known}`)
  }
}

export function listFaults(turn: ScriptedTurn): Fault[] {
  return turn.fault === undefined ? [] : Array.isArray(turn.fault) ? turn.fault : [turn.fault]
}

type FaultWith<Kind extends FaultKind> = Extract<Fault, { kind: Kind }>

/** The turn's fault of one kind, if it has one. */
export function findFault<Kind extends FaultKind>(
  turn: ScriptedTurn,
  kind: Kind,
): FaultWith<Kind> | undefined {
  return listFaults(turn).find((fault): fault is FaultWith<Kind> => fault.kind === kind)
}

/** Layer one: the turn with its faults applied. */
export function reshapeTurn(turn: ScriptedTurn): ScriptedTurn {
  return listFaults(turn).reduce(reshape, turn)
}

function reshape(turn: ScriptedTurn, fault: Fault): ScriptedTurn {
  const calls = turn.calls ?? []
  switch (fault.kind) {
    case 'max-tokens-in-arguments':
      return { ...turn, stop: 'length', calls: cutLast(calls, fault.keep) }
    case 'call-ids':
      return { ...turn, calls: calls.map((call, at) => ({ ...call, id: oddId(fault.ids, at) })) }
    case 'tool-not-offered': {
      const name = fault.name ?? 'tool_nobody_offered'
      return { ...turn, calls: [{ ...calls[0], name }, ...calls.slice(1)] }
    }
    case 'arguments':
      return { ...turn, calls: calls.map(call => ({ ...call, text: fault.text })) }
    case 'same-function-twice':
      return { ...turn, calls: calls.flatMap(call => [call, withoutId(call)]) }
    default:
      return turn
  }
}

function cutLast(calls: ScriptedCall[], keep: number | undefined): ScriptedCall[] {
  const last = calls.at(-1)
  if (last === undefined) return calls
  const whole = scriptedText(last)
  const text = whole.slice(0, keep ?? Math.max(1, Math.floor(whole.length / 2)))
  return [...calls.slice(0, -1), { ...last, text, cut: true }]
}

function withoutId(call: ScriptedCall): ScriptedCall {
  const { id: _, ...rest } = call
  return rest
}

function oddId(ids: 'empty' | 'duplicate' | 'long', at: number): string {
  if (ids === 'empty') return ''
  if (ids === 'duplicate') return 'call_same'
  return `call_${at}_`.padEnd(500, 'x')
}

/** Layer two: the frames with the faults applied. The stream always ends after the last frame. */
export function bendFrames(frames: DoubleFrame[], faults: Fault[], maker: FrameMaker): DoubleFrame[] {
  return faults.reduce((list, fault) => bend(list, fault, maker), frames)
}

function bend(frames: DoubleFrame[], fault: Fault, maker: FrameMaker): DoubleFrame[] {
  switch (fault.kind) {
    case 'error-event': {
      const at = Math.min(fault.after ?? Math.max(1, Math.floor(frames.length / 2)), frames.length)
      const sent = frames.slice(0, at)
      return [...sent, maker.errorFrame(fault.type, fault.message, sent)]
    }
    case 'eof-before-end': {
      const end = frames.findIndex(frame => frame.mark === 'terminal')
      return frames.slice(0, end < 0 ? -1 : end)
    }
    case 'eof-after-tool-name': {
      const name = frames.findIndex(frame => frame.mark === 'call-start')
      return name < 0 ? frames : frames.slice(0, name + 1)
    }
    case 'unknown-events':
      return frames.flatMap(frame => [noise(maker, 'unknown'), frame])
    case 'ping-flood': {
      const ping = noise(maker, 'ping')
      const flood = Array.from({ length: fault.count ?? 20 }, () => ping)
      return [...frames.slice(0, 1), ...flood, ...frames.slice(1).flatMap(frame => [ping, frame])]
    }
    default:
      return frames
  }
}

const noise = (maker: FrameMaker, kind: 'unknown' | 'ping'): DoubleFrame =>
  maker.noiseFrame(kind) ?? { data: kind, comment: true }

/** Layer three: how the bytes of a stream are cut into writes, and where they stop. */
export type WritePlan = {
  newline: '\n' | '\r\n'
  /** Where each write of a frame's bytes ends. */
  cut: 'frame' | 'byte' | 'inside-utf8'
  /** Nothing is written after this many frames. */
  stopAfter: number
  finish: 'end' | 'hang' | 'reset'
}

export function planWrites(faults: Fault[]): WritePlan {
  const plan: WritePlan = { newline: '\n', cut: 'frame', stopAfter: Number.POSITIVE_INFINITY, finish: 'end' }
  for (const fault of faults) Object.assign(plan, writesWith(fault))
  return plan
}

function writesWith(fault: Fault): Partial<WritePlan> {
  if (fault.kind === 'crlf') return { newline: '\r\n' }
  if (fault.kind === 'one-byte-writes') return { cut: 'byte' }
  if (fault.kind === 'split-utf8') return { cut: 'inside-utf8' }
  if (fault.kind === 'hang-after-headers') return { stopAfter: 0, finish: 'hang' }
  if (fault.kind === 'hang-after-frames') return { stopAfter: fault.frames, finish: 'hang' }
  return fault.kind === 'reset-after-frames' ? { stopAfter: fault.frames, finish: 'reset' } : {}
}

/** The text of one frame. Each line of `data` becomes a `data:` line, as SSE requires. */
export function frameText(frame: DoubleFrame, newline: '\n' | '\r\n' = '\n'): string {
  if (frame.comment) return `: ${frame.data}${newline}${newline}`
  const lines = frame.data.split('\n').map(line => `data: ${line}`)
  if (frame.event !== undefined) lines.unshift(`event: ${frame.event}`)
  return lines.join(newline) + newline + newline
}

/** Cuts bytes into writes. `inside-utf8` cuts only within multi-byte characters. */
export function cutBytes(bytes: Uint8Array, cut: WritePlan['cut']): Uint8Array[] {
  if (cut === 'frame') return [bytes]
  if (cut === 'byte') return Array.from(bytes, (_, at) => bytes.subarray(at, at + 1))
  const out: Uint8Array[] = []
  let from = 0
  for (let at = 1; at < bytes.length; at += 1) {
    const isContinuation = ((bytes[at] ?? 0) & 0xc0) === 0x80
    if (!isContinuation) continue
    out.push(bytes.subarray(from, at))
    from = at
  }
  out.push(bytes.subarray(from))
  return out
}
