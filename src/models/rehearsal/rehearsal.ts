// A model without weights, for demonstrations and tests that need no key: it chooses tools by the words of the message,
// fills their arguments and reports their results. The same request gives the same answer. The rules are in
// docs/guide/models.md.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Model, ModelAnswer, ModelRequest } from '../../engine/ports/index.ts'
import type { CallPart, CallResult } from '../../language/calls.ts'
import { joinText } from '../../language/content.ts'
import { TurnwireError } from '../../language/errors.ts'
import { listCalls } from '../../language/history.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import { answerDeltas, throwIfAborted } from '../common/answer-deltas.ts'
import { correctedText } from './correct.ts'
import { type PlannedCall, planCalls } from './plan.ts'
import { conversationSummary, replyWithoutCall, reportResult } from './reply.ts'

export type RehearsalOptions = {
  /** Default `rehearsal`. */
  id?: string
  /** Milliseconds between deltas, for people who watch. Default 0. */
  delayMs?: number
  /** Adds a line of thinking that says which clause chose which tool. Default false. */
  thinking?: boolean
}

/** Longer messages are cut before they are read. */
const MAX_MESSAGE = 4_000

export function rehearsal(options: RehearsalOptions = {}): Model {
  const { id = 'rehearsal', delayMs = 0, thinking = false } = options
  return {
    id,
    async respond(request, watch, signal) {
      throwIfAborted(signal)
      const parts = answerTo(request, thinking)
      let isFirst = true
      for (const delta of answerDeltas(parts, text => text.split(/(?<=\s)(?=\S)/u))) {
        if (delayMs > 0 && !isFirst) await sleep(delayMs, undefined, { signal }).catch(() => undefined)
        throwIfAborted(signal)
        watch(delta)
        isFirst = false
      }
      throwIfAborted(signal) // `watch` may have aborted.
      const usage = { input: countTokens([request.history, request.tools]), output: countTokens(parts) }
      return { parts, stop: parts.some(part => part.type === 'call') ? 'calls' : 'end', usage }
    },
  }
}

/** Enough for budgets, limits and meters to move. */
function countTokens(value: unknown): number {
  return Math.ceil(JSON.stringify(value).length / 4)
}

function answerTo(request: ModelRequest, thinking: boolean): ModelAnswer['parts'] {
  const { history, tools, choice } = request
  if (request.purpose === 'summary')
    return [{ type: 'text', text: conversationSummary(history.slice(0, -1), tools) }]
  const turn = readTurn(request)
  const planned = nextCalls(request, turn)
  const thought = planned.map(({ tool, clause }) => `“${clause}” asks for ${tool.name}.`).join(' ')
  const parts: ModelAnswer['parts'] = planned.map(({ tool: { name, input }, text }) => {
    return { type: 'call', name, form: input.form, text }
  })
  const report = turn.batches
    .flat()
    .filter(isLastWord)
    .map(result => reportResult(result, tools))
  const reply =
    turn.batches.length > 0 ? report.join(' ') : replyWithoutCall(turn.message, tools, choice !== 'none')
  if (parts.length === 0) parts.push({ type: 'text', text: reply })
  if (thinking) parts.unshift({ type: 'thinking', text: thought || 'This is answered in words.' })
  return parts
}

const isRefused = ({ outcome }: CallResult): boolean => outcome.kind === 'invalid'

/** A refusal that a later call has put right is not reported. */
function isLastWord(result: CallResult, at: number, results: readonly CallResult[]): boolean {
  return !isRefused(result) || results.findLastIndex(({ name }) => name === result.name) === at
}

// ---- the turn --------------------------------------------------------------------------------------------

type RehearsalTurn = { message: string; calls: CallPart[]; batches: (readonly CallResult[])[] }

function readTurn({ history }: ModelRequest): RehearsalTurn {
  const at = history.findLastIndex(entry => entry.role === 'user')
  const user = history[at]
  const since = history.slice(at + 1)
  return {
    message: (user?.role === 'user' ? joinText(user.parts) : '')
      .slice(0, MAX_MESSAGE)
      .replace(/\s{40,}/gu, ' '),
    calls: since.flatMap(entry => (entry.role === 'assistant' ? listCalls(entry) : [])),
    batches: since.flatMap(entry => (entry.role === 'tool' ? [entry.results] : [])),
  }
}

/** First the calls of the message; then corrections of refused ones; then, one at a time, the calls left over. */
function nextCalls(request: ModelRequest, turn: RehearsalTurn): PlannedCall[] {
  const { tools, must } = allowedTools(request)
  const most = request.parallel ? Infinity : 1
  const corrected = corrections(turn, tools).slice(0, most)
  if (corrected.length > 0 || (turn.batches.length > 0 && request.parallel)) return corrected
  const made = turn.calls.map(call => call.name)
  const planned = planCalls(turn.message, tools, must && turn.batches.length === 0)
  const left = planned.filter(({ tool }) => {
    const at = made.indexOf(tool.name)
    if (at >= 0) made.splice(at, 1)
    return at < 0
  })
  return left.slice(0, most)
}

/** Once per message: a second refusal is reported. */
function corrections(turn: RehearsalTurn, tools: readonly ToolDeclaration[]): PlannedCall[] {
  const { message, calls, batches } = turn
  if (batches.slice(0, -1).flat().some(isRefused)) return []
  return (batches.at(-1) ?? []).filter(isRefused).flatMap(({ callId, name, outcome }) => {
    const tool = tools.find(each => each.name === name)
    const call = calls.find(({ id }) => id === callId)
    const text = call && correctedText(call.text, joinText(outcome.parts))
    return tool === undefined || text === undefined ? [] : [{ tool, clause: message, text }]
  })
}

/** A choice that no offered tool can meet is refused, as every model API does. */
function allowedTools({ choice, tools }: ModelRequest): { tools: readonly ToolDeclaration[]; must: boolean } {
  if (choice === 'none' || choice === 'auto') return { tools: choice === 'none' ? [] : tools, must: false }
  const named = choice === 'required' ? undefined : 'tool' in choice ? [choice.tool] : choice.allowed
  const must = choice === 'required' || 'tool' in choice || choice.mode === 'required'
  const allowed = tools.filter(({ name }) => named?.includes(name) ?? true)
  if (!must || allowed.length > 0) return { tools: allowed, must }
  const wanted = named === undefined ? 'is required' : `must be one of ${named.join(', ')}`
  throw new TurnwireError(
    'model_rejected',
    `The tool choice cannot be met: a call ${wanted}, but no such tool is offered. Offer it, or choose "auto".`,
  )
}
