// An engine in memory behind the ACP wire, and a client on the other end of a pair of streams: the SDK's own client, with
// files and terminals of its own, that keeps every frame and has each of the agent's checked against the schema.
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import {
  type AnyMessage,
  type ClientCapabilities,
  type ClientContext,
  type ContentBlock,
  client as clientApp,
  type McpServer,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionUpdate,
  type Stream,
} from '@agentclientprotocol/sdk'
import type {
  Agent,
  CreateSession,
  Engine,
  SessionRef,
  SessionSummary,
  Store,
} from '../../../src/engine/index.ts'
import type { Entry } from '../../../src/language/history.ts'
import { mcpServer } from '../../../src/tools/mcp/index.ts'
import { type AcpLink, serveAcp } from '../../../src/wires/acp/connect.ts'
import type { AcpHost } from '../../../src/wires/acp/host.ts'
import { throughClones } from '../../boundary/structured-clones.ts'
import { makeRig, plainSettings, type RigOptions } from '../../engine/rig.ts'
import { type Frame, FrameCheck } from './frames.ts'

export const cwd = '/w/app'

export type AcpRig = {
  engine: Engine
  agent: Agent
  store: Store
  host: AcpHost
  logs: string[]
  connect(options?: ClientOptions): Promise<TestClient>
}

export function makeAcp(context: TestContext, options: RigOptions = {}, host: Partial<AcpHost> = {}): AcpRig {
  const { local, agent, store, logs } = makeRig(options)
  const whole: AcpHost = {
    engine: throughClones(local),
    info: local.description.agents[0]!,
    modelInfos: {},
    models: undefined,
    principal: { owner: 'local', name: 'local' },
    folder: cwd,
    version: '9.9.9',
    secrets: {},
    mcp: { stdio: true, http: true },
    connectMcp: (server, link) => mcpServer(server, link),
    log: (level, message, fields) => void logs.push(`${level} ${message} ${JSON.stringify(fields ?? {})}`),
    ...host,
  }
  return {
    engine: whole.engine,
    agent,
    store,
    host: whole,
    logs,
    connect: given => connect(context, whole, given),
  }
}

export type Answer =
  | string
  | ((request: RequestPermissionRequest, signal: AbortSignal) => Promise<RequestPermissionResponse>)

export type ClientOptions = {
  capabilities?: ClientCapabilities
  /** The option that is chosen, or what is done. Default: allow. */
  permission?: Answer
  files?: Map<string, string>
  terminal?: FakeTerminal
  elicit?: (request: unknown) => unknown
  protocolVersion?: number
  /** Leaves out `initialize`. */
  raw?: boolean
}

/** What a terminal of the client does. `exit` undefined: it runs until it is killed. */
export type FakeTerminal = { output: string; exit?: number; log: string[] }

export type TestClient = {
  agent: ClientContext
  link: AcpLink
  frames: { from: 'client' | 'agent'; frame: Frame }[]
  check: FrameCheck
  updates: SessionUpdate[]
  permissions: RequestPermissionRequest[]
  newSession(mcpServers?: McpServer[], folder?: string): Promise<string>
  prompt(sessionId: string, text: string | ContentBlock[]): Promise<{ stopReason: string }>
  cancel(sessionId: string): Promise<void>
  close(): void
}

/** A client of a host that may be any runtime's. */
export async function connect(
  context: TestContext,
  host: AcpHost,
  options: ClientOptions = {},
): Promise<TestClient> {
  const frames: TestClient['frames'] = []
  const check = new FrameCheck()
  const { clientSide, agentSide } = streams(
    frame => {
      frames.push({ from: 'client', frame })
      check.sentByClient(frame)
    },
    frame => {
      frames.push({ from: 'agent', frame })
      check.sentByAgent(frame)
    },
  )
  const updates: SessionUpdate[] = []
  const permissions: RequestPermissionRequest[] = []
  const app = clientWith(options, updates, permissions)
  const link = await serveAcp(host, agentSide)
  const connection = app.connect(clientSide)
  context.after(() => {
    connection.close()
    link.close()
    check.assertClean()
  })
  const { agent } = connection
  if (!options.raw)
    await agent.request('initialize', {
      protocolVersion: options.protocolVersion ?? 1,
      clientCapabilities: options.capabilities ?? {},
      clientInfo: { name: 'test', version: '1' },
    })
  return {
    agent,
    link,
    frames,
    check,
    updates,
    permissions,
    async newSession(mcpServers = [], folder = cwd) {
      const { sessionId } = await agent.request('session/new', { cwd: folder, mcpServers })
      return sessionId
    },
    prompt: (sessionId, text) =>
      agent.request('session/prompt', {
        sessionId,
        prompt: typeof text === 'string' ? [{ type: 'text', text }] : text,
      }),
    cancel: sessionId => agent.notify('session/cancel', { sessionId }),
    close: () => connection.close(),
  }
}

