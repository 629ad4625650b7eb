// The vendors' own APIs, and the same models on Azure and Google Cloud.
import type { Model } from '../../engine/ports/index.ts'
import { anthropicMessages } from '../protocols/anthropic/index.ts'
import { geminiGenerate } from '../protocols/gemini/index.ts'
import { geminiInteractions as interactionsProtocol } from '../protocols/interactions/index.ts'
import { openaiChat as chatProtocol } from '../protocols/openai-chat/index.ts'
import { noReasoning, openaiResponses } from '../protocols/openai-responses/index.ts'
import {
  deploy,
  modelFamily,
  type ProviderOptions,
  preset,
  requiredVariable,
  type Thinking,
} from './deployment.ts'

export const anthropic = preset({
  name: 'anthropic',
  protocol: anthropicMessages,
  baseUrl: 'https://api.anthropic.com',
  ownModels: true,
  keyVariable: 'ANTHROPIC_API_KEY',
  keyHeader: 'x-api-key',
  thinking: wanted =>
    typeof wanted === 'string'
      ? { thinking: { type: 'adaptive' }, output_config: { effort: wanted } }
      : { thinking: wanted },
})

// ---- OpenAI ------------------------------------------------------------------------------------------------

const openaiReasoning: Thinking = wanted => ({
  reasoning: typeof wanted === 'string' ? { effort: wanted, summary: 'auto' } : wanted,
})

const openaiQuirks = (model: string): readonly string[] =>
  modelFamily(model) === 'gpt-plain' ? [noReasoning] : []

const openaiOwn = { baseUrl: 'https://api.openai.com/v1', ownModels: true, keyVariable: 'OPENAI_API_KEY' }

/** By Responses. */
export const openai = preset({
  ...openaiOwn,
  name: 'openai',
  protocol: openaiResponses,
  quirks: openaiQuirks,
  thinking: openaiReasoning,
})

/** By Chat Completions. */
export const openaiChat = preset({
  ...openaiOwn,
  name: 'openai-chat',
  protocol: chatProtocol,
  thinking: wanted => (typeof wanted === 'string' ? { reasoning_effort: wanted } : wanted),
})

export type AzureOptions = ProviderOptions & {
  endpoint?: string
  apiVersion?: string
  api?: 'responses' | 'chat'
}

/** `model` is the name of the deployment. With `apiVersion` the dated Chat Completions address is used, else the versionless API. */
export function azureOpenai(options: AzureOptions): Model {
  const { apiVersion, model } = options
  const endpoint = (): string =>
    (options.endpoint ?? requiredVariable('azure-openai', 'AZURE_OPENAI_ENDPOINT', 'endpoint')).replace(
      /\/+$/,
      '',
    )
  const shared = {
    name: 'azure-openai',
    keyVariable: 'AZURE_OPENAI_API_KEY',
    keyHeader: 'api-key',
    ownFamily: true,
    ownOptions: ['endpoint', 'apiVersion', 'api'] satisfies (keyof AzureOptions)[],
  }
  if (apiVersion !== undefined) {
    const baseUrl = (): string => `${endpoint()}/openai/deployments/${encodeURIComponent(model)}`
    const path = (own: string): string => `${own}?api-version=${encodeURIComponent(apiVersion)}`
    return deploy({ ...shared, protocol: chatProtocol, baseUrl, path }, options)
  }
  const baseUrl = (): string => `${endpoint()}/openai/v1`
  if (options.api === 'chat') return deploy({ ...shared, protocol: chatProtocol, baseUrl }, options)
  const responses = { ...shared, protocol: openaiResponses, quirks: openaiQuirks, thinking: openaiReasoning }
  return deploy({ ...responses, baseUrl }, options)
}

// ---- Google ------------------------------------------------------------------------------------------------

const geminiThinking: Thinking = wanted => ({
  generationConfig: {
    thinkingConfig: typeof wanted === 'string' ? { thinkingLevel: wanted, includeThoughts: true } : wanted,
  },
})

const geminiOwn = {
  baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
  ownModels: true,
  keyVariable: 'GEMINI_API_KEY',
  keyHeader: 'x-goog-api-key',
}

/** By generateContent. */
export const gemini = preset({
  ...geminiOwn,
  name: 'gemini',
  protocol: geminiGenerate,
  thinking: geminiThinking,
})

/** By Interactions. */
export const geminiInteractions = preset({
  ...geminiOwn,
  name: 'gemini-interactions',
  protocol: interactionsProtocol,
  thinking: wanted => ({
    generation_config:
      typeof wanted === 'string' ? { thinking_level: wanted, thinking_summaries: 'auto' } : wanted,
  }),
})

export type VertexOptions = ProviderOptions & { project?: string; location?: string }

/** Gemini on Google Cloud. Access tokens last an hour: give a function that fetches one, or renew the variable. */
export function vertex(options: VertexOptions): Model {
  const baseUrl = (): string => {
    const project = options.project ?? requiredVariable('vertex', 'GOOGLE_CLOUD_PROJECT', 'project')
    const location = options.location ?? process.env['GOOGLE_CLOUD_LOCATION'] ?? 'global'
    const host = location === 'global' ? 'aiplatform.googleapis.com' : `${location}-aiplatform.googleapis.com`
    return `https://${host}/v1/projects/${project}/locations/${location}/publishers/google`
  }
  return deploy(
    {
      name: 'vertex',
      protocol: geminiGenerate,
      baseUrl,
      keyVariable: 'GOOGLE_ACCESS_TOKEN',
      ownFamily: true,
      ownModels: true,
      thinking: geminiThinking,
      ownOptions: ['project', 'location'] satisfies (keyof VertexOptions)[],
    },
    options,
  )
}
