// A model without weights: it chooses tools by the words of the message, fills their arguments, and reports what
// came of them. It is for demonstrations and tests that need no key. The same request gives the same answer; only
// "today" and its like are read from the clock. It knows nothing, and asks for nothing twice.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Model, ModelAnswer, ModelCall, ModelDelta, ModelRequest } from '../../engine/ports.ts'
import type { CallPart, CallResult } from '../../language/calls.ts'
import { textOf } from '../../language/content.ts'
import { TurnwireError } from '../../language/errors.ts'
import { callsOf, type Entry } from '../../language/history.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import { type Planned, planFor, sourceOfMessage } from './choose.ts'
import { repaired } from './repair.ts'
import { idleReply, reportOf, summaryReply, undoneReply } from './reply.ts'
import { bounded, usageOf } from './size.ts'

export type RehearsalOptions = {
  /** Default `rehearsal`. */
  id?: string
  /** Words per delta. Default 1. */
  chunk?: number
  /** Milliseconds between deltas, for people who watch. Default 0: none. */
  delayMs?: number
  /** Says in a line of thinking what it chose and why. Default false. */
  thinking?: boolean
  /** What "today" is. Default: the clock. */
  now?: () => number
}

/** Words beyond this are not weighed. */
const MAX_MESSAGE = 4_000

export function rehearsal(options: RehearsalOptions = {}): Model {
  const now = options.now ?? Date.now
  return {
    id: options.id ?? 'rehearsal',
    async respond(request, watch, signal) {
      if (signal.aborted) throw stopped(signal)
      const said: Part[] =
        request.purpose === 'summary'
          ? [{ type: 'text', text: summaryReply(request.history.slice(0, -1), request.tools) }]
          : answerTo(request, now(), options.thinking === true)
      const { parts, cut } = bounded(said, request.maxTokens)
      const calls = parts.some(part => part.type === 'call')
      await show(parts, options, watch, signal)
      return { parts, stop: cut ? 'length' : calls ? 'calls' : 'end', usage: usageOf(request, parts) }
    },
  }
}

type Part = ModelAnswer['parts'][number]

function answerTo(request: ModelRequest, now: number, thinks: boolean): Part[] {
  const turn = turnOf(request.history)
  const { tools, must } = usable(request)
  const calls = callsFor(turn, tools, must, request, now)
  if (calls.length > 0) {
    const thought = calls.map(call => `“${call.clause}” asks for ${call.tool.name}.`).join(' ')
    return [...(thinks ? [{ type: 'thinking' as const, text: thought }] : []), ...calls.map(callOf)]
  }
  const text = wordsFor(turn, tools, must, request, now)
  return [
    ...(thinks ? [{ type: 'thinking' as const, text: 'This is answered in words.' }] : []),
    { type: 'text', text },
  ]
}

function callOf({ tool, text }: Planned): ModelCall {
  return { type: 'call', name: tool.name, form: tool.input.form, text }
}

// ---- what may be called ----------------------------------------------------------------------------------

type Usable = { tools: readonly ToolDeclaration[]; must: boolean }

/** A choice that no offered tool can meet is refused, as every model API does. */
function usable({ choice, tools }: ModelRequest): Usable {
  if (choice === 'none') return { tools: [], must: false }
  if (choice === 'auto' || choice === 'required') return demanded(tools, choice === 'required', 'is required')
  if ('tool' in choice)
    return demanded(
      tools.filter(tool => tool.name === choice.tool),
      true,
      `must be ${choice.tool}`,
    )
  const allowed = tools.filter(tool => choice.allowed.includes(tool.name))
  return demanded(allowed, choice.mode === 'required', `must be one of ${choice.allowed.join(', ')}`)
}

function demanded(tools: readonly ToolDeclaration[], must: boolean, what: string): Usable {
  if (must && tools.length === 0)
    throw new TurnwireError(
      'model_rejected',
      `The tool choice cannot be met: a call ${what}, but no such tool is offered. Offer it, or choose "auto".`,
    )
  return { tools, must }
}

// ---- where the conversation stands -----------------------------------------------------------------------

type Turn = {
  message: string
  calls: CallPart[]
  /** The batches of results since the message. */
  batches: (readonly CallResult[])[]
  /** All results that no answer in words has reported yet, also from before the message. */
  unreported: CallResult[]
}

function turnOf(history: readonly Entry[]): Turn {
  const turn: Turn = { message: '', calls: [], batches: [], unreported: [] }
  for (const entry of history) {
    if (entry.role === 'user') {
      turn.message = textOf(entry.parts)
        .slice(0, MAX_MESSAGE)
        .replace(/\s{40,}/gu, ' ')
      turn.calls = []
      turn.batches = []
    } else if (entry.role === 'assistant') {
      const calls = callsOf(entry)
      turn.calls.push(...calls)
      if (calls.length === 0) turn.unreported = []
    } else if (entry.role === 'tool') {
      turn.batches.push(entry.results)
      turn.unreported.push(...entry.results)
    }
  }
  return turn
}

