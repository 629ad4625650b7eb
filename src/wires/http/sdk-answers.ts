// For wires whose answers an SDK makes. The SDKs set `connection: keep-alive` on their streams; then Node keeps a connection
// open that its client asked to close, and that client waits for the end.
import type { MiddlewareHandler } from 'hono'
import type { WireEnv } from '../host.ts'

export const leaveConnectionToNode: MiddlewareHandler<WireEnv> = async (c, next) => {
  await next()
  c.res.headers.delete('connection')
}
