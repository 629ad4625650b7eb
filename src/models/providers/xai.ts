// xAI's own API.
import type { Model } from '../../engine/ports.ts'
import { type CompatibleDeployment, deployCompatible } from './compatible.ts'
import type { ProviderOptions } from './deployment.ts'

const deployment: CompatibleDeployment = {
  name: 'xai',
  baseUrl: 'https://api.x.ai/v1',
  keyVariable: 'XAI_API_KEY',
}

export const xai = (options: ProviderOptions): Model => deployCompatible(deployment, options)
