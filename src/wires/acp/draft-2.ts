// The draft of version 2, as a translation: what version 1 would say becomes what version 2 says, and sessions, turns and
// permissions stay one piece of code. The draft changes from one SDK to the next, so it is served only when asked for.
import type {
  AgentConnector,
  CreateElicitationRequest,
  CreateElicitationResponse,
  McpServer,
  RequestPermissionResponse,
  SessionUpdate,
  Stream,
} from '@agentclientprotocol/sdk'
import { RequestError } from '@agentclientprotocol/sdk'
import * as v2 from '@agentclientprotocol/sdk/experimental/v2'
import { availableCommands } from './commands.ts'
import { Connection, connectVersion1, guardOf } from './connection.ts'
import {
  upgradeCommands,
  upgradeOptions,
  upgradeState,
  upgradeToolCall,
  upgradeUpdate,
} from './draft-2-upgrade.ts'
import { refuseParams } from './failure.ts'
import type { AcpHost } from './host.ts'
import { noteArrivals } from './intake.ts'
import { noAbilities, type Peer } from './peer.ts'

/** Serves whichever version the client asks for. */
export function connectEitherVersion(
  host: AcpHost,
  stream: Stream,
): { closed: Promise<void>; close(reason?: unknown): void } {
  const links: { close(reason?: unknown): void }[] = []
  const connector = (
    connect: (stream: Stream) => { close(reason?: unknown): void; closed: Promise<void> },
  ): AgentConnector => ({
    connect(inner) {
      const link = connect(inner)
      links.push(link)
      return link
    },
  })
  const router = v2
    .agentProtocolRouter()
    .withV1(connector(inner => connectVersion1(host, inner)))
    .withV2(connector(inner => connectVersion2(host, inner)))
  const { closed } = router.connect(stream)
  return {
    closed,
    close(reason) {
      for (const link of links) link.close(reason)
    },
  }
}

function connectVersion2(host: AcpHost, stream: Stream): v2.AgentConnection {
  const connection = new Connection(host)
  const link = version2(host, connection).connect(
    noteArrivals(stream, arrival => connection.arrived(arrival)),
  )
  void link.closed.then(() => connection.closed())
  return link
}

function peerOf(client: v2.AgentContext, capabilities: v2.ClientCapabilities | undefined): Peer {
  const { elicitation } = capabilities ?? {}
  const notify = (sessionId: string, update: v2.SessionUpdate): void => {
    client.notify('session/update', { sessionId, update }).catch(() => {}) // Its closing is heard of elsewhere.
  }
  return {
    abilities: {
      ...noAbilities,
      notices: true,
      compaction: true,
      elicitation: (['form', 'url'] as const).filter(mode => elicitation?.[mode] != null),
    },
    update(sessionId, update: SessionUpdate) {
      const upgraded = upgradeUpdate(update)
      if (upgraded) notify(sessionId, upgraded)
    },
    state: (sessionId, state) => notify(sessionId, upgradeState(state)),
    askPermission: async ({ sessionId, toolCall, options }, signal): Promise<RequestPermissionResponse> => {
      const { outcome } = await client.request(
        'session/request_permission',
        {
          sessionId,
          title: toolCall.title ?? toolCall.toolCallId,
          subject: { type: 'tool_call', toolCall: upgradeToolCall(toolCall) },
          options,
        },
        { cancellationSignal: signal, stopWaitingOnCancel: true },
      )
      return { outcome: v1Outcome(outcome) }
    },
    elicit: async (request: CreateElicitationRequest, signal): Promise<CreateElicitationResponse> =>
      // Both versions have the same fields here.
      (await client.request('elicitation/create', request as v2.CreateElicitationRequest, {
        cancellationSignal: signal,
        stopWaitingOnCancel: true,
      })) as CreateElicitationResponse,
  }
}

/** An outcome that is neither is no approval. */
function v1Outcome(outcome: v2.RequestPermissionOutcome): RequestPermissionResponse['outcome'] {
  if (outcome.outcome === 'cancelled') return { outcome: 'cancelled' }
  const optionId = outcome.outcome === 'selected' && 'optionId' in outcome ? outcome.optionId : ''
  return { outcome: 'selected', optionId: typeof optionId === 'string' ? optionId : '' }
}

