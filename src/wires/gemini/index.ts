// The door of Gemini's generateContent.
export { geminiRoutes, refuseQueryKeys } from './serve.ts'
