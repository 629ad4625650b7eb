// OpenRouter: many vendors' models behind one address. It requires their reasoning back as `reasoning_details`.
import type { Model } from '../../engine/ports.ts'
import { compatibleQuirks } from '../protocols/openai-chat/index.ts'
import { type CompatibleDeployment, deployCompatible } from './compatible.ts'
import type { ProviderOptions } from './deployment.ts'

const deployment: CompatibleDeployment = {
  name: 'openrouter',
  baseUrl: 'https://openrouter.ai/api/v1',
  keyVariable: 'OPENROUTER_API_KEY',
  quirks: [...compatibleQuirks, 'echo-reasoning-details'],
  thinking: wanted => ({ reasoning: typeof wanted === 'string' ? { effort: wanted } : wanted }),
}

export const openrouter = (options: ProviderOptions): Model => deployCompatible(deployment, options)
