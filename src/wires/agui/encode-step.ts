// One answer of the model as AG-UI shows it: messages, reasoning and calls that are opened, filled and closed. The events of
// an answer that starts over cannot be taken back one by one: the run sends a snapshot.
import type { CallPart } from '../../language/calls.ts'
import type { ThinkingPart } from '../../language/content.ts'
import type { Delta } from '../../language/events.ts'
import type { ShownAnswer } from '../../language/show.ts'
import type { Json } from '../../lib/json/index.ts'
import type { AguiEvent, AguiToolCall, OutputMessage } from './schema.ts'

type ShownThought = { id: string; text: string; open: boolean }

export class StepEncoder {
  readonly id: string
  readonly #out: AguiEvent[]
  readonly #seal: (value: Json) => string
  readonly #thoughts: ShownThought[] = []
  /** The arguments that were shown of each call. */
  readonly #calls = new Map<string, string>()
  #text = ''
  #speaking = false

  /** Events are added to `out`. */
  constructor(id: string, out: AguiEvent[], seal: (value: Json) => string) {
    this.id = id
    this.#out = out
    this.#seal = seal
  }

  get isEmpty(): boolean {
    return this.#text === '' && this.#thoughts.length === 0 && this.#calls.size === 0
  }

  take(delta: Delta): void {
    if (delta.type === 'text') this.say(delta.text)
    else if (delta.type === 'thinking') this.#think(delta.text)
    // Arguments are JSON here, so free text is shown once it is whole.
    else if (delta.type === 'call.opened' && delta.form === 'json') this.#openCall(delta.callId, delta.name)
    else if (delta.type === 'arguments') this.#writeArguments(delta.callId, delta.text)
  }

  say(text: string): void {
    if (text === '') return
    this.#closeThought()
    if (!this.#speaking) this.#out.push({ type: 'TEXT_MESSAGE_START', messageId: this.id, role: 'assistant' })
    this.#speaking = true
    this.#text += text
    this.#out.push({ type: 'TEXT_MESSAGE_CONTENT', messageId: this.id, delta: text })
  }

  #think(text: string): void {
    const last = this.#thoughts.at(-1)
    const thought = last?.open ? last : this.#openThought()
    if (text === '') return
    thought.text += text
    this.#out.push({ type: 'REASONING_MESSAGE_CONTENT', messageId: thought.id, delta: text })
  }

  #openThought(): ShownThought {
    const messageId = `${this.id}-r${this.#thoughts.length + 1}`
    const thought = { id: messageId, text: '', open: true }
    this.#thoughts.push(thought)
    this.#out.push({ type: 'REASONING_START', messageId })
    this.#out.push({ type: 'REASONING_MESSAGE_START', messageId, role: 'reasoning' })
    return thought
  }

  #closeThought(): void {
    const thought = this.#thoughts.at(-1)
    if (!thought?.open) return
    thought.open = false
    this.#out.push({ type: 'REASONING_MESSAGE_END', messageId: thought.id })
    this.#out.push({ type: 'REASONING_END', messageId: thought.id })
  }

  #openCall(toolCallId: string, toolCallName: string): void {
    this.#closeThought()
    this.#calls.set(toolCallId, '')
    this.#out.push({ type: 'TOOL_CALL_START', toolCallId, toolCallName, parentMessageId: this.id })
  }

  #writeArguments(toolCallId: string, text: string): void {
    const before = this.#calls.get(toolCallId)
    if (before === undefined || text === '') return
    this.#calls.set(toolCallId, before + text)
    this.#out.push({ type: 'TOOL_CALL_ARGS', toolCallId, delta: text })
  }

  // ---- the end ----------------------------------------------------------------------------------------------

  /** Whether calls were shown that the answer does not make. */
  hasCallsBeyond({ parts }: ShownAnswer): boolean {
    return [...this.#calls.keys()].some(id => !parts.some(part => part.type === 'call' && part.id === id))
  }

  /** Closes everything that is open. Gives the calls that were shown and will never be made. */
  abandon(): string[] {
    this.#closeThought()
    if (this.#speaking) this.#out.push({ type: 'TEXT_MESSAGE_END', messageId: this.id })
    for (const toolCallId of this.#calls.keys()) this.#out.push({ type: 'TOOL_CALL_END', toolCallId })
    return [...this.#calls.keys()]
  }

  /** Closes the answer, whose deltas have been shown, and gives the messages that it has become. */
  complete({ parts }: ShownAnswer): OutputMessage[] {
    for (const part of parts)
      if (part.type === 'hosted') {
        this.#closeThought()
        this.#think(`[${part.tool}] ${part.summary}`)
      }
    this.#closeThought()
    const thoughts = parts.filter(part => part.type === 'thinking')
    const sealed = thoughts.some(({ native }) => native) ? this.#sealThoughts(thoughts) : undefined
    if (this.#speaking) this.#out.push({ type: 'TEXT_MESSAGE_END', messageId: this.id })
    const calls = parts.filter(part => part.type === 'call')
    for (const call of calls) this.#completeCall(call)
    return this.#messages(calls, sealed)
  }

  /** Sealed thoughts come back with the history if the session has to be begun anew. */
  #sealThoughts(thoughts: readonly ThinkingPart[]): string {
    const first = this.#thoughts[0] ?? this.#openThought()
    this.#closeThought()
    const encryptedValue = this.#seal([...thoughts])
    this.#out.push({
      type: 'REASONING_ENCRYPTED_VALUE',
      subtype: 'message',
      entityId: first.id,
      encryptedValue,
    })
    return encryptedValue
  }

  #completeCall(part: CallPart): void {
    const { id, name, native } = part
    if (!this.#calls.has(id)) this.#openCall(id, name)
    if (this.#calls.get(id)?.trim() === '') this.#writeArguments(id, argumentsText(part))
    this.#out.push({ type: 'TOOL_CALL_END', toolCallId: id })
    if (native)
      this.#out.push({
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
    const toolCalls = calls.map((call): AguiToolCall => {
      return { id: call.id, type: 'function', function: { name: call.name, arguments: argumentsText(call) } }
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

export type LoneCall = Pick<CallPart, 'id' | 'name' | 'form' | 'text'>

/** A call that belongs to no message that the client has: a call made it, or the client does not have the message. */
export function loneCall(call: LoneCall): AguiEvent[] {
  const toolCallId = call.id
  return [
    {
      type: 'TOOL_CALL_START',
      toolCallId,
      toolCallName: call.name,
      parentMessageId: `${toolCallId}-message`,
    },
    { type: 'TOOL_CALL_ARGS', toolCallId, delta: argumentsText(call) },
    { type: 'TOOL_CALL_END', toolCallId },
  ]
}

/** The message that a client makes of it. */
export function loneCallMessage(call: LoneCall): OutputMessage {
  const { id, name } = call
  return {
    id: `${id}-message`,
    role: 'assistant',
    toolCalls: [{ id, type: 'function', function: { name, arguments: argumentsText(call) } }],
  }
}

/** JSON text. Free text goes into a member `input`. */
function argumentsText({ form, text }: Pick<CallPart, 'form' | 'text'>): string {
  if (form === 'text') return JSON.stringify({ input: text })
  return text.trim() === '' ? '{}' : text
}
