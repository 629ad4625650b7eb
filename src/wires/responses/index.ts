// The wire of the Responses API.
export { responsesRoutes } from './serve.ts'
export { errorBody } from './wordings.ts'
