// The door of the AG-UI wire.
export { aguiRoutes } from './serve.ts'
