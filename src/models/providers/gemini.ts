// Google's Gemini API, by generateContent.
import type { Model } from '../../engine/ports/index.ts'
import { geminiGenerate, type State } from '../protocols/gemini/index.ts'
import { type Deployment, deploy, type ProviderOptions } from './deployment.ts'

export const geminiThinking: NonNullable<Deployment<State>['thinking']> = wanted => ({
  generationConfig: {
    thinkingConfig: typeof wanted === 'string' ? { thinkingLevel: wanted, includeThoughts: true } : wanted,
  },
})

const deployment: Deployment<State> = {
  name: 'gemini',
  protocol: geminiGenerate,
  baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
  ownModels: true,
  keyVariable: 'GEMINI_API_KEY',
  keyHeader: 'x-goog-api-key',
  thinking: geminiThinking,
}

export const gemini = (options: ProviderOptions): Model => deploy(deployment, options)
