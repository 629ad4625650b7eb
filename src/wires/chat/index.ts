// OpenAI Chat Completions.
import type { Wire } from '../wire.ts'
import { chatRoutes } from './serve.ts'
import { chatErrorBody } from './wordings.ts'

export const chat: Wire = {
  name: 'chat',
  paths: ['/v1/chat/completions'],
  about: 'OpenAI Chat Completions',
  docs: 'docs/protocols/chat.md',
  serve: host => ({ routes: chatRoutes(host) }),
  errorBody: chatErrorBody,
  payable: () => true,
}
