// Together.
import type { Model } from '../../engine/ports.ts'
import { type CompatibleDeployment, deployCompatible } from './compatible.ts'
import type { ProviderOptions } from './deployment.ts'

const deployment: CompatibleDeployment = {
  name: 'together',
  baseUrl: 'https://api.together.xyz/v1',
  keyVariable: 'TOGETHER_API_KEY',
}

export const together = (options: ProviderOptions): Model => deployCompatible(deployment, options)
