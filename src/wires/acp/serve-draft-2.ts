// The draft of version 2: its methods, joined to the same connection as version 1. Requests are translated to version 1,
// and updates from it. The draft changes from one SDK to the next, so it is served only when asked for.
import type {
  AgentConnector,
  ContentBlock,
  CreateElicitationResponse,
  McpServer,
  RequestPermissionResponse,
  Stream,
} from '@agentclientprotocol/sdk'
import { RequestError } from '@agentclientprotocol/sdk'
import * as v2 from '@agentclientprotocol/sdk/experimental/v2'
import { traceInMeta } from '../../language/trace.ts'
import type { Connection } from './connection.ts'
import type { GivenFolders } from './decode.ts'
import { upgradeCommands, upgradeOptions, upgradeToolCall, upgradeUpdate } from './encode-draft-2.ts'
import { terminalCall } from './encode-report.ts'
import type { AcpHost } from './host.ts'
import { decodeAbilities, decodeElicitation, Outbox, type Peer, withdrawnBy } from './peer.ts'
import { refusal } from './refusals.ts'
import { makeGuard, serveConnection, serveVersion1 } from './serve.ts'
import { availableCommands } from './slash-commands.ts'

type ClosableLink = { closed: Promise<void>; close(reason?: unknown): void }

/** Serves the version that the client asks for. */
export function serveEitherVersion(host: AcpHost, stream: Stream): ClosableLink {
  const links: ClosableLink[] = []
  const connector = (serve: (stream: Stream) => ClosableLink): AgentConnector => ({
    connect(inner) {
      const link = serve(inner)
      links.push(link)
      return link
    },
  })
  const router = v2
    .agentProtocolRouter()
    .withV1(connector(inner => serveVersion1(host, inner)))
    .withV2(connector(inner => serveConnection(host, inner, version2)))
  const { closed } = router.connect(stream)
  return {
    closed,
    close(reason) {
      for (const link of links) link.close(reason)
    },
  }
}

function version2Peer(client: v2.AgentContext, capabilities: v2.ClientCapabilities | undefined): Peer {
  const outbox = new Outbox()
  return {
    abilities: {
      ...decodeAbilities(undefined),
      notices: true,
      compaction: true,
      states: true,
      showsTerminals: true,
      elicitation: decodeElicitation(capabilities?.elicitation),
    },
    update(sessionId, given) {
      const update = upgradeUpdate(given)
      if (update) outbox.add(client.notify('session/update', { sessionId, update }))
    },
    drained: () => outbox.drained(),
    async askPermission({ sessionId, toolCall, options }, signal) {
      const { outcome } = await client.request(
        'session/request_permission',
        {
          sessionId,
          title: toolCall.title ?? toolCall.toolCallId,
          subject: { type: 'tool_call', toolCall: upgradeToolCall(toolCall) },
          options,
        },
        withdrawnBy(signal),
      )
      return { outcome: downgradeOutcome(outcome) }
    },
    // Both versions have the same fields here.
    elicit: async (request, signal) =>
      (await client.request(
        'elicitation/create',
        request as v2.CreateElicitationRequest,
        withdrawnBy(signal),
      )) as CreateElicitationResponse,
  }
}

/** An unknown outcome selects no option. */
function downgradeOutcome(outcome: v2.RequestPermissionOutcome): RequestPermissionResponse['outcome'] {
  if (outcome.outcome === 'cancelled') return { outcome: 'cancelled' }
  const optionId = outcome.outcome === 'selected' && 'optionId' in outcome ? outcome.optionId : ''
  return { outcome: 'selected', optionId: typeof optionId === 'string' ? optionId : '' }
}

function version2(host: AcpHost, connection: Connection): v2.AgentApp {
  const guard = makeGuard(host)
  return (
    v2
      .agent({ name: 'turnwire' })
      .onRequest('initialize', ({ params, client }) =>
        guard(async () => {
          connection.peer = version2Peer(client, params.capabilities)
          return initializeResponse(host, connection)
        }),
      )
      .onRequest('auth/login', ({ params }) => guard(async () => connection.authenticate(params.methodId)))
      .onRequest('session/new', ({ params }) =>
        guard(async () => {
          const { sessionId, ...opened } = await connection.newSession(downgradeFolders(params))
          return { sessionId, ...upgradeOpened(opened) }
        }),
      )
      .onRequest('session/resume', ({ params }) =>
        guard(async () => {
          const { sessionId, replayFrom } = params
          if (replayFrom && replayFrom.type !== 'start') throw refusal.replayFrom(replayFrom.type)
          const opened = await connection.openSession(sessionId, downgradeFolders(params), replayFrom != null)
          connection.get(sessionId).showState()
          return upgradeOpened(opened)
        }),
      )
      .onRequest('session/list', ({ params }) => guard(() => connection.list(params)))
      .onRequest('session/close', ({ params }) =>
        guard(async () => (connection.has(params.sessionId) ? connection.close(params.sessionId) : {})),
      )
      .onRequest('session/delete', ({ params }) => guard(() => connection.remove(params.sessionId)))
      .onRequest('session/set_config_option', ({ params }) =>
        guard(async () => {
          const session = connection.get(params.sessionId)
          await session.setOption(params.configId, params.value)
          return { configOptions: upgradeOptions(session.configOptions) }
        }),
      )
      .onRequest('session/prompt', ({ params, requestId }) =>
        guard(() => insertPrompt(connection, requestId, params)),
      )
      .onRequest('tool_call/cancel', ({ params }) =>
        guard(() => connection.cancelCall(params.sessionId, params.toolCallId)),
      )
      // A terminal is a part of its call, whose id its own begins with.
      .onRequest('terminal/cancel', ({ params }) =>
        guard(() => connection.cancelCall(params.sessionId, terminalCall(params.terminalId))),
      )
      .onNotification('session/cancel', () => {})
  ) // Done when it arrived.
}

/** Resolves when the message is in the session. Updates tell how the turn ends. */
async function insertPrompt(
  connection: Connection,
  requestId: unknown,
  { sessionId, prompt, _meta }: v2.PromptRequest,
): Promise<{ messageId: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  // Both versions have the same kinds of blocks; the decoder refuses others.
  const blocks = prompt as ContentBlock[]
  connection
    .prompt(requestId, sessionId, blocks, traceInMeta(_meta), resolve)
    .then(() => reject(RequestError.requestCancelled()), reject)
  return { messageId: await promise }
}

function initializeResponse(host: AcpHost, connection: Connection): v2.InitializeResponse {
  const { agentInfo, authMethods = [] } = connection.initialize()
  const { info, mcp, version } = host
  return {
    protocolVersion: 2,
    info: { name: 'turnwire', version, ...(agentInfo?.title != null && { title: agentInfo.title }) },
    capabilities: {
      session: {
        prompt: { ...(info.images.data && { image: {} }), embeddedContext: {} },
        mcp: { ...(mcp.stdio && { stdio: {} }), ...(mcp.http && { http: {} }) },
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

function upgradeOpened({
  configOptions,
}: Pick<Awaited<ReturnType<Connection['newSession']>>, 'configOptions'>) {
  return {
    configOptions: upgradeOptions(configOptions),
    availableCommands: upgradeCommands(availableCommands),
  }
}

type Version2Folders = { cwd: string; additionalDirectories?: string[]; mcpServers?: v2.McpServer[] }

function downgradeFolders({ mcpServers = [], ...folders }: Version2Folders): GivenFolders {
  return { ...folders, mcpServers: mcpServers.map(downgradeServer) }
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
  throw refusal.unknownServerType(server.type)
}
