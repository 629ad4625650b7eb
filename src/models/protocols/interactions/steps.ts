// One step of an interaction while it is told: opened, changed by deltas, closed. It shows what is new of it as model
// deltas and keeps the rest as it came. What the steps mean for the answer as a whole is in interactions-decode.ts.

import type { ModelDelta } from '../../../engine/ports.ts'
import type { CallForm } from '../../../language/calls.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../lib/json.ts'
import { type TextUnwrapper, textUnwrapper } from '../../common/custom-tools.ts'
import { NO_ARGUMENTS } from '../../common/truncated.ts'
import { isTextTool, listOf, nameOf, objectOf, type Reading, stringOf } from '../google/decode.ts'

export type ThoughtStep = { kind: 'thought'; given: JsonObject; summary: JsonObject[]; signature: string }
export type OutputStep = { kind: 'output'; content: JsonObject[] }
export type HostedStep = { kind: 'hosted'; given: JsonObject }
export type CallStep = {
  kind: 'call'
  given: JsonObject
  index: number
  wire: string
  name: string
  form: CallForm
  /** What was shown: for a text tool the text inside the arguments. */
  text: string
  /** The arguments as they were streamed; empty when they came with the step. */
  raw: string
  unwrapper: TextUnwrapper | undefined
  closed: boolean
}
export type Step = ThoughtStep | OutputStep | HostedStep | CallStep

export function openStep(
  reading: Reading,
  given: JsonObject,
  callIndex: number,
): { step: Step; deltas: ModelDelta[] } {
  switch (given['type']) {
    case 'thought': {
      const summary = listOf(given['summary']).map(objectOf)
      const { summary: _, signature, ...rest } = given
      const text = contentText(summary)
      const step: Step = { kind: 'thought', given: rest, summary, signature: stringOf(signature) }
      return { step, deltas: text === '' ? [] : [{ type: 'thinking', text }] }
    }
    case 'model_output': {
      const step: OutputStep = { kind: 'output', content: [] }
      return { step, deltas: listOf(given['content']).flatMap(one => addContent(step, objectOf(one))) }
    }
    case 'function_call':
      return openCall(reading, given, callIndex)
    default:
      return { step: { kind: 'hosted', given }, deltas: [] }
  }
}

function openCall(reading: Reading, given: JsonObject, index: number): { step: Step; deltas: ModelDelta[] } {
  const wire = stringOf(given['name'])
  const form = isTextTool(reading, wire) ? 'text' : 'json'
  const name = nameOf(reading, wire)
  const unwrapper = form === 'text' ? textUnwrapper() : undefined
  const step: Step = {
    kind: 'call',
    given,
    index,
    wire,
    name,
    form,
    text: '',
    raw: '',
    unwrapper,
    closed: false,
  }
  return { step, deltas: [{ type: 'call', index, name, form }] }
}

// ---- deltas ------------------------------------------------------------------------------------------------

export function takeDelta(step: Step, delta: JsonObject): ModelDelta[] {
  switch (step.kind) {
    case 'thought':
      return takeThought(step, delta)
    case 'output':
      if (stringOf(delta['type']).startsWith('text_annotation')) return []
      return takeOutput(step, delta)
    case 'call':
      return typeof delta['arguments'] === 'string' ? takeArguments(step, delta['arguments']) : []
    case 'hosted':
      mergeInto(step.given, delta)
      return []
  }
}

function takeThought(step: ThoughtStep, delta: JsonObject): ModelDelta[] {
  if (typeof delta['signature'] === 'string') {
    step.signature = delta['signature']
    return []
  }
  const content = objectOf(delta['content'])
  const text = stringOf(content['text'])
  const last = step.summary.at(-1)
  // The signature is over one text: what is streamed in pieces is put together again.
  if (content['type'] === 'text' && last !== undefined && typeof last['text'] === 'string')
    last['text'] += text
  else if (Object.keys(content).length > 0) step.summary.push({ ...content })
  return text === '' ? [] : [{ type: 'thinking', text }]
}

function takeOutput(step: OutputStep, delta: JsonObject): ModelDelta[] {
  const last = step.content.at(-1)
  if (typeof delta['text'] !== 'string' || typeof last?.['text'] !== 'string') return addContent(step, delta)
  last['text'] += delta['text']
  return delta['text'] === '' ? [] : [{ type: 'text', text: delta['text'] }]
}

function addContent(step: OutputStep, content: JsonObject): ModelDelta[] {
  if (typeof content['text'] !== 'string') {
    if (Object.keys(content).length > 0) step.content.push(content)
    return []
  }
  const { text } = content
  if (text === '') return []
  step.content.push({ type: 'text', text })
  return [{ type: 'text', text }]
}

function takeArguments(step: CallStep, fragment: string): ModelDelta[] {
  step.raw += fragment
  return show(step, step.unwrapper === undefined ? fragment : step.unwrapper.push(fragment))
}

function show(step: CallStep, text: string): ModelDelta[] {
  step.text += text
  return text === '' ? [] : [{ type: 'arguments', index: step.index, text }]
}

export function closeStep(step: Step): ModelDelta[] {
  if (step.kind !== 'call' || step.closed) return []
  step.closed = true
  const given = step.raw === '' ? JSON.stringify(step.given['arguments'] ?? {}) : ''
  if (step.unwrapper === undefined) return show(step, step.raw === '' ? given || NO_ARGUMENTS : '')
  return show(step, step.unwrapper.push(given) + step.unwrapper.end().rest)
}

const ATOMS = new Set(['signature', 'id', 'call_id', 'name'])

/** Pieces of a step of the vendor's own: lists and texts grow, members of objects are laid over. */
function mergeInto(given: JsonObject, delta: JsonObject): void {
  for (const [key, value] of Object.entries(delta)) {
    if (key === 'type') continue
    given[key] = ATOMS.has(key) ? value : grown(given[key], value)
  }
}

function grown(old: Json | undefined, value: Json): Json {
  if (Array.isArray(old) && Array.isArray(value)) return [...old, ...value]
  if (isJsonObject(old) && isJsonObject(value)) return { ...old, ...value }
  if (typeof old !== 'string' || typeof value !== 'string') return value
  return value.startsWith(old) ? value : old + value
}

/** Several summaries read as paragraphs. */
export function contentText(contents: readonly JsonObject[]): string {
  const texts = contents.map(content => stringOf(content['text'])).filter(text => text !== '')
  return texts.join('\n')
}
