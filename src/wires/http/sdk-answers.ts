// For wires whose answers an SDK makes. The SDKs set `connection: keep-alive` on their streams, also if the client asked to
// close the connection. It would then stay open, and the client would wait for its end.
import type { MiddlewareHandler } from 'hono'
import type { WireEnv } from '../host.ts'

export const withoutConnectionHeader: MiddlewareHandler<WireEnv> = async (c, next) => {
  await next()
  c.res.headers.delete('connection')
}
