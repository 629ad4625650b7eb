// The wire of the Responses API.
export { responsesRoutes } from './serve.ts'
export { responsesSocket } from './socket.ts'
export { errorBody } from './wordings.ts'
