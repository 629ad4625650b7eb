// A whole wire in one file, as a proof of how little one needs: `GET /ndjson/:id?from=` streams a session as lines of JSON,
// first the events from number `from` on, then live items, until the turn has ended. It reaches the engine through
// `host.engine` only.
import { type Context, Hono } from 'hono'
import type { FollowItem, FollowOptions } from '../../src/engine/index.ts'
import { TurnwireError } from '../../src/language/errors.ts'
import { SseWriter } from '../../src/lib/sse.ts'
import type { WireEnv, WireHost } from '../../src/wires/host.ts'
import { plainErrors, RESPONSE_ALREADY_SENT } from '../../src/wires/http/index.ts'
import { clientGone, type FrameEncoder, pumpItems } from '../../src/wires/http/stream.ts'

// ---- decode ------------------------------------------------------------------------------------------------

/** `last`: the number of the session's last event. */
export function decodeNdjson(from: string | undefined, last: number): FollowOptions {
  const first = from === undefined ? 1 : Number(from)
  if (!Number.isSafeInteger(first) || first < 1 || first > last + 1)
    throw new TurnwireError('bad_request', `?from= must be a number from 1 to ${last + 1}.`)
  return { from: first, until: 'turn', deltas: 'raw' }
}

// ---- encode ------------------------------------------------------------------------------------------------

/** An item may carry what other wires encoded of it. */
const lineOf = (item: FollowItem): string => `${JSON.stringify({ ...item, encoded: undefined })}\n`

export const ndjsonEncoder: FrameEncoder<FollowItem> = {
  take: lineOf,
  end: () => '',
  fail: error => lineOf({ type: 'lost', error }),
}

// ---- serve -------------------------------------------------------------------------------------------------

export function ndjsonRoutes(host: WireHost): Hono<WireEnv> {
  const app = new Hono<WireEnv>()
  app.onError(plainErrors(host))
  app.get('/ndjson/:id', c => serveNdjson(c, host))
  return app
}

async function serveNdjson(c: Context<WireEnv>, host: WireHost): Promise<Response> {
  const ref = { owner: c.get('principal').owner, session: c.req.param('id') ?? '' }
  const options = decodeNdjson(c.req.query('from'), (await host.engine.summary(ref)).seq)
  c.env.outgoing.writeHead(200, { 'content-type': 'application/x-ndjson' }).flushHeaders()
  const writer = new SseWriter(c.env.outgoing, { heartbeatMs: 0 })
  void pumpItems(host, host.engine.follow(ref, options, clientGone(c)), ndjsonEncoder, writer)
  return RESPONSE_ALREADY_SENT
}
