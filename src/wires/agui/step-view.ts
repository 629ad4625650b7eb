// One answer of the model as AG-UI shows it: messages, thoughts and calls that are opened, filled and closed. What was
// shown of an answer that is given again cannot be taken back by an event of its own: the caller sends a snapshot.

import type { CallPart } from '../../language/calls.ts'
import type { ThinkingPart } from '../../language/content.ts'
import type { Delta, ModelAnswered } from '../../language/events.ts'
import type { Json } from '../../lib/json.ts'
import type { AguiEvent, OutputMessage, ToolCall } from './schema.ts'

type Thought = { id: string; text: string; open: boolean }
type Call = { name: string; text: string }

export class StepView {
  readonly id: string
  readonly #emit: (event: AguiEvent) => void
  readonly #seal: (value: Json) => string
  readonly #thoughts: Thought[] = []
  readonly #calls = new Map<string, Call>()
  #text = ''
  #speaking = false

  constructor(id: string, emit: (event: AguiEvent) => void, seal: (value: Json) => string) {
    this.id = id
    this.#emit = emit
    this.#seal = seal
  }

  get shown(): boolean {
    return this.#text !== '' || this.#thoughts.length > 0 || this.#calls.size > 0
  }

  // ---- live -------------------------------------------------------------------------------------------------

  take(delta: Delta): void {
    if (delta.type === 'text') this.#say(delta.text)
    else if (delta.type === 'thinking') this.#think(delta.text)
    // Arguments are JSON here, so free text is told once it is whole.
    else if (delta.type === 'call.opened' && delta.form === 'json') this.#open(delta.callId, delta.name)
    else if (delta.type === 'arguments') this.#write(delta.callId, delta.text)
  }

  #say(text: string): void {
    if (text === '') return
    this.#rest()
    if (!this.#speaking) this.#emit({ type: 'TEXT_MESSAGE_START', messageId: this.id, role: 'assistant' })
    this.#speaking = true
    this.#text += text
    this.#emit({ type: 'TEXT_MESSAGE_CONTENT', messageId: this.id, delta: text })
  }

