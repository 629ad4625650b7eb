// The DeltaKit wire.
export { deltakitErrorBody, deltakitRoutes, ownerByRunId } from './serve.ts'
export { deltakitSocket } from './socket.ts'
