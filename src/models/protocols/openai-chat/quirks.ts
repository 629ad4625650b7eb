// How servers that speak Chat Completions differ in what they take. A deployment declares its oddities by these
// names; none is guessed. Oddities in what servers say need no name: the decoder reads all of them.

import type { IdRule } from '../../common/wire-ids.ts'

export const chatQuirks = {
  /** The limit of the answer is called `max_tokens`. */
  'max-tokens': 'max_tokens',
  /** `parallel_tool_calls` is not known; a second call of an answer is left out when one is asked for. */
  'no-parallel-switch': 'no parallel_tool_calls',
  'no-strict': 'no strict functions',
  /** Text tools are offered as functions of one string. */
  'no-custom-tools': 'no custom tools',
  /** A choice among some of the tools is made by offering these alone. */
  'no-allowed-tools': 'no allowed_tools',
  /** A call cannot be demanded. */
  'no-required': 'no tool_choice required',
  'no-stream-options': 'no stream_options',
  /** The answer comes in one piece. */
  'no-stream': 'no stream',
  'no-images': 'no image parts',
  'no-files': 'no file parts',
  /** A system message may only stand at the beginning. */
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

/** What most servers that are not OpenAI's have in common. */
export const compatibleQuirks: readonly ChatQuirk[] = [
  'max-tokens',
  'no-strict',
  'no-custom-tools',
  'no-allowed-tools',
  'no-files',
]

const idRule: IdRule = { pattern: /^[a-zA-Z0-9_-]+$/, maxLength: 40 }
const shortIdRule: IdRule = { pattern: /^[a-zA-Z0-9]{9}$/, maxLength: 9 }

export function idRuleOf(quirks: ReadonlySet<string>): IdRule {
  return quirks.has('short-ids' satisfies ChatQuirk) ? shortIdRule : idRule
}
