// The DeltaKit wire.
export { deltakitRoutes } from './serve.ts'
export { deltakitSocket } from './socket.ts'