  #think(text: string): void {
    const last = this.#thoughts.at(-1)
    const thought = last?.open ? last : this.#newThought()
    if (text === '') return
    thought.text += text
    this.#emit({ type: 'REASONING_MESSAGE_CONTENT', messageId: thought.id, delta: text })
  }

  #newThought(): Thought {
    const messageId = `${this.id}-r${this.#thoughts.length + 1}`
    const thought = { id: messageId, text: '', open: true }
    this.#thoughts.push(thought)
    this.#emit({ type: 'REASONING_START', messageId })
    this.#emit({ type: 'REASONING_MESSAGE_START', messageId, role: 'reasoning' })
    return thought
  }

  /** Ends the thought that is open. */
  #rest(): void {
    const thought = this.#thoughts.at(-1)
    if (!thought?.open) return
    thought.open = false
    this.#emit({ type: 'REASONING_MESSAGE_END', messageId: thought.id })
    this.#emit({ type: 'REASONING_END', messageId: thought.id })
  }

  #open(callId: string, name: string): void {
    this.#rest()
    this.#calls.set(callId, { name, text: '' })
    this.#emit({ type: 'TOOL_CALL_START', toolCallId: callId, toolCallName: name, parentMessageId: this.id })
  }

  #write(callId: string, text: string): void {
    const call = this.#calls.get(callId)
    if (!call || text === '') return
    call.text += text
    this.#emit({ type: 'TOOL_CALL_ARGS', toolCallId: callId, delta: text })
  }

  // ---- the end ----------------------------------------------------------------------------------------------

  /** Closes what is open. Gives the calls that were shown and will never be made. */
  abandon(): string[] {
    this.#rest()
    if (this.#speaking) this.#emit({ type: 'TEXT_MESSAGE_END', messageId: this.id })
    for (const toolCallId of this.#calls.keys()) this.#emit({ type: 'TOOL_CALL_END', toolCallId })
    return [...this.#calls.keys()]
  }

  /** Whether what was shown is a beginning of the answer. */
  agrees({ parts }: ModelAnswered): boolean {
    const calls = new Map(parts.flatMap(part => (part.type === 'call' ? [[part.id, part] as const] : [])))
    return (
      textOfKind(parts, 'text').startsWith(this.#text) &&
      textOfKind(parts, 'thinking').startsWith(this.#thought) &&
      [...this.#calls].every(([id, { text }]) => calls.get(id)?.text.startsWith(text) ?? false)
    )
  }

  get #thought(): string {
    return this.#thoughts.map(({ text }) => text).join('')
  }

  /** Shows what is left of the answer, and gives the messages that it has become. */
  complete(answer: ModelAnswered): OutputMessage[] {
    const { parts } = answer
    const thoughts = parts.filter(part => part.type === 'thinking')
    this.#thinkWhole(textOfKind(parts, 'thinking').slice(this.#thought.length))
    for (const part of parts) if (part.type === 'hosted') this.#thinkWhole(`[${part.tool}] ${part.summary}`)
    const sealed = thoughts.some(({ native }) => native) ? this.#sealThoughts(thoughts) : undefined
    this.#say(textOfKind(parts, 'text').slice(this.#text.length))
    this.#rest()
    if (this.#speaking) this.#emit({ type: 'TEXT_MESSAGE_END', messageId: this.id })
    const calls = parts.filter(part => part.type === 'call')
    for (const call of calls) this.#completeCall(call)
    return this.#messages(calls, sealed)
  }

  #thinkWhole(text: string): void {
    if (text !== '') this.#think(text)
    this.#rest()
  }

  /** They come back with the history, where a session has to be begun anew. */
  #sealThoughts(thoughts: readonly ThinkingPart[]): string {
    if (this.#thoughts.length === 0) this.#newThought()
    this.#rest()
    const encryptedValue = this.#seal([...thoughts])
    const entityId = this.#thoughts[0]!.id
    this.#emit({ type: 'REASONING_ENCRYPTED_VALUE', subtype: 'message', entityId, encryptedValue })
    return encryptedValue
  }

  #completeCall(part: CallPart): void {
    const { id, name, native } = part
    const written = argumentsOf(part)
    if (!this.#calls.has(id)) this.#open(id, name)
    const shown = this.#calls.get(id)?.text ?? ''
    if (written.startsWith(shown)) this.#write(id, written.slice(shown.length))
    this.#emit({ type: 'TOOL_CALL_END', toolCallId: id })
    if (native)
      this.#emit({
        type: 'REASONING_ENCRYPTED_VALUE',
        subtype: 'tool-call',
        entityId: id,
        encryptedValue: this.#seal(native),
      })
  }

  #messages(calls: readonly CallPart[], sealed: string | undefined): OutputMessage[] {
    const messages: OutputMessage[] = this.#thoughts.map(({ id, text }, at) => ({
      id,
      role: 'reasoning',
      content: text,
      ...(at === 0 && sealed !== undefined && { encryptedValue: sealed }),
    }))
    if (this.#text === '' && calls.length === 0) return messages
    const toolCalls = calls.map((call): ToolCall => {
      return { id: call.id, type: 'function', function: { name: call.name, arguments: argumentsOf(call) } }
    })
    messages.push({
      id: this.id,
      role: 'assistant',
      ...(this.#text !== '' && { content: this.#text }),
      ...(toolCalls.length > 0 && { toolCalls }),
    })
    return messages
  }
}

function textOfKind(parts: ModelAnswered['parts'], kind: 'text' | 'thinking'): string {
  let text = ''
  for (const part of parts) if (part.type === kind) text += part.text
  return text
}

/** JSON text. Free text stands in a member `input`; what a model wrote as JSON is told as it wrote it. */
function argumentsOf({ form, text }: CallPart): string {
  if (form === 'text') return JSON.stringify({ input: text })
  return text.trim() === '' ? '{}' : text
}
