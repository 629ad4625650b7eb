// LM Studio on this machine.
import type { Model } from '../../engine/ports.ts'
import { compatibleQuirks } from '../protocols/openai-chat/index.ts'
import { type CompatibleDeployment, deployCompatible } from './compatible.ts'
import type { ProviderOptions } from './deployment.ts'

const deployment: CompatibleDeployment = {
  name: 'lm-studio',
  baseUrl: 'http://127.0.0.1:1234/v1',
  quirks: [...compatibleQuirks, 'no-parallel-switch'],
}

export const lmStudio = (options: ProviderOptions): Model => deployCompatible(deployment, options)
