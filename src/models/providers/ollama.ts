// Ollama on this machine. It has no required tool choice and no switch for parallel calls.
import type { Model } from '../../engine/ports.ts'
import { compatibleQuirks } from '../protocols/openai-chat/index.ts'
import { type CompatibleDeployment, deployCompatible } from './compatible.ts'
import type { ProviderOptions } from './deployment.ts'

const deployment: CompatibleDeployment = {
  name: 'ollama',
  baseUrl: 'http://127.0.0.1:11434/v1',
  quirks: [...compatibleQuirks, 'no-required', 'no-parallel-switch'],
}

export const ollama = (options: ProviderOptions): Model => deployCompatible(deployment, options)
