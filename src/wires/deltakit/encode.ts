// Ours, into DeltaKit's words: calls and results as text, and history as the items of OpenAI's Responses API, which
// DeltaKit's own converter reads. Pure; streams are in run-view.ts.
import type { SessionState } from '../../engine/index.ts'
import type { CallPart, CallResult, Outcome } from '../../language/calls.ts'
import type { InputPart, ResultPart } from '../../language/content.ts'
import type { AnswerPart, Entry } from '../../language/history.ts'
import { isJsonObject, JsonError, type JsonObject, parseJson } from '../../lib/json.ts'

/** A call's arguments as JSON text. Free text, and what is no JSON object, stand in a member `input`. */
export function encodeArgument(form: CallPart['form'], text: string): string {
  if (form === 'text') return JSON.stringify({ input: text })
  if (text.trim() === '') return '{}'
  try {
    if (isJsonObject(parseJson(text))) return text
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
  }
  return JSON.stringify({ input: text })
}

/** A result as one string. There is no flag for a failure: it is said in words. */
export function encodeOutput({ kind, parts }: Outcome): string {
  const text = parts.map(encodePart).join('\n')
  return kind === 'error' && !text.startsWith('The tool failed') ? `The tool failed: ${text}` : text
}

function encodePart(part: InputPart | ResultPart): string {
  if (part.type === 'text') return part.text
  if (part.type === 'image') return `[image ${shortUrl(part.url)}]`
  return `[file ${part.name ?? 'without a name'}, ${part.mediaType}: ${shortUrl(part.url)}]`
}

/** An address is told as it is; embedded bytes are told by their type. */
function shortUrl(url: string): string {
  return url.startsWith('data:') ? `${url.slice(0, Math.max(url.indexOf(','), 5))}…` : url
}

// ---- history ------------------------------------------------------------------------------------------------

/** The whole conversation, then what is known of the calls that are still open. */
export function encodeHistory(state: SessionState): JsonObject[] {
  const forms = new Map<string, CallPart['form']>()
  const items = state.entries.flatMap((entry, index) => encodeEntry(entry, index, forms))
  for (const { part, outcome } of state.batch)
    if (outcome) items.push(encodeResult({ callId: part.id, name: part.name, outcome }, forms))
  return items
}

function encodeEntry(entry: Entry, index: number, forms: Map<string, CallPart['form']>): JsonObject[] {
  switch (entry.role) {
    case 'system':
      return [message(`msg_${index}`, 'system', [{ type: 'input_text', text: entry.text }])]
    case 'user':
      return [message(`msg_${index}`, 'user', entry.parts.map(encodeInput))]
    case 'assistant':
      return entry.parts.map((part, at) => encodeAnswer(part, `msg_${index}_${at}`, forms))
    case 'tool':
      return entry.results.map(result => encodeResult(result, forms))
  }
}

function message(id: string, role: string, content: JsonObject[]): JsonObject {
  return { id, type: 'message', role, content }
}

function encodeInput(part: InputPart): JsonObject {
  if (part.type === 'text') return { type: 'input_text', text: part.text }
  if (part.type === 'image') return { type: 'input_image', image_url: part.url }
  return { type: 'input_file', file_url: part.url, ...(part.name !== undefined && { filename: part.name }) }
}

function encodeAnswer(part: AnswerPart, id: string, forms: Map<string, CallPart['form']>): JsonObject {
  switch (part.type) {
    case 'text':
      return message(id, 'assistant', [{ type: 'output_text', text: part.text, annotations: [] }])
    case 'thinking':
      return { id, type: 'reasoning', summary: [{ type: 'summary_text', text: part.text }] }
    case 'hosted': {
      const text = `[${part.tool}] ${part.summary}`
      return { id, type: 'reasoning', summary: [{ type: 'summary_text', text }] }
    }
    case 'call': {
      forms.set(part.id, part.form)
      const call = { id, call_id: part.id, name: part.name, status: 'completed' }
      return part.form === 'text'
        ? { ...call, type: 'custom_tool_call', input: part.text }
        : { ...call, type: 'function_call', arguments: encodeArgument('json', part.text) }
    }
  }
}

function encodeResult({ callId, outcome }: CallResult, forms: Map<string, CallPart['form']>): JsonObject {
  const type = forms.get(callId) === 'text' ? 'custom_tool_call_output' : 'function_call_output'
  return { type, call_id: callId, output: encodeOutput(outcome) }
}
