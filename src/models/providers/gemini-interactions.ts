// Google's Gemini API, by Interactions.
import type { Model } from '../../engine/ports/index.ts'
import { geminiInteractions as protocol, type State } from '../protocols/interactions/index.ts'
import { type Deployment, deploy, type ProviderOptions } from './deployment.ts'

const deployment: Deployment<State> = {
  name: 'gemini-interactions',
  protocol,
  baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
  ownModels: true,
  keyVariable: 'GEMINI_API_KEY',
  keyHeader: 'x-goog-api-key',
  thinking: wanted => ({
    generation_config:
      typeof wanted === 'string' ? { thinking_level: wanted, thinking_summaries: 'auto' } : wanted,
  }),
}

export const geminiInteractions = (options: ProviderOptions): Model => deploy(deployment, options)
