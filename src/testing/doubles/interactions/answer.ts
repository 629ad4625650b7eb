/**
 * A scripted turn as Gemini Interactions would answer it: an interaction of steps, and the same as a stream
 * of events with ids to resume from. It stores what it answered, unless it was asked not to.
 */
import type { DoubleRequest } from '../double.ts'
import { needsSignatures } from '../gemini/history.ts'
import {
  argumentsText,
  argumentsValue,
  type Frame,
  type NeutralStop,
  pieces,
  rawFrames,
  type ScriptedTurn,
  stopOf,
  thinkingOf,
} from '../script.ts'
import { mintId, seal } from '../seal.ts'
import { isRecord, type JsonRecord, recordsOf, stringOf } from '../shape.ts'
import { type InteractionsMemory, type StoredInteraction, summaryText } from './request.ts'

const FROM_OWN: Readonly<Record<string, NeutralStop>> = {
  completed: 'end',
  requires_action: 'tool',
  incomplete: 'length',
  failed: 'filter',
}
const TO_OWN: Readonly<Record<NeutralStop, string>> = {
  end: 'completed',
  tool: 'requires_action',
  length: 'incomplete',
  'stop-sequence': 'completed',
  pause: 'completed',
  refusal: 'failed',
  filter: 'failed',
  context: 'incomplete',
}

type Step = { step: JsonRecord; written?: string; isCut?: boolean }

export function respondInteraction(
  turn: ScriptedTurn,
  request: DoubleRequest,
  memory: InteractionsMemory,
): { body: unknown; frames: Frame[] } {
  const played = rawFrames(turn.raw)
  if (played) {
    if (!isRecord(request.body) || request.body['stream'] !== true) {
      throw new Error(
        'raw frames can only answer a request that streams: script the whole interaction instead',
      )
    }
    return { body: null, frames: played }
  }
  const body = isRecord(request.body) ? request.body : {}
  const steps = isRecord(turn.raw)
    ? recordsOf(turn.raw['steps']).map(step => ({ step }))
    : buildSteps(turn, body, memory)
  const interaction = isRecord(turn.raw) ? turn.raw : buildInteraction(turn, steps, request, body, memory)
  const frames = streamInteraction(interaction, steps, turn)
  remember(interaction, frames, body, memory)
  if (body['background'] === true) {
    const { steps: _, output_text: __, usage: ___, ...rest } = interaction
    return { body: { ...rest, status: 'in_progress' }, frames }
  }
  return { body: interaction, frames }
}

const isUnreadable = (turn: ScriptedTurn): boolean =>
  turn.calls?.some(call => !call.cut && argumentsValue(call) === undefined) ?? false

function buildSteps(turn: ScriptedTurn, body: JsonRecord, memory: InteractionsMemory): Step[] {
  const steps: Step[] = []
  const thinking = thinkingOf(turn)
  const hasCalls = (turn.calls?.length ?? 0) > 0
  if (thinking || (hasCalls && needsSignatures(stringOf(body['model'])))) {
    const summary = thinking?.text ? { summary: [{ type: 'text', text: thinking.text }] } : {}
    const thought: JsonRecord = { type: 'thought', ...summary }
    const signature = thinking?.signature ?? seal('thought-step', summaryText(thought))
    steps.push({ step: { type: 'thought', signature, ...summary } })
  }
  for (const step of recordsOf(turn.native)) steps.push({ step })
  if (turn.text) steps.push({ step: { type: 'model_output', content: [{ type: 'text', text: turn.text }] } })
  for (const call of turn.calls ?? []) {
    const id = call.id ?? mintId('call_', ++memory.counter)
    const value = argumentsValue(call)
    const step = { type: 'function_call', id, name: call.name, arguments: value === undefined ? {} : value }
    steps.push({ step, written: argumentsText(call), isCut: call.cut ?? false })
  }
  return steps
}

