export { callbackRoutes } from './serve.ts'
export { type CallbackCall, callbackPath, makeToken } from './token.ts'