function callsFor(
  turn: Turn,
  tools: readonly ToolDeclaration[],
  must: boolean,
  request: ModelRequest,
  now: number,
): Planned[] {
  const most = request.parallel ? Infinity : 1
  if (turn.batches.length === 0) return planFor(turn.message, tools, now, must).slice(0, most)
  if (hadInvalid(turn)) return repairs(turn, tools, now).slice(0, most)
  // One call at a time: what the message asked for and was not called yet comes next.
  return request.parallel ? [] : undone(turn, tools, now).slice(0, most)
}

function hadInvalid(turn: Turn): boolean {
  return turn.batches.some(batch => batch.some(({ outcome }) => outcome.kind === 'invalid'))
}

/** Once per message: a second refusal is told in words. */
function repairs(turn: Turn, tools: readonly ToolDeclaration[], now: number): Planned[] {
  const last = turn.batches.at(-1) ?? []
  const earlier = turn.batches.slice(0, -1).flat()
  if (earlier.some(({ outcome }) => outcome.kind === 'invalid')) return []
  const planned: Planned[] = []
  for (const { callId, name, outcome } of last) {
    const call = turn.calls.find(one => one.id === callId)
    const tool = tools.find(one => one.name === name)
    if (outcome.kind !== 'invalid' || call === undefined || tool === undefined) continue
    const text = repaired(call, outcome, tool, sourceOfMessage(turn.message, tool, now))
    if (text !== undefined && text !== call.text) planned.push({ tool, clause: turn.message, text })
  }
  return planned
}

function undone(turn: Turn, tools: readonly ToolDeclaration[], now: number): Planned[] {
  const made = turn.calls.map(call => call.name)
  return planFor(turn.message, tools, now, false).filter(({ tool }) => {
    const at = made.indexOf(tool.name)
    if (at < 0) return true
    made.splice(at, 1)
    return false
  })
}

function wordsFor(
  turn: Turn,
  tools: readonly ToolDeclaration[],
  must: boolean,
  request: ModelRequest,
  now: number,
): string {
  const last = new Map(turn.unreported.map((result, at) => [result.name, at]))
  // A refusal that was put right is no news.
  const news = turn.unreported.filter(
    ({ name, outcome }, at) => outcome.kind !== 'invalid' || last.get(name) === at,
  )
  const sentences = news.map(result => reportOf(result, request.tools))
  if (turn.batches.length === 0)
    sentences.push(idleReply(turn.message, request.tools, request.choice !== 'none'))
  else if (hadInvalid(turn) && !request.parallel && !must) {
    const left = undone(turn, tools, now).map(({ tool }) => tool.name)
    if (left.length > 0) sentences.push(undoneReply(left))
  }
  return sentences.join(' ')
}

// ---- the stream ------------------------------------------------------------------------------------------

async function show(
  parts: readonly Part[],
  options: RehearsalOptions,
  watch: (delta: ModelDelta) => void,
  signal: AbortSignal,
): Promise<void> {
  let first = true
  for (const delta of deltasOf(parts, options.chunk ?? 1)) {
    if (options.delayMs && !first) await sleep(options.delayMs, undefined, { signal }).catch(() => undefined)
    if (signal.aborted) throw stopped(signal)
    watch(delta)
    first = false
  }
  // Whoever watches may abort from within.
  if (signal.aborted) throw stopped(signal)
}

function* deltasOf(parts: readonly Part[], chunk: number): Generator<ModelDelta> {
  let index = 0
  for (const part of parts) {
    if (part.type === 'call') {
      yield { type: 'call', index, name: part.name, form: part.form }
      for (const text of pieces(part.text, chunk)) yield { type: 'arguments', index, text }
      index++
    } else if (part.type !== 'hosted')
      for (const text of pieces(part.text, chunk)) yield { type: part.type, text }
  }
}

function pieces(text: string, chunk: number): string[] {
  const words = text.match(/\s*\S+(?:\s+$)?|\s+$/gu) ?? []
  const size = Math.max(1, Math.floor(chunk))
  const list: string[] = []
  for (let at = 0; at < words.length; at += size) list.push(words.slice(at, at + size).join(''))
  return list
}

function stopped(signal: AbortSignal): TurnwireError {
  return new TurnwireError('model_failed', 'The model was stopped before it had answered.', {
    cause: signal.reason,
  })
}
