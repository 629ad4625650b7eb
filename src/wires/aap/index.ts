// The door of the AAP wire.
export { aapRoutes } from './serve.ts'
