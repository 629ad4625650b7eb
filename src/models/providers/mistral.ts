// Mistral's own API: nine-character call ids, no unknown fields, no user message directly after a tool message.
import type { Model } from '../../engine/ports.ts'
import { compatibleQuirks } from '../protocols/openai-chat/index.ts'
import { type CompatibleDeployment, deployCompatible } from './compatible.ts'
import type { ProviderOptions } from './deployment.ts'

const deployment: CompatibleDeployment = {
  name: 'mistral',
  baseUrl: 'https://api.mistral.ai/v1',
  keyVariable: 'MISTRAL_API_KEY',
  quirks: [...compatibleQuirks, 'short-ids', 'assistant-after-tool', 'no-stream-options'],
}

export const mistral = (options: ProviderOptions): Model => deployCompatible(deployment, options)
