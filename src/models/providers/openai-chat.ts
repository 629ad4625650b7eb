// OpenAI's own API, by Chat Completions.
import type { Model } from '../../engine/ports/index.ts'
import { openaiChat as protocol, type State } from '../protocols/openai-chat/index.ts'
import { type Deployment, deploy, type ProviderOptions } from './deployment.ts'

const deployment: Deployment<State> = {
  name: 'openai-chat',
  protocol,
  baseUrl: 'https://api.openai.com/v1',
  ownModels: true,
  keyVariable: 'OPENAI_API_KEY',
  thinking: wanted => (typeof wanted === 'string' ? { reasoning_effort: wanted } : wanted),
}

export const openaiChat = (options: ProviderOptions): Model => deploy(deployment, options)
