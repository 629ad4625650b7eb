// Streams an interaction as events, each with an id to resume from: created, the steps one by one, completed.
import { type Frame, jsonFrame, type StreamEvent, splitText, streamEvent } from '../script.ts'
import { asRecords, asString, type JsonRecord } from '../shape.ts'
import { summaryText } from './history.ts'

/** `input`: the arguments text of a scripted call, which need not be JSON. */
export type StreamedStep = { step: JsonRecord; input?: string; isCut?: boolean }

export function streamInteraction(interaction: JsonRecord, steps: StreamedStep[], chunk?: number): Frame[] {
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
