// The wire of OpenAI Chat Completions.
export { chatRoutes } from './serve.ts'
