// The wire of Anthropic Messages.
export { messagesRoutes } from './serve.ts'
