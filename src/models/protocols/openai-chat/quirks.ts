// How servers that speak Chat Completions differ in what they take. A deployment declares its deviations by these names;
// none is guessed.

import type { IdRule } from '../../common/wire-names.ts'
import type { ModelTarget } from '../../protocol.ts'

export const chatQuirks = {
  /** The limit of the answer is called `max_tokens`. */
  'max-tokens': 'max_tokens',
  /** The server does not know `parallel_tool_calls`; further calls are dropped when one at a time is asked for. */
  'no-parallel-switch': 'no parallel_tool_calls',
  'no-strict': 'no strict functions',
  /** Text tools are offered as functions of one string. */
  'no-custom-tools': 'no custom tools',
  /** A choice among some of the tools is made by offering only these. */
  'no-allowed-tools': 'no allowed_tools',
  /** A call cannot be demanded. */
  'no-required': 'no tool_choice required',
  /** Of a form for the answer, the server knows only `json_object`. */
  'no-response-schema': 'no json_schema',
  /** The server has no form for the answer. */
  'no-response-format': 'no response_format',
  'no-stream-options': 'no stream_options',
  /** The answer comes in one piece. */
  'no-stream': 'no stream',
  'no-images': 'no image parts',
  'no-files': 'no file parts',
  /** A system message may only be the first message. */
  'system-first': 'one leading system message',
  /** A user message may not follow a tool message. */
  'assistant-after-tool': 'assistant after tool',
  /** Call ids have nine letters and digits. */
  'short-ids': 'nine-character ids',
  /** `reasoning_content` is wanted back with the message that it led to. */
  'echo-reasoning': 'reasoning_content in history',
  /** `reasoning_details` are wanted back unchanged. */
  'echo-reasoning-details': 'reasoning_details in history',
} as const

export type ChatQuirk = keyof typeof chatQuirks

/** The quirks of most servers that are not OpenAI's. */
export const compatibleQuirks: readonly ChatQuirk[] = [
  'max-tokens',
  'no-strict',
  'no-custom-tools',
  'no-allowed-tools',
  'no-files',
]

export function hasQuirk({ quirks }: Pick<ModelTarget, 'quirks'>, quirk: ChatQuirk): boolean {
  return quirks.has(quirk)
}

const ID_RULE: IdRule = { pattern: /^[a-zA-Z0-9_-]+$/, maxLength: 40 }
const SHORT_ID_RULE: IdRule = { pattern: /^[a-zA-Z0-9]{9}$/, maxLength: 9 }

export function idRuleFor(target: ModelTarget): IdRule {
  return hasQuirk(target, 'short-ids') ? SHORT_ID_RULE : ID_RULE
}
