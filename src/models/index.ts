// The entry to the models: providers for a configuration, and what a custom deployment is made from.
import { anthropicMessages } from './protocols/anthropic/index.ts'
import { geminiGenerate } from './protocols/gemini/index.ts'
import { geminiInteractions } from './protocols/interactions/index.ts'
import { openaiChat } from './protocols/openai-chat/index.ts'
import { openaiResponses } from './protocols/openai-responses/index.ts'

export type { Prices } from './common/cost.ts'
export { type FallbackOptions, fallback } from './fallback.ts'
export type { Frame, ModelFailure, ModelTarget, Prepared, Protocol } from './protocol.ts'
export { type ChatQuirk, chatQuirks } from './protocols/openai-chat/index.ts'
export * from './providers/index.ts'
export {
  createModel,
  type ModelOptions,
  type Provider,
  preparedFor,
  type RunLimits,
  runLimits,
} from './run.ts'
export { type Agents, createAgents } from './run-http.ts'

/** Model APIs by what they look like, wherever they are served. */
export const protocols = {
  anthropicMessages,
  geminiGenerate,
  geminiInteractions,
  openaiChat,
  openaiResponses,
} as const
