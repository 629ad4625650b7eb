// The wire of Anthropic Messages.
export { messagesRoutes } from './serve.ts'
export { messagesErrorBody } from './wordings.ts'
