// A whole wire in one file, as a proof of how little one needs: `POST /ndjson` begins a session with the words of its body,
// and `GET /ndjson/:id?from=` reads one. Both stream it as lines of JSON, first the events from number `from` on, then live
// items, until the turn has ended. It reaches the engine through its caller's engine only.
import { type Context, Hono } from 'hono'
import type { FollowItem, FollowOptions, SessionRef } from '../../src/engine/index.ts'
import { TurnwireError } from '../../src/language/errors.ts'
import type { JsonObject } from '../../src/lib/json/index.ts'
import { SseWriter } from '../../src/lib/net/sse.ts'
import type { WireEnv, WireHost } from '../../src/wires/host.ts'
import { RESPONSE_ALREADY_SENT, readJsonObject } from '../../src/wires/http/index.ts'
import { clientGone, type FrameEncoder, pumpItems } from '../../src/wires/http/stream.ts'
import type { Wire } from '../../src/wires/wire.ts'

export const ndjson: Wire = {
  name: 'ndjson',
  paths: ['/ndjson'],
  about: 'Lines of JSON',
  docs: 'docs/protocols/ndjson.md',
  serve: host => ({ routes: ndjsonRoutes(host) }),
  errorBody: ({ code, message }) => ({ refused: code, because: message }),
  payable: () => true,
}

// ---- decode ------------------------------------------------------------------------------------------------

/** `last`: the number of the session's last event. */
export function decodeNdjson(from: string | undefined, last: number): FollowOptions {
  const first = from === undefined ? 1 : Number(from)
  if (!Number.isSafeInteger(first) || first < 1 || first > last + 1)
    throw new TurnwireError('bad_request', `?from= must be a number from 1 to ${last + 1}.`)
  return { from: first, until: 'turn', deltas: 'raw' }
}

export function decodeAsked({ agent, text }: JsonObject): { agent: string; text: string } {
  if (typeof agent === 'string' && typeof text === 'string') return { agent, text }
  throw new TurnwireError('bad_request', 'Send {"agent", "text"}.')
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

function ndjsonRoutes(host: WireHost): Hono<WireEnv> {
  const app = new Hono<WireEnv>()
  app.post('/ndjson', async c => {
    const { agent, text } = decodeAsked(await readJsonObject(c, host.limits))
    const { owner } = c.get('principal')
    const settings = { tools: null, options: {}, clientTools: [] }
    const made = { owner, agent, wire: ndjson.name, settings, seed: [] }
    const { session } = await c.get('engine').create(made)
    const parts = [{ type: 'text' as const, text }]
    await c.get('engine').command({ owner, session }, { do: 'say', wire: ndjson.name, parts })
    return serveNdjson(c, host, { owner, session })
  })
  app.get('/ndjson/:id', c =>
    serveNdjson(c, host, { owner: c.get('principal').owner, session: c.req.param('id') }),
  )
  return app
}

async function serveNdjson(c: Context<WireEnv>, host: WireHost, ref: SessionRef): Promise<Response> {
  const options = decodeNdjson(c.req.query('from'), (await c.get('engine').summary(ref)).seq)
  c.env.outgoing.writeHead(200, { 'content-type': 'application/x-ndjson' }).flushHeaders()
  const writer = new SseWriter(c.env.outgoing, { heartbeatMs: 0 })
  void pumpItems(host, c.get('engine').follow(ref, options, clientGone(c)), ndjsonEncoder, writer)
  return RESPONSE_ALREADY_SENT
}
