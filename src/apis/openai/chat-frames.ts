// Parts of an answer of Chat Completions, as the wire and the double give them: a call, and the counts of tokens.
import type { JsonObject } from '../../lib/json/index.ts'

/** `text`: the arguments of a function, or the input of a custom tool. */
export function chatCall(id: string, name: string, form: 'json' | 'text', text: string): JsonObject {
  return form === 'text'
    ? { id, type: 'custom', custom: { name, input: text } }
    : { id, type: 'function', function: { name, arguments: text } }
}

export type ChatCounts = { input: number; output: number; cached: number; reasoning: number }

export function chatUsage({ input, output, cached, reasoning }: ChatCounts): JsonObject {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: reasoning,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  }
}
