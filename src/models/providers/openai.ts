// OpenAI's own API, by Responses.
import type { Model } from '../../engine/ports/index.ts'
import { noReasoning, openaiResponses, type State } from '../protocols/openai-responses/index.ts'
import { type Deployment, deploy, modelFamily, type ProviderOptions } from './deployment.ts'

export const openaiReasoning: NonNullable<Deployment<State>['thinking']> = wanted => ({
  reasoning: typeof wanted === 'string' ? { effort: wanted, summary: 'auto' } : wanted,
})

export const openaiQuirks = (model: string): readonly string[] =>
  modelFamily(model) === 'gpt-plain' ? [noReasoning] : []

const deployment: Deployment<State> = {
  name: 'openai',
  protocol: openaiResponses,
  baseUrl: 'https://api.openai.com/v1',
  ownModels: true,
  keyVariable: 'OPENAI_API_KEY',
  quirks: openaiQuirks,
  thinking: openaiReasoning,
}

export const openai = (options: ProviderOptions): Model => deploy(deployment, options)
