// The door of the Responses API.
export { errorBody } from './refuse.ts'
export { responsesRoutes } from './serve.ts'
