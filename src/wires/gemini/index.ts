// The wire of Gemini generateContent.
export { geminiRoutes, refuseQueryKeys } from './serve.ts'
export { geminiErrorBody } from './wordings.ts'
