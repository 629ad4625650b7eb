// The door of the AI SDK UI wire.
export { uiRoutes } from './serve.ts'
