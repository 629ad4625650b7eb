// One line of the log for each request, when its answer is over. Written only at the level `debug`. A query may hold a
// secret, so it is left out; in paths that hold one (callbacks, jobs) the log masks it.
import type { MiddlewareHandler } from 'hono'
import type { Log } from '../log.ts'
import type { WireEnv } from '../wires/host.ts'

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
