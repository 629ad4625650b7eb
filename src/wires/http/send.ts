// A whole answer on the raw response: hono routes the request, but building a web Response for it to translate back
// costs more than most of what an answer says.
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import type { Context } from 'hono'
import type { WireEnv } from '../host.ts'

export { RESPONSE_ALREADY_SENT }

/** Text is taken for JSON already. */
export function sendJson(c: Context<WireEnv>, body: unknown, status = 200): Response {
  const { outgoing } = c.env
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  outgoing.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  })
  outgoing.end(text)
  return RESPONSE_ALREADY_SENT
}
