// The wires inside a server that the application has: web-standard requests, or Node's, and WebSockets of Node's servers. No port
// is opened here. The pages of the console are served under a path only: at the root they would hide the application's own.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Duplex, Readable } from 'node:stream'
import { environmentKeys } from '../callers/environment-keys.ts'
import { Keys } from '../callers/keys.ts'
import { publicError, TurnwireError } from '../language/errors.ts'
import type { Runtime } from '../runtime.ts'
import { isUnder, plainErrorBody } from '../wires/wire.ts'
import { checkSignInAddress, isGuarded } from './access.ts'
import { FetchAnswer, incomingFrom } from './fetch-answer.ts'
import { makeListener } from './listen.ts'
import { openService } from './server.ts'
import { chooseWires, WireTable } from './wires.ts'

export type Mount = {
  fetch(request: Request): Promise<Response>
  node(incoming: IncomingMessage, outgoing: ServerResponse, given?: unknown): void
  /** A request for a WebSocket. One that is elsewhere is left to other listeners. */
  upgrade(incoming: IncomingMessage, stream: Duplex, head: Buffer): void
  close(): Promise<void>
}

/** Throws `config_invalid` if nobody says who calls. */
export async function openMount(runtime: Runtime): Promise<Mount> {
  const { server: config = {} } = runtime.config
  const fixed = [...(config.keys ?? []), ...environmentKeys()]
  const keys = new Keys(fixed, runtime.folder, isGuarded(config))
  if (keys.open)
    throw new TurnwireError(
      'config_invalid',
      'turnwire.fetch and turnwire.node would let everyone in. Say who calls, server: { authenticate: request => ({ owner }) }, or make a key: turnwire keys add <name>.',
    )
  checkSignInAddress(config, undefined)
  const table = new WireTable(chooseWires(config.wires))
  if (config.publicUrl !== undefined) runtime.serveAt(`${config.publicUrl}${config.path ?? ''}`)
  const { app, sockets, ...service } = await openService(runtime, {
    table,
    keys,
    hostname: undefined,
    shared: true,
  })
  const answer = makeListener({ table, fetch: app.fetch })
  const base = config.path ?? ''
  return {
    fetch: async request => {
      const url = new URL(request.url)
      const target = within(base, `${url.pathname}${url.search}`)
      if (target === undefined) return Response.json(nothingHere(base), { status: 404 })
      const incoming = incomingFrom(request, target)
      const outgoing = new FetchAnswer(incoming, request.signal)
      const { method, headers, signal } = request
      const shown = new Request(new URL(target, url.origin), { method, headers, signal })
      return outgoing.settle(await app.fetch(shown, { incoming, outgoing: outgoing.asNode() }))
    },
    node: (incoming, outgoing, given) => serveNode(base, answer, incoming, outgoing, given),
    upgrade: (incoming, stream, head) => {
      const target = within(base, incoming.url ?? '/')
      if (target === undefined) return
      const shown = Object.create(incoming, { url: { value: target } }) as IncomingMessage // The rest is the request's own.
      // At the root other listeners may have sockets too.
      if (base !== '' || sockets.serves(shown)) sockets.accept(shown, stream, head)
    },
    close: async () => {
      service.close()
      await service.closeWires()
    },
  }
}

/** `given`: the body, where a framework has read it; or `next` of Express, for what is not under the path. */
function serveNode(
  base: string,
  answer: (incoming: IncomingMessage, outgoing: ServerResponse) => void,
  incoming: IncomingMessage & { originalUrl?: string; body?: unknown },
  outgoing: ServerResponse,
  given: unknown,
): void {
  // Express cuts the path where it is mounted off `url`.
  const full = incoming.originalUrl ?? incoming.url ?? '/'
  const target = within(base, full)
  if (target === undefined) {
    if (typeof given === 'function') given()
    else
      outgoing.writeHead(404, { 'content-type': 'application/json' }).end(JSON.stringify(nothingHere(base)))
    return
  }
  const body = typeof given === 'function' || given === undefined ? readBefore(incoming) : given
  if (body !== undefined) {
    answer(withBody(incoming, target, body), outgoing)
    return
  }
  const before = incoming.url
  incoming.url = target
  outgoing.once('close', () => {
    if (before !== undefined) incoming.url = before
  })
  answer(incoming, outgoing)
}

/** The body that a parser of the application has taken from the stream. */
function readBefore(incoming: IncomingMessage & { body?: unknown }): unknown {
  return incoming.readableDidRead && incoming.method !== 'GET' ? incoming.body : undefined
}

/** The same request with its body to be read again. */
function withBody(incoming: IncomingMessage, url: string, body: unknown): IncomingMessage {
  const bytes =
    typeof body === 'string' || body instanceof Uint8Array
      ? Buffer.from(body)
      : Buffer.from(JSON.stringify(body))
  const { method, headers, rawHeaders, httpVersion, socket } = incoming
  const { 'content-length': _, 'content-encoding': __, ...kept } = headers
  const stream = Readable.from([bytes], { objectMode: false })
  // The members of a request that are read here and by hono.
  return Object.assign(stream, {
    method,
    url,
    httpVersion,
    socket,
    rawHeaders,
    headers: kept,
  }) as unknown as IncomingMessage
}

/** The rest of a target under the path. Undefined: it is elsewhere. */
function within(base: string, target: string): string | undefined {
  if (base === '') return target
  const [path = ''] = target.split('?', 1)
  if (!isUnder(path, base)) return undefined
  const rest = target.slice(base.length)
  return rest.startsWith('/') ? rest : `/${rest}`
}

function nothingHere(base: string): object {
  const words = `Nothing is served here. This is mounted at ${base}, as server.path says.`
  return plainErrorBody(publicError(new TurnwireError('not_found', words)))
}
