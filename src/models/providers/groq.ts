// Groq.
import type { Model } from '../../engine/ports.ts'
import { type CompatibleDeployment, deployCompatible } from './compatible.ts'
import type { ProviderOptions } from './deployment.ts'

const deployment: CompatibleDeployment = {
  name: 'groq',
  baseUrl: 'https://api.groq.com/openai/v1',
  keyVariable: 'GROQ_API_KEY',
}

export const groq = (options: ProviderOptions): Model => deployCompatible(deployment, options)
