// The addresses to which results of postponed calls are posted. The address itself is the permission: it is signed, names one
// call, expires, and works once. No key is needed.
import { Hono } from 'hono'
import { serverCaller } from '../../callers/caller.ts'
import { sessionNotFound } from '../../language/errors.ts'
import type { WireEnv, WireHost } from '../host.ts'
import { readJson } from '../http/index.ts'
import { decodeResult } from './decode.ts'
import { callbackPath, readToken } from './token.ts'

const mostBytes = 10 * 1024 * 1024

export function callbackRoutes(host: WireHost): Hono<WireEnv> {
  const app = new Hono<WireEnv>()
  app.post(`${callbackPath}/:token`, async c => {
    // Before the body is read: a stranger is turned away at once.
    const { session, callId } = readToken(c.req.param('token'), text => host.sign(text), Date.now())
    const { bodyBytes, jsonDepth } = host.limits
    const body = await readJson(c, { bodyBytes: Math.min(bodyBytes, mostBytes), jsonDepth })
    const engine = host.engineFor(serverCaller)
    const owner = await engine.lookUp({ get: 'owner', session })
    if (owner === undefined) throw sessionNotFound()
    await engine.command({ owner, session }, { do: 'complete', callId, output: decodeResult(body) })
    return c.body(null, 204)
  })
  return app
}
