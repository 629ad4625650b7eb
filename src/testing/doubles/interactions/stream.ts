/** Streams an interaction as events, each with an id to resume from: created, the steps one by one, completed. */
import { type Frame, jsonFrame, splitText } from '../script.ts'
import { asRecords, asString, type JsonRecord } from '../shape.ts'
import { summaryText } from './history.ts'

/** `input`: the arguments text of a scripted call, which need not be JSON. */
export type StreamedStep = { step: JsonRecord; input?: string; isCut?: boolean }

type EventFields = { type: string; fields: JsonRecord; mark?: Frame['mark'] }

export function streamInteraction(
  interaction: JsonRecord,
  steps: StreamedStep[],
  chunk: number | undefined,
): Frame[] {
  const { id, model, created, status } = interaction
  const { steps: _, ...done } = interaction
  const opened = { id, object: 'interaction', model, created, status: 'in_progress' }
  const isWaiting = status === 'requires_action'
  const events: EventFields[] = [
    { type: 'interaction.created', fields: { interaction: opened } },
    ...steps.flatMap((step, index) => stepEvents(step, index, chunk)),
    ...(isWaiting ? [{ type: 'interaction.status_update', fields: { interaction_id: id, status } }] : []),
    { type: 'interaction.completed', fields: { interaction: done }, mark: 'terminal' },
  ]
  const frames = events.map(({ type, fields, mark }, at) =>
    jsonFrame(type, { event_type: type, event_id: String(at + 1), ...fields }, mark),
  )
  return [...frames, { event: 'done', data: '[DONE]' }]
}

function stepEvents(streamed: StreamedStep, index: number, chunk: number | undefined): EventFields[] {
  const { step, deltas = [], mark } = stepContent(streamed, chunk)
  const start = { type: 'step.start', fields: { index, step }, ...(mark && { mark }) }
  const middle = deltas.map(delta => {
    const isArguments = delta['type'] === 'arguments_delta'
    return {
      type: 'step.delta',
      fields: { index, delta },
      ...(isArguments && { mark: 'arguments' as const }),
    }
  })
  // A step that the token limit cut off is never closed.
  return [start, ...middle, ...(streamed.isCut ? [] : [{ type: 'step.stop', fields: { index } }])]
}

type StepContent = { step: JsonRecord; deltas?: JsonRecord[]; mark?: Frame['mark'] }

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
      return {
        step: { type: 'model_output', content: [] },
        deltas: texts.map(text => ({ type: 'text', text })),
      }
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
