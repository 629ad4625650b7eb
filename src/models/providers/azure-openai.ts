// OpenAI's models on Azure. `model` is the name of the deployment. With `apiVersion` the dated Chat Completions address
// is used, else the versionless API.
import type { Model } from '../../engine/ports/index.ts'
import { openaiChat } from '../protocols/openai-chat/index.ts'
import { openaiResponses } from '../protocols/openai-responses/index.ts'
import { deploy, type ProviderOptions, requiredVariable } from './deployment.ts'
import { openaiQuirks, openaiReasoning } from './openai.ts'

export type AzureOptions = ProviderOptions & {
  endpoint?: string
  apiVersion?: string
  api?: 'responses' | 'chat'
}

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
    return deploy({ ...shared, protocol: openaiChat, baseUrl, path }, options)
  }
  const baseUrl = (): string => `${endpoint()}/openai/v1`
  if (options.api === 'chat') return deploy({ ...shared, protocol: openaiChat, baseUrl }, options)
  const responses = { ...shared, protocol: openaiResponses, quirks: openaiQuirks, thinking: openaiReasoning }
  return deploy({ ...responses, baseUrl }, options)
}
