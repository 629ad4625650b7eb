// Gemini generateContent.
import type { Wire } from '../wire.ts'
import { geminiRoutes, isGeminiRequest, refuseQueryKeys } from './serve.ts'
import { geminiErrorBody } from './wordings.ts'

export const gemini: Wire = {
  name: 'gemini',
  paths: ['/v1/models/<name>:<method>', '/v1beta/models'],
  about: 'Gemini generateContent',
  docs: 'docs/protocols/gemini.md',
  serve: host => ({ routes: geminiRoutes(host), keyless: refuseQueryKeys() }),
  errorBody: geminiErrorBody,
  payable: () => true,
  claims: isGeminiRequest,
}
