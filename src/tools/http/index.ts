// Tools that are operations of HTTP APIs.
export { type HttpToolDefinition, http } from './http.ts'
export { type OpenApiOptions, openapi } from './openapi.ts'
export type { CallSecret, HttpAuth } from './secrets.ts'
