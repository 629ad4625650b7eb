// Calls and results as text, and history as items of OpenAI's Responses API, which DeltaKit's own converter reads. Pure;
// streams are in encode-run.ts.
import type { CallPart, CallResult, Outcome } from '../../language/calls.ts'
import type { InputPart, ResultPart } from '../../language/content.ts'
import type { AnswerPart, Entry } from '../../language/history.ts'
import { isJsonObject, JsonError, type JsonObject, parseJson } from '../../lib/json/index.ts'

/** A call's arguments as JSON text. Free text, and anything that is not a JSON object, goes into a member `input`. */
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

/** A result as one string. The protocol has no flag for a failure, so words say it. */
export function encodeOutput({ kind, parts }: Outcome): string {
  const text = parts.map(encodePart).join('\n')
  return kind === 'error' && !text.startsWith('The tool failed') ? `The tool failed: ${text}` : text
}

function encodePart(part: InputPart | ResultPart): string {
  if (part.type === 'text') return part.text
  if (part.type === 'image') return `[image ${shortUrl(part.url)}]`
  return `[file ${part.name ?? 'without a name'}, ${part.mediaType}: ${shortUrl(part.url)}]`
}

/** Embedded bytes are shown by their type only. */
function shortUrl(url: string): string {
  return url.startsWith('data:') ? `${url.slice(0, Math.max(url.indexOf(','), 5))}…` : url
}

// ---- history ------------------------------------------------------------------------------------------------

/** The items of a conversation, entry by entry. Results that follow one another count as one entry. */
export class HistoryEncoder {
  readonly #forms = new Map<string, CallPart['form']>()
  #index = -1
  #lastRole: Entry['role'] | undefined

  take(entry: Entry): JsonObject[] {
    if (entry.role !== 'tool' || this.#lastRole !== 'tool') this.#index += 1
    this.#lastRole = entry.role
    return encodeEntry(entry, this.#index, this.#forms)
  }
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
