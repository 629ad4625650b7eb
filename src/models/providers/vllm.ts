// A vLLM server. It needs a key only if it was started with one.
import type { Model } from '../../engine/ports.ts'
import { type CompatibleDeployment, deployCompatible } from './compatible.ts'
import type { ProviderOptions } from './deployment.ts'

const deployment: CompatibleDeployment = {
  name: 'vllm',
  baseUrl: 'http://127.0.0.1:8000/v1',
  keyVariable: 'VLLM_API_KEY',
  keyOptional: true,
}

export const vllm = (options: ProviderOptions): Model => deployCompatible(deployment, options)
