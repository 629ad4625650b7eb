export { consoleHeader, cookieName, type OperatorBackend, type SystemStatus } from './schema.ts'
export { operatorRoutes, requireOperator, signInRoute } from './serve.ts'
