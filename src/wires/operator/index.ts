export { consoleHeader, cookieName, type OperatorBackend, type SystemStatus } from './schema.ts'
export { operatorRoutes, signInRoute } from './serve.ts'
