// Builds the interaction of a scripted turn as a list of steps, and streams it as events, each with an id to resume from.
// It stores the interaction unless the request says `store: false`.
import { type DoubleRequest, rawAnswer, type VendorDouble } from '../double.ts'
import { needsSignatures } from '../google/common.ts'
import {
  type DoubleFrame,
  hasMalformedCall,
  jsonFrame,
  type NeutralStop,
  neutralStops,
  readThinking,
  type ScriptedTurn,
  type StreamEvent,
  scriptedStop,
  scriptedText,
  scriptedValue,
  splitText,
  streamEvent,
} from '../script.ts'
import { mintId, seal } from '../seal.ts'
import { asRecord, asRecords, asString, isRecord, type JsonRecord, tokensIn } from '../shape.ts'
import { type InteractionsMemory, summaryText } from './history.ts'

/** `filter` stands before `refusal`, so that a scripted `failed` is read as `filter`. */
const STATUSES: Readonly<Record<NeutralStop, string>> = {
  end: 'completed',
  tool: 'requires_action',
  length: 'incomplete',
  'stop-sequence': 'completed',
  pause: 'completed',
  filter: 'failed',
  refusal: 'failed',
  context: 'incomplete',
}

export const answerInteraction: VendorDouble<InteractionsMemory>['respond'] = (turn, request, memory) => {
  const raw = rawAnswer(turn, request)
  if (raw) return raw
  const body = asRecord(request.body)
  const steps = isRecord(turn.raw)
    ? asRecords(turn.raw['steps']).map(step => ({ step }))
    : buildSteps(turn, asString(body['model']), memory)
  const interaction = isRecord(turn.raw) ? turn.raw : buildInteraction(turn, steps, request, memory)
  const frames = streamInteraction(interaction, steps, turn.chunk)
  rememberInteraction(interaction, frames, body, memory)
  if (body['background'] !== true) return { body: interaction, frames }
  const { steps: _, output_text: __, usage: ___, ...rest } = interaction
  return { body: { ...rest, status: 'in_progress' }, frames }
}

function buildSteps(turn: ScriptedTurn, model: string, memory: InteractionsMemory): StreamedStep[] {
  const steps: StreamedStep[] = []
  const thinking = readThinking(turn)
  if (thinking || (turn.calls?.length && needsSignatures(model))) {
    const summary = thinking?.text ? { summary: [{ type: 'text', text: thinking.text }] } : {}
    const signature = thinking?.signature ?? seal('thought-step', summaryText(summary))
    steps.push({ step: { type: 'thought', signature, ...summary } })
  }
  for (const step of asRecords(turn.native)) steps.push({ step })
  if (turn.text) steps.push({ step: { type: 'model_output', content: [{ type: 'text', text: turn.text }] } })
  for (const call of turn.calls ?? []) {
    const id = call.id ?? mintId('call_', ++memory.counter)
    const value = scriptedValue(call)
    const step = { type: 'function_call', id, name: call.name, arguments: value === undefined ? {} : value }
    steps.push({ step, input: scriptedText(call), isCut: call.cut ?? false })
  }
  return steps
}