function streams(fromClient: (frame: Frame) => void, fromAgent: (frame: Frame) => void) {
  const tap = (see: (frame: Frame) => void) =>
    new TransformStream<AnyMessage, AnyMessage>({
      transform(message, controller) {
        // As it would be on a pipe: no object of one side is seen by the other.
        const frame = JSON.parse(JSON.stringify(message)) as Frame
        see(frame)
        controller.enqueue(frame as AnyMessage)
      },
    })
  const toAgent = tap(fromClient)
  const toClient = tap(fromAgent)
  const clientSide: Stream = { readable: toClient.readable, writable: toAgent.writable }
  const agentSide: Stream = { readable: toAgent.readable, writable: toClient.writable }
  return { clientSide, agentSide }
}

function clientWith(
  options: ClientOptions,
  updates: SessionUpdate[],
  permissions: RequestPermissionRequest[],
) {
  const { permission = 'allow', files = new Map<string, string>(), terminal, elicit } = options
  const app = clientApp({ name: 'test' })
    .onNotification('session/update', ({ params }) => void updates.push(params.update))
    .onRequest('session/request_permission', ({ params, signal }) => {
      permissions.push(params)
      if (typeof permission === 'function') return permission(params, signal)
      return {
        outcome:
          permission === 'cancelled'
            ? { outcome: 'cancelled' }
            : { outcome: 'selected', optionId: permission },
      }
    })
    .onRequest('fs/read_text_file', ({ params }) => {
      const content = files.get(params.path)
      if (content === undefined) throw new Error('no such file')
      return { content }
    })
    .onRequest('fs/write_text_file', ({ params }) => {
      files.set(params.path, params.content)
      return {}
    })
  if (elicit)
    // What a test answers with may be wrong on purpose.
    app.onRequest('elicitation/create', ({ params }) => elicit(params) as { action: 'cancel' })
  return terminal ? withTerminal(app, terminal) : app
}

function withTerminal(app: ReturnType<typeof clientApp>, terminal: FakeTerminal) {
  const ended = Promise.withResolvers<void>()
  if (terminal.exit !== undefined) ended.resolve()
  let killed = false
  return app
    .onRequest('terminal/create', ({ params }) => {
      terminal.log.push(`create ${[params.command, ...(params.args ?? [])].join(' ')} in ${params.cwd}`)
      return { terminalId: 'term-1' }
    })
    .onRequest('terminal/wait_for_exit', async () => {
      await ended.promise
      return killed ? { signal: 'SIGTERM' } : { exitCode: terminal.exit ?? 0 }
    })
    .onRequest('terminal/output', () => ({
      output: terminal.output,
      truncated: false,
      ...(killed
        ? { exitStatus: { signal: 'SIGTERM' } }
        : terminal.exit !== undefined && { exitStatus: { exitCode: terminal.exit } }),
    }))
    .onRequest('terminal/kill', () => {
      terminal.log.push('kill')
      killed = true
      ended.resolve()
      return {}
    })
    .onRequest('terminal/release', () => {
      terminal.log.push('release')
      ended.resolve()
      return {}
    })
}

// ---- looking at what came -------------------------------------------------------------------------------------

export function textOf(updates: readonly SessionUpdate[], tag = 'agent_message_chunk'): string {
  return updates
    .map(update =>
      update.sessionUpdate === tag && 'content' in update && isText(update.content)
        ? update.content.text
        : '',
    )
    .join('')
}

function isText(content: unknown): content is { type: 'text'; text: string } {
  return typeof content === 'object' && content !== null && 'type' in content && content.type === 'text'
}

export function kinds(updates: readonly SessionUpdate[]): string[] {
  return updates.map(update => update.sessionUpdate)
}

export function only<T extends SessionUpdate['sessionUpdate']>(updates: readonly SessionUpdate[], tag: T) {
  return updates.filter(
    (update): update is Extract<SessionUpdate, { sessionUpdate: T }> => update.sessionUpdate === tag,
  )
}

/** Waits until something is true, for half a minute at most. */
export async function until<T>(look: () => T | undefined | false): Promise<T> {
  const deadline = Date.now() + 30_000
  while (Date.now() < deadline) {
    const found = look()
    if (found !== undefined && found !== false) return found
    await new Promise(resolve => setTimeout(resolve, 2))
  }
  assert.fail(`waited without result for: ${String(look)}`)
}

export function refOf(session: string): SessionRef {
  return { owner: 'local', session }
}

export function summaryOf({ engine }: AcpRig, id: string): Promise<SessionSummary> {
  return engine.summary(refOf(id))
}

export async function entriesOf({ engine }: AcpRig, id: string): Promise<Entry[]> {
  return (await engine.history(refOf(id), { get: 'entries' })).entries
}

/** A message that comes over another wire. */
export function sayElsewhere({ engine }: Pick<AcpRig, 'engine'>, id: string, text: string) {
  return engine.command(refOf(id), { do: 'say', wire: 'aap', parts: [{ type: 'text', text }] })
}

/** Makes a session over another wire. */
export async function createElsewhere(
  { engine }: AcpRig,
  over: Partial<CreateSession> = {},
): Promise<string> {
  const { session } = await engine.create({
    owner: 'local',
    agent: 'helper',
    wire: 'aap',
    settings: { ...plainSettings, options: {} },
    seed: [],
    ...over,
  })
  return session
}

export async function codeOf(request: Promise<unknown>): Promise<number> {
  try {
    await request
  } catch (error) {
    assert.ok(error instanceof Error && 'code' in error && typeof error.code === 'number', String(error))
    return error.code
  }
  assert.fail('the request was not refused')
}