function buildInteraction(
  turn: ScriptedTurn,
  steps: Step[],
  request: DoubleRequest,
  body: JsonRecord,
  memory: InteractionsMemory,
): JsonRecord {
  const isMalformed = isUnreadable(turn)
  const stop = stopOf(turn, FROM_OWN)
  const status = isMalformed ? 'failed' : TO_OWN[stop]
  const kept = steps.filter(
    ({ step, isCut }) => !isCut && !(status === 'failed' && step['type'] === 'function_call'),
  )
  const code = isMalformed ? 'malformed_function_call' : stop === 'refusal' ? 'safety' : 'content_blocked'
  const message = turn.refusal ?? (isMalformed ? 'Malformed function call' : 'The response was blocked.')
  const input = Math.ceil(request.rawText.length / 4)
  const output = Math.max(1, Math.ceil(JSON.stringify(kept).length / 4))
  const now = new Date().toISOString()
  const previous = body['previous_interaction_id']
  return {
    id: mintId('v1_', ++memory.counter, now),
    object: 'interaction',
    model: body['model'],
    status,
    created: now,
    updated: now,
    ...(previous !== undefined && { previous_interaction_id: previous }),
    steps: kept.map(({ step }) => step),
    ...(turn.text && { output_text: turn.text }),
    ...(status === 'failed' && { errors: [{ code, message }] }),
    usage: {
      total_input_tokens: input,
      total_output_tokens: output,
      total_tokens: input + output,
      ...turn.usage,
    },
    ...turn.extra,
  }
}

function remember(
  interaction: JsonRecord,
  frames: Frame[],
  body: JsonRecord,
  memory: InteractionsMemory,
): void {
  const id = stringOf(interaction['id'])
  const steps = recordsOf(interaction['steps'])
  const calls = steps.filter(step => step['type'] === 'function_call')
  const firstCall = calls[0] === undefined ? null : stringOf(calls[0]['id'])
  for (const step of steps) {
    if (step['type'] !== 'thought') continue
    memory.thoughts.set(stringOf(step['signature']), { summary: summaryText(step), firstCall })
  }
  if (body['store'] === false) {
    memory.unstored.add(id)
    return
  }
  const stored: StoredInteraction = {
    interaction,
    input: body['input'],
    isBackground: body['background'] === true,
    pending: new Map(calls.map(call => [stringOf(call['id']), stringOf(call['name'])])),
    frames: frames.map((frame, at) => ({ id: String(at + 1), event: frame.event ?? '', data: frame.data })),
  }
  memory.stored.set(id, stored)
}

function streamInteraction(interaction: JsonRecord, steps: Step[], turn: ScriptedTurn): Frame[] {
  let count = 0
  const event = (event_type: string, fields: JsonRecord, mark?: Frame['mark']): Frame => ({
    event: event_type,
    data: JSON.stringify({ event_type, event_id: String(++count), ...fields }),
    ...(mark && { mark }),
  })
  const { id, model, created, status } = interaction
  const head = { id, object: 'interaction', model, created }
  const frames = [event('interaction.created', { interaction: { ...head, status: 'in_progress' } })]
  for (const [index, one] of steps.entries())
    for (const frame of streamStep(one, index, turn.chunk, event)) frames.push(frame)
  if (status === 'requires_action') {
    frames.push(event('interaction.status_update', { interaction_id: id, status }))
  }
  const { steps: _, ...done } = interaction
  frames.push(event('interaction.completed', { interaction: done }, 'terminal'))
  frames.push({ event: 'done', data: '[DONE]' })
  return frames
}

type MakeEvent = (event_type: string, fields: JsonRecord, mark?: Frame['mark']) => Frame

function streamStep(
  { step, written, isCut }: Step,
  index: number,
  chunk: number | undefined,
  event: MakeEvent,
): Frame[] {
  const delta = (fields: JsonRecord, mark?: Frame['mark']): Frame =>
    event('step.delta', { index, delta: fields }, mark)
  const frames: Frame[] = []
  if (step['type'] === 'thought') {
    frames.push(event('step.start', { index, step: { type: 'thought' } }))
    for (const text of pieces(summaryText(step), chunk)) {
      frames.push(delta({ type: 'thought_summary', content: { type: 'text', text } }))
    }
    frames.push(delta({ type: 'thought_signature', signature: step['signature'] }))
  } else if (step['type'] === 'model_output') {
    frames.push(event('step.start', { index, step: { type: 'model_output', content: [] } }))
    for (const part of recordsOf(step['content'])) {
      for (const text of pieces(stringOf(part['text']), chunk)) frames.push(delta({ type: 'text', text }))
    }
  } else if (step['type'] === 'function_call') {
    frames.push(event('step.start', { index, step: { ...step, arguments: {} } }, 'call-start'))
    for (const text of pieces(written ?? JSON.stringify(step['arguments']), chunk)) {
      frames.push(delta({ type: 'arguments_delta', arguments: text }, 'arguments'))
    }
  } else frames.push(event('step.start', { index, step }))
  // A step that the token limit cut off is never closed.
  if (!isCut) frames.push(event('step.stop', { index }))
  return frames
}