function version2(host: AcpHost, connection: Connection): v2.AgentApp {
  const guard = guardOf(host)
  return v2
    .agent({ name: 'turnwire' })
    .onRequest('initialize', ({ params, client }) =>
      guard(async () => {
        connection.peer = peerOf(client, params.capabilities)
        return initializeResponse(host, connection)
      }),
    )
    .onRequest('auth/login', ({ params }) => guard(async () => connection.authenticate(params.methodId)))
    .onRequest('session/new', ({ params }) =>
      guard(async () => {
        const { sessionId, configOptions } = await connection.newSession(foldersOf(params))
        return {
          sessionId,
          configOptions: upgradeOptions(configOptions),
          availableCommands: upgradeCommands(availableCommands),
        }
      }),
    )
    .onRequest('session/resume', ({ params }) =>
      guard(async () => {
        const { sessionId, replayFrom } = params
        if (replayFrom && replayFrom.type !== 'start')
          throw refuseParams(`There is no replay from "${replayFrom.type}", only from "start".`)
        const how = replayFrom ? 'replay' : 'silent'
        const { configOptions } = await connection.openSession(sessionId, foldersOf(params), how)
        connection.get(sessionId).tellState()
        return {
          configOptions: upgradeOptions(configOptions),
          availableCommands: upgradeCommands(availableCommands),
        }
      }),
    )
    .onRequest('session/list', ({ params }) => guard(() => connection.list(params)))
    .onRequest('session/close', ({ params }) =>
      guard(async () => (connection.has(params.sessionId) ? connection.close(params.sessionId) : {})),
    )
    .onRequest('session/delete', ({ params }) => guard(() => connection.remove(params.sessionId)))
    .onRequest('session/set_config_option', ({ params }) =>
      guard(async () => {
        const open = connection.get(params.sessionId)
        await open.setOption(params.configId, params.value)
        return { configOptions: upgradeOptions(open.configOptions) }
      }),
    )
    .onRequest('session/prompt', ({ params, requestId }) =>
      guard(() =>
        connection.withTicket(requestId, params.sessionId, async ticket => {
          // The kinds of blocks that both versions know are the same; another one is refused by the decoder.
          const blocks = params.prompt as Parameters<ReturnType<Connection['get']>['insert']>[0]
          const inserted = await connection.get(params.sessionId).insert(blocks, ticket)
          if (inserted === 'cancelled') throw RequestError.requestCancelled()
          return { messageId: inserted.messageId }
        }),
      ),
    )
    .onNotification('session/cancel', () => {}) // It was heeded when it arrived.
}

function initializeResponse(host: AcpHost, connection: Connection): v2.InitializeResponse {
  const { agentInfo, authMethods = [] } = connection.initialize()
  return {
    protocolVersion: 2,
    info: {
      name: 'turnwire',
      version: host.version,
      ...(agentInfo?.title != null && { title: agentInfo.title }),
    },
    capabilities: {
      session: {
        prompt: { ...(host.agent.images.data && { image: {} }), embeddedContext: {} },
        mcp: { ...(host.mcp.stdio && { stdio: {} }), ...(host.mcp.http && { http: {} }) },
        delete: {},
        additionalDirectories: {},
      },
    },
    authMethods: authMethods.map(({ id, name, description }) => ({
      type: 'agent',
      methodId: id,
      name,
      ...(description != null && { description }),
    })),
  }
}

type Folders = { cwd: string; additionalDirectories?: string[]; mcpServers?: v2.McpServer[] }

function foldersOf({ cwd, additionalDirectories, mcpServers = [] }: Folders) {
  return {
    cwd,
    ...(additionalDirectories && { additionalDirectories }),
    mcpServers: mcpServers.map(downgradeServer),
  }
}

function downgradeServer(server: v2.McpServer): McpServer {
  if (server.type === 'stdio' && 'command' in server) {
    const { name, command, args = [], env = [] } = server as v2.McpServerStdio // Its type says so.
    return { name, command, args, env }
  }
  if (server.type === 'http' && 'url' in server) {
    const { name, url, headers = [] } = server as v2.McpServerHttp // Its type says so.
    return { type: 'http', name, url, headers }
  }
  throw refuseParams(`MCP servers of the type "${server.type}" are not known.`)
}
