// Version 1 of the protocol: its methods, joined to a connection.
import { type AgentApp, type AgentConnection, agent as agentApp, type Stream } from '@agentclientprotocol/sdk'
import { wordsOf } from '../../language/errors.ts'
import { traceInMeta } from '../../language/trace.ts'
import { noteArrivals } from './arrivals.ts'
import { Connection } from './connection.ts'
import type { AcpHost } from './host.ts'
import { decodeAbilities, version1Peer } from './peer.ts'
import { encodeFailure, isInternal } from './refusals.ts'

export function serveVersion1(host: AcpHost, stream: Stream): AgentConnection {
  return serveConnection(host, stream, version1)
}

/** Serves one client with the methods of a version. */
export function serveConnection<Link extends { closed: Promise<void> }>(
  host: AcpHost,
  stream: Stream,
  methods: (host: AcpHost, connection: Connection) => { connect(stream: Stream): Link },
): Link {
  const connection = new Connection(host)
  const link = methods(host, connection).connect(noteArrivals(stream, arrival => connection.arrived(arrival)))
  void link.closed.then(() => connection.closed())
  return link
}

function version1(host: AcpHost, connection: Connection): AgentApp {
  const guard = makeGuard(host)
  return agentApp({ name: 'turnwire' })
    .onRequest('initialize', ({ params, client }) =>
      guard(async () => {
        connection.peer = version1Peer(client, decodeAbilities(params.clientCapabilities))
        return connection.initialize()
      }),
    )
    .onRequest('authenticate', ({ params }) => guard(async () => connection.authenticate(params.methodId)))
    .onRequest('session/new', ({ params }) => guard(() => connection.newSession(params)))
    .onRequest('session/load', ({ params }) =>
      guard(() => connection.openSession(params.sessionId, params, true)),
    )
    .onRequest('session/resume', ({ params }) =>
      guard(() => connection.openSession(params.sessionId, params, false)),
    )
    .onRequest('session/list', ({ params }) => guard(() => connection.list(params)))
    .onRequest('session/close', ({ params }) => guard(() => connection.close(params.sessionId)))
    .onRequest('session/delete', ({ params }) => guard(() => connection.remove(params.sessionId)))
    .onRequest('session/set_mode', ({ params }) =>
      guard(async () => {
        await connection.get(params.sessionId).setMode(params.modeId)
        return {}
      }),
    )
    .onRequest('session/set_config_option', ({ params }) =>
      guard(async () => {
        const session = connection.get(params.sessionId)
        await session.setOption(params.configId, params.value)
        return { configOptions: session.configOptions }
      }),
    )
    .onRequest('session/prompt', ({ params, requestId }) =>
      guard(() => connection.prompt(requestId, params.sessionId, params.prompt, traceInMeta(params._meta))),
    )
    .onNotification('session/cancel', () => {}) // Done when it arrived.
}

/** Gives every rejection as an error of the protocol, and logs defects. */
export function makeGuard(host: AcpHost): <T>(run: () => Promise<T>) => Promise<T> {
  return async run => {
    try {
      return await run()
    } catch (error) {
      const failure = encodeFailure(error)
      if (isInternal(failure)) host.log('error', 'A request failed.', { wire: 'acp', error: wordsOf(error) })
      throw failure
    }
  }
}
