// The door of Anthropic Messages.
export { messagesRoutes } from './serve.ts'
