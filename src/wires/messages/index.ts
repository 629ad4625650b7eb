// Anthropic Messages.
import type { Wire } from '../wire.ts'
import { isAnthropicClient, messagesRoutes, requestIdHeader } from './serve.ts'
import { messagesErrorBody } from './wordings.ts'

export const messages: Wire = {
  name: 'messages',
  paths: ['/v1/messages', '/v1/models'],
  about: 'Anthropic Messages',
  docs: 'docs/protocols/messages.md',
  serve: host => ({ routes: messagesRoutes(host) }),
  errorBody: (failure, error, outgoing) =>
    messagesErrorBody(failure, error, outgoing?.getHeader(requestIdHeader)?.toString()),
  payable: () => true,
  claims: isAnthropicClient,
}
