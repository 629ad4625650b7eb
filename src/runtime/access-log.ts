// One line of the log for each request, when its answer is over. Written only at the level `debug`. A path never holds a
// secret; a query may, so it is left out.
import type { MiddlewareHandler } from 'hono'
import type { WireEnv } from '../wires/host.ts'
import type { Log } from './log.ts'

export function logRequests(log: Log): MiddlewareHandler<WireEnv> {
  return async (c, next) => {
    const begun = performance.now()
    const { outgoing } = c.env
    outgoing.once('close', () =>
      log('debug', 'Request.', {
        method: c.req.method,
        path: c.req.path,
        status: outgoing.statusCode,
        ms: Math.round(performance.now() - begun),
        // Absent before the key was looked at.
        ...(c.get('principal') && { owner: c.get('principal').owner }),
        ...(!outgoing.writableFinished && { cutOff: true }),
      }),
    )
    return next()
  }
}
