// An answer as Chat Completions gives it: one `chat.completion`, or a stream of chunks. Thinking is in
// `reasoning_content`, which the vendor itself does not have and its clients pass along.
import { chatCall, chatUsage } from '../../apis/openai/chat-frames.ts'
import type { OnceAnswer, OnceItem, PlainError } from '../../engine/index.ts'
import type { CallForm } from '../../language/calls.ts'
import { joinText } from '../../language/content.ts'
import type { Delta, Usage } from '../../language/events.ts'
import { dataFrame } from '../http/index.ts'
import type { FrameEncoder } from '../http/stream.ts'
import { chatErrorBody } from './wordings.ts'

export type CompletionHead = { id: string; created: number; model: string }

const chatFinishReasons: Readonly<Record<OnceAnswer['stop'], string>> = {
  end: 'stop',
  calls: 'tool_calls',
  length: 'length',
  filter: 'content_filter',
  refusal: 'stop',
}

const refusedSilently = 'The model refused to answer.'

export function encodeCompletion(head: CompletionHead, { parts, stop, usage }: OnceAnswer): object {
  const text = joinText(parts)
  const thinking = parts.map(part => (part.type === 'thinking' ? part.text : '')).join('')
  const calls = parts.filter(part => part.type === 'call')
  const isRefusal = stop === 'refusal'
  const message = {
    role: 'assistant',
    content: isRefusal || text === '' ? null : text,
    refusal: isRefusal ? text || refusedSilently : null,
    annotations: [],
    ...(thinking !== '' && { reasoning_content: thinking }),
    ...(calls.length > 0 && {
      tool_calls: calls.map(({ id, name, form, text: input }) => chatCall(id, name, form, input)),
    }),
  }
  return {
    ...head,
    object: 'chat.completion',
    choices: [{ index: 0, message, logprobs: null, finish_reason: chatFinishReasons[stop] }],
    usage: encodeChatUsage(usage),
    service_tier: 'default',
    system_fingerprint: null,
  }
}

/** Zeros if the model gave no count: readers of this API expect the field. */
function encodeChatUsage(usage: Usage | undefined): object {
  const { input = 0, output = 0, cacheRead: cached = 0, thinking: reasoning = 0 } = usage ?? {}
  return chatUsage({ input, output, cached, reasoning })
}

// ---- the stream ---------------------------------------------------------------------------------------------

export class ChatStreamEncoder implements FrameEncoder<OnceItem> {
  readonly #head: CompletionHead
  readonly #includeUsage: boolean
  readonly #calls = new Map<string, { index: number; form: CallForm }>()

  constructor(head: CompletionHead, includeUsage: boolean) {
    this.#head = head
    this.#includeUsage = includeUsage
  }

  begin(): string {
    return this.#delta({ role: 'assistant', content: '', refusal: null })
  }

  take(item: OnceItem): string {
    return item.type === 'answer' ? this.#finish(item.answer) : this.#takeDelta(item.delta)
  }

  fail(error: PlainError): string {
    return dataFrame(chatErrorBody(error))
  }

  #takeDelta(delta: Delta): string {
    switch (delta.type) {
      case 'text':
        return this.#delta({ content: delta.text })
      case 'thinking':
        return this.#delta({ reasoning_content: delta.text })
      case 'call.opened': {
        const { callId: id, name, form } = delta
        const index = this.#calls.size
        this.#calls.set(id, { index, form })
        return this.#delta({ tool_calls: [{ index, ...chatCall(id, name, form, '') }] })
      }
      case 'arguments': {
        const call = this.#calls.get(delta.callId)
        if (!call) return ''
        const { index, form } = call
        const more =
          form === 'text' ? { custom: { input: delta.text } } : { function: { arguments: delta.text } }
        return this.#delta({ tool_calls: [{ index, ...more }] })
      }
      default:
        return ''
    }
  }

  #finish({ parts, stop, usage }: OnceAnswer): string {
    // The text was sent as content before it was known to be a refusal.
    const refusal = stop === 'refusal' ? this.#delta({ refusal: joinText(parts) || refusedSilently }) : ''
    const choice = { index: 0, delta: {}, logprobs: null, finish_reason: chatFinishReasons[stop] }
    const counted = this.#includeUsage ? this.#chunk([], encodeChatUsage(usage)) : ''
    return refusal + this.#chunk([choice]) + counted + dataFrame('[DONE]')
  }

  #delta(delta: object): string {
    return this.#chunk([{ index: 0, delta, logprobs: null, finish_reason: null }])
  }

  #chunk(choices: object[], usage: object | null = null): string {
    return dataFrame({
      ...this.#head,
      object: 'chat.completion.chunk',
      service_tier: 'default',
      system_fingerprint: null,
      choices,
      ...(this.#includeUsage && { usage }),
    })
  }
}
