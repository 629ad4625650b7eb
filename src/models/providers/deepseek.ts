// DeepSeek's own API. It requires the thinking that led to a call to be sent back with the call.
import type { Model } from '../../engine/ports.ts'
import { compatibleQuirks } from '../protocols/openai-chat/index.ts'
import { type CompatibleDeployment, deployCompatible } from './compatible.ts'
import type { ProviderOptions } from './deployment.ts'

const deployment: CompatibleDeployment = {
  name: 'deepseek',
  baseUrl: 'https://api.deepseek.com/v1',
  keyVariable: 'DEEPSEEK_API_KEY',
  quirks: [...compatibleQuirks, 'no-parallel-switch', 'echo-reasoning', 'no-images'],
}

export const deepseek = (options: ProviderOptions): Model => deployCompatible(deployment, options)
