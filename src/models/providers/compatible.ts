// Servers that speak Chat Completions: any, by its address, and known ones, each an address, a key variable and quirks.
import type { Model } from '../../engine/ports/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import { compatibleQuirks, openaiChat, type State } from '../protocols/openai-chat/index.ts'
import { type Deployment, type ProviderOptions, preset } from './deployment.ts'

/** Its own fields come over those of a compatible server. */
const server = (deployment: Omit<Deployment<State>, 'protocol'>): ((options: ProviderOptions) => Model) =>
  preset({
    protocol: openaiChat,
    quirks: compatibleQuirks,
    ownFamily: true,
    thinking: wanted => (typeof wanted === 'string' ? { reasoning_effort: wanted } : wanted),
    ...deployment,
  })

export type CompatibleOptions = Omit<ProviderOptions, 'baseUrl'> & {
  /** Up to and including the version, such as `https://host/v1`. */
  url: string
  /** The server's name in errors and records. */
  name?: string
  /** The environment variable of its key. */
  keyVariable?: string
}

export function compatible({ url, name = 'compatible', keyVariable, ...options }: CompatibleOptions): Model {
  if (typeof url !== 'string' || !/^https?:\/\//.test(url) || 'baseUrl' in options)
    throw new TurnwireError(
      'config_invalid',
      `The provider "${name}" needs the address of the server, up to and including its version: { url: "http://127.0.0.1:8000/v1", model: "…" }.`,
    )
  return server({ name, baseUrl: url, ...(keyVariable !== undefined && { keyVariable }) })(options)
}

// ---- known servers -----------------------------------------------------------------------------------------

/** It requires the thinking that led to a call to be sent back with the call. */
export const deepseek = server({
  name: 'deepseek',
  baseUrl: 'https://api.deepseek.com/v1',
  keyVariable: 'DEEPSEEK_API_KEY',
  quirks: [...compatibleQuirks, 'no-parallel-switch', 'echo-reasoning', 'no-images'],
})

export const groq = server({
  name: 'groq',
  baseUrl: 'https://api.groq.com/openai/v1',
  keyVariable: 'GROQ_API_KEY',
})

/** On this machine. */
export const lmStudio = server({
  name: 'lm-studio',
  baseUrl: 'http://127.0.0.1:1234/v1',
  quirks: [...compatibleQuirks, 'no-parallel-switch'],
})

/** Nine-character call ids, no unknown fields, no user message directly after a tool message. */
export const mistral = server({
  name: 'mistral',
  baseUrl: 'https://api.mistral.ai/v1',
  keyVariable: 'MISTRAL_API_KEY',
  quirks: [...compatibleQuirks, 'short-ids', 'assistant-after-tool', 'no-stream-options'],
})

/** On this machine. It has no required tool choice and no switch for parallel calls. */
export const ollama = server({
  name: 'ollama',
  baseUrl: 'http://127.0.0.1:11434/v1',
  quirks: [...compatibleQuirks, 'no-required', 'no-parallel-switch'],
})

/** Many vendors' models behind one address. It requires their reasoning back as `reasoning_details`. */
export const openrouter = server({
  name: 'openrouter',
  baseUrl: 'https://openrouter.ai/api/v1',
  keyVariable: 'OPENROUTER_API_KEY',
  quirks: [...compatibleQuirks, 'echo-reasoning-details'],
  thinking: wanted => ({ reasoning: typeof wanted === 'string' ? { effort: wanted } : wanted }),
})

export const together = server({
  name: 'together',
  baseUrl: 'https://api.together.xyz/v1',
  keyVariable: 'TOGETHER_API_KEY',
})

/** It needs a key only if it was started with one. */
export const vllm = server({
  name: 'vllm',
  baseUrl: 'http://127.0.0.1:8000/v1',
  keyVariable: 'VLLM_API_KEY',
  keyOptional: true,
})

export const xai = server({ name: 'xai', baseUrl: 'https://api.x.ai/v1', keyVariable: 'XAI_API_KEY' })
