// Anthropic's own API.
import type { Model } from '../../engine/ports/index.ts'
import { anthropicMessages } from '../protocols/anthropic/index.ts'
import { type Deployment, deploy, type ProviderOptions } from './deployment.ts'

const deployment = {
  name: 'anthropic',
  protocol: anthropicMessages,
  baseUrl: 'https://api.anthropic.com',
  ownModels: true,
  keyVariable: 'ANTHROPIC_API_KEY',
  keyHeader: 'x-api-key',
  thinking: wanted =>
    typeof wanted === 'string'
      ? { thinking: { type: 'adaptive' }, output_config: { effort: wanted } }
      : { thinking: wanted },
} satisfies Deployment<ReturnType<typeof anthropicMessages.initial>>

export const anthropic = (options: ProviderOptions): Model => deploy(deployment, options)