function buildInteraction(
  turn: ScriptedTurn,
  steps: StreamedStep[],
  { body, rawText }: DoubleRequest,
  memory: InteractionsMemory,
): JsonRecord {
  const { model, previous_interaction_id: previous } = asRecord(body)
  const isMalformed = hasMalformedCall(turn)
  const stop = scriptedStop(turn, neutralStops(STATUSES))
  const status = isMalformed ? 'failed' : STATUSES[stop]
  const kept = steps.filter(
    ({ step, isCut }) => !isCut && !(status === 'failed' && step['type'] === 'function_call'),
  )
  const code = isMalformed ? 'malformed_function_call' : stop === 'refusal' ? 'safety' : 'content_blocked'
  const message = turn.refusal ?? (isMalformed ? 'Malformed function call' : 'The response was blocked.')
  const input = tokensIn(rawText)
  const output = Math.max(1, tokensIn(JSON.stringify(kept)))
  const now = new Date().toISOString()
  return {
    id: mintId('v1_', ++memory.counter, now),
    object: 'interaction',
    model,
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

function rememberInteraction(
  interaction: JsonRecord,
  frames: DoubleFrame[],
  body: JsonRecord,
  memory: InteractionsMemory,
): void {
  const id = asString(interaction['id'])
  const steps = asRecords(interaction['steps'])
  const calls = steps.filter(step => step['type'] === 'function_call')
  const firstCall = calls[0] === undefined ? null : asString(calls[0]['id'])
  for (const step of steps) {
    if (step['type'] !== 'thought') continue
    memory.thoughts.set(asString(step['signature']), { summary: summaryText(step), firstCall })
  }
  if (body['store'] === false) {
    memory.unstored.add(id)
    return
  }
  memory.stored.set(id, {
    interaction,
    input: body['input'],
    isBackground: body['background'] === true,
    pending: new Map(calls.map(call => [asString(call['id']), asString(call['name'])])),
    frames: frames.map(({ event = '', data }, at) => ({ id: String(at + 1), event, data })),
  })
}

// ---- the stream ---------------------------------------------------------------------------------------------

/** `input`: the arguments text of a scripted call, which need not be JSON. */
type StreamedStep = { step: JsonRecord; input?: string; isCut?: boolean }

function streamInteraction(interaction: JsonRecord, steps: StreamedStep[], chunk?: number): DoubleFrame[] {
  const { steps: _, ...done } = interaction
  const { id, model, created, status } = interaction
  const opened = { id, object: 'interaction', model, created, status: 'in_progress' }
  const update = streamEvent('interaction.status_update', { interaction_id: id, status })
  const events = [
    streamEvent('interaction.created', { interaction: opened }),
    ...steps.flatMap((step, index) => stepEvents(step, index, chunk)),
    ...(status === 'requires_action' ? [update] : []),
    streamEvent('interaction.completed', { interaction: done }, 'terminal'),
  ]
  const frames = events.map(({ type, fields, mark }, at) =>
    jsonFrame(type, { event_type: type, event_id: String(at + 1), ...fields }, mark),
  )
  return [...frames, { event: 'done', data: '[DONE]' }]
}

function stepEvents(streamed: StreamedStep, index: number, chunk: number | undefined): StreamEvent[] {
  const { step, deltas = [], mark } = stepContent(streamed, chunk)
  const middle = deltas.map(delta =>
    streamEvent(
      'step.delta',
      { index, delta },
      delta['type'] === 'arguments_delta' ? 'arguments' : undefined,
    ),
  )
  // A step that the token limit cut off is never closed.
  const stop = streamed.isCut ? [] : [streamEvent('step.stop', { index })]
  return [streamEvent('step.start', { index, step }, mark), ...middle, ...stop]
}

type StepContent = { step: JsonRecord; deltas?: JsonRecord[]; mark?: DoubleFrame['mark'] }

/** The step as it starts, and the deltas that complete it. */
function stepContent({ step, input }: StreamedStep, chunk: number | undefined): StepContent {
  switch (step['type']) {
    case 'thought': {
      const texts = splitText(summaryText(step), chunk)
      const summary = texts.map(text => ({ type: 'thought_summary', content: { type: 'text', text } }))
      const signature = { type: 'thought_signature', signature: step['signature'] }
      return { step: { type: 'thought' }, deltas: [...summary, signature] }
    }
    case 'model_output': {
      const texts = asRecords(step['content']).flatMap(({ text }) => splitText(asString(text), chunk))
      const deltas = texts.map(text => ({ type: 'text', text }))
      return { step: { type: 'model_output', content: [] }, deltas }
    }
    case 'function_call': {
      const texts = splitText(input ?? JSON.stringify(step['arguments']), chunk)
      const deltas = texts.map(text => ({ type: 'arguments_delta', arguments: text }))
      return { step: { ...step, arguments: {} }, deltas, mark: 'call-start' }
    }
    default:
      return { step }
  }
}
