// An answer as Chat Completions tells it: one `chat.completion`, or the same as a stream of chunks. Thinking stands in
// `reasoning_content`, which the vendor itself does not have and its clients carry along.

import type { CallPart } from '../../language/calls.ts'
import { textOf } from '../../language/content.ts'
import type { Usage } from '../../language/events.ts'
import { dataFrame } from '../http/index.ts'
import type { Answer, Piece, StreamEncoder } from '../stateless/index.ts'
import { errorBody } from './errors.ts'

export type Head = { id: string; created: number; model: string }

const finishReasons: Readonly<Record<Answer['stop'], string>> = {
  end: 'stop',
  calls: 'tool_calls',
  length: 'length',
  filter: 'content_filter',
  refusal: 'stop',
  pause: 'stop',
  cancelled: 'stop',
}

const refusedSilently = 'The model refused to answer.'

export function encodeCompletion(head: Head, answer: Answer): object {
  const text = textOf(answer.parts)
  const thinking = answer.parts.map(part => (part.type === 'thinking' ? part.text : '')).join('')
  const calls = answer.parts.filter((part): part is CallPart => part.type === 'call')
  const refused = answer.stop === 'refusal'
  const message = {
    role: 'assistant',
    content: refused || text === '' ? null : text,
    refusal: refused ? text || refusedSilently : null,
    annotations: [],
    ...(thinking !== '' && { reasoning_content: thinking }),
    ...(calls.length > 0 && { tool_calls: calls.map(encodeCall) }),
  }
  return {
    ...head,
    object: 'chat.completion',
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishReasons[answer.stop] }],
    usage: encodeUsage(answer.usage),
    service_tier: 'default',
    system_fingerprint: null,
  }
}

function encodeCall({ id, name, form, text }: CallPart): unknown {
  return form === 'text'
    ? { id, type: 'custom', custom: { name, input: text } }
    : { id, type: 'function', function: { name, arguments: text } }
}

/** Zeros when the model did not say: readers of this API take the field for granted. */
function encodeUsage(usage: Usage | undefined): unknown {
  const { input = 0, output = 0, cacheRead = 0, thinking = 0 } = usage ?? {}
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cacheRead, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: thinking,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  }
}

// ---- the stream ---------------------------------------------------------------------------------------------

export class ChunkEncoder implements StreamEncoder {
  readonly #head: Head
  readonly #includeUsage: boolean
  readonly #forms: string[] = []

  constructor(head: Head, includeUsage: boolean) {
    this.#head = head
    this.#includeUsage = includeUsage
  }

  begin(): string {
    return this.#delta({ role: 'assistant', content: '', refusal: null })
  }

  take(piece: Piece): string {
    switch (piece.type) {
      case 'text':
        return this.#delta({ content: piece.text })
      case 'thinking':
        return this.#delta({ reasoning_content: piece.text })
      case 'block':
        return ''
      case 'call': {
        const { index, id, name, form } = piece
        this.#forms[index] = form
        const call = form === 'text' ? { custom: { name, input: '' } } : { function: { name, arguments: '' } }
        return this.#delta({
          tool_calls: [{ index, id, type: form === 'text' ? 'custom' : 'function', ...call }],
        })
      }
      case 'arguments': {
        const { index, text } = piece
        const call =
          this.#forms[index] === 'text' ? { custom: { input: text } } : { function: { arguments: text } }
        return this.#delta({ tool_calls: [{ index, ...call }] })
      }
    }
  }

  end(answer: Answer, rest: readonly Piece[]): string {
    let frames = rest.map(piece => this.take(piece)).join('')
    // What was said is on its way as content already; that it is a refusal is known only now.
    if (answer.stop === 'refusal') frames += this.#delta({ refusal: textOf(answer.parts) || refusedSilently })
    frames += this.#chunk([
      { index: 0, delta: {}, logprobs: null, finish_reason: finishReasons[answer.stop] },
    ])
    if (this.#includeUsage) frames += this.#chunk([], encodeUsage(answer.usage))
    return frames + dataFrame('[DONE]')
  }

  fail(failure: Parameters<StreamEncoder['fail']>[0]): string {
    return dataFrame(errorBody(undefined, failure))
  }

  #delta(delta: unknown): string {
    return this.#chunk([{ index: 0, delta, logprobs: null, finish_reason: null }])
  }

  #chunk(choices: unknown[], usage: unknown = null): string {
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
