// A relay, machines that attach to it, honest and other, and clients. All in this process, over real sockets.
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { type Wallet, walletFromKey } from '../../src/callers/wallet.ts'
import { openAttachedAgent } from '../../src/cli/attached-agent.ts'
import type { TurnwireConfig } from '../../src/config/config.ts'
import type { Model } from '../../src/engine/ports/index.ts'
import type { JsonObject } from '../../src/lib/json/index.ts'
import { Turnwire } from '../../src/library/turnwire.ts'
import { createLog } from '../../src/log.ts'
import { type Script, scripted } from '../../src/models/scripted/index.ts'
import type { RelayConfig } from '../../src/relay/config.ts'
import type { OwnerFrame, ServerFrame } from '../../src/relay/frames.ts'
import { Attachment, readServer, readStatus, StatusFile, signIn } from '../../src/relay/owner/index.ts'
import type { AttachStatus } from '../../src/relay/owner/status.ts'
import { type Running, startServer } from '../../src/server/server.ts'
import { tempFolder } from '../temp-folder.ts'

export const silent = createLog({ level: 'silent' })

export function folder(t: TestContext): string {
  return tempFolder(t, 'turnwire-relay-')
}

export type RelayRig = Running & { turnwire: Turnwire }

/** A server with a relay. */
export async function relay(
  t: TestContext,
  settings: Partial<RelayConfig> = {},
  config: Partial<TurnwireConfig> = {},
  port = 0,
): Promise<RelayRig> {
  const turnwire = await Turnwire.open({
    agents: [],
    data: 'memory',
    ...config,
    server: { log: 'silent', ...config.server },
    relay: { owners: '*', ...settings },
  })
  const running = await startServer(turnwire, { port })
  t.after(() => running.stop())
  return { ...running, turnwire }
}

export function newWallet(): Promise<Wallet> {
  return walletFromKey(`0x${randomBytes(32).toString('hex')}`)
}

export async function tokenOf(url: string, wallet?: Wallet): Promise<string> {
  const own = wallet ?? (await newWallet())
  const { jwt } = await signIn(readServer(url), own, AbortSignal.timeout(10_000))
  return jwt
}

/** Until the condition holds. */
export async function until(holds: () => unknown, what: string, ms = 20_000): Promise<void> {
  for (const begun = Date.now(); !(await holds()); await sleep(5))
    if (Date.now() - begun > ms) throw new Error(`never: ${what}`)
}

// ---- machines ------------------------------------------------------------------------------------------------------

export type MachineOptions = {
  wallet?: Wallet
  prices?: [input: string, output: string]
  atOnce?: number
  model?: Model
  config?: Partial<TurnwireConfig>
  name?: string
}

export type MachineRig = {
  wallet: Wallet
  agentId: string
  attachment: Attachment
  status: StatusFile
  /** What the status file says now. */
  statusNow: () => AttachStatus
  said: string[]
  /** As `run` ended. */
  over: Promise<void>
}

/** A machine whose agent plays the script, attached. */
export async function machine(...given: Parameters<typeof attaching>): Promise<MachineRig> {
  const rig = await attaching(...given)
  await until(() => rig.said.some(line => line.startsWith('Attached')), 'the machine is attached')
  return rig
}

/** The same, before the server has let it in. */
export async function attaching(
  t: TestContext,
  url: string,
  script: Script = [{ text: 'hello' }],
  options: MachineOptions = {},
): Promise<MachineRig> {
  const wallet = options.wallet ?? (await newWallet())
  const model = options.model ?? scripted(script, { whenOver: 'repeat-last' })
  const config: TurnwireConfig = { agents: [{ name: 'own', model }], data: 'memory', ...options.config }
  const local = await openAttachedAgent(config, undefined, silent)
  const [inputTokenPrice, outputTokenPrice] = options.prices ?? ['0', '0']
  const file = join(folder(t), 'status.json')
  const status = new StatusFile(file, {
    server: url,
    agentId: wallet.address,
    prices: { inputTokenPrice, outputTokenPrice },
  })
  const said: string[] = []
  const attachment = new Attachment({
    server: readServer(url),
    wallet,
    agent: local.agent,
    status,
    atOnce: options.atOnce ?? 8,
    name: options.name,
    say: line => void said.push(line),
    chance: () => 0,
  })
  const over = attachment.run()
  over.catch(() => {})
  t.after(async () => {
    attachment.stop()
    await over.catch(() => {})
    status.write()
    await local.close()
  })
  const statusNow = (): AttachStatus => {
    status.write()
    return readStatus(file)!
  }
  return { wallet, agentId: wallet.address, attachment, status, statusNow, said, over }
}

/** A socket that says what a test wants, for machines that are not honest. */
export class RawMachine {
  readonly frames: ServerFrame[] = []
  readonly closed: Promise<number>
  readonly #socket: WebSocket
  constructor(socket: WebSocket) {
    this.#socket = socket
    socket.on(
      'message',
      data => void this.frames.push(JSON.parse((data as Buffer).toString()) as ServerFrame),
    )
    this.closed = new Promise(resolve => void socket.once('close', resolve))
  }

  static async connect(t: TestContext, url: string, path = '/'): Promise<RawMachine> {
    const socket = new WebSocket(`${url.replace('http', 'ws')}${path}`)
    socket.on('error', () => {})
    t.after(() => socket.terminate())
    const raw = new RawMachine(socket)
    await once(socket, 'open')
    return raw
  }

  /** Signed in. */
  static async attached(
    t: TestContext,
    url: string,
    wallet?: Wallet,
    more: Partial<Extract<OwnerFrame, { type: 'auth' }>> = {},
  ): Promise<RawMachine> {
    const raw = await RawMachine.connect(t, url)
    raw.send({ type: 'auth', jwt: await tokenOf(url, wallet), protocol: 2, ...more })
    await raw.frame('auth_ok')
    return raw
  }

  send(frame: OwnerFrame | JsonObject | string): void {
    this.#socket.send(typeof frame === 'string' ? frame : JSON.stringify(frame))
  }

  end(): void {
    this.#socket.terminate()
  }

  /** The frame of this type that comes after `after` of them. */
  async frame<Type extends ServerFrame['type']>(
    type: Type,
    after = 0,
  ): Promise<Extract<ServerFrame, { type: Type }>> {
    const found = (): ServerFrame | undefined => this.frames.filter(frame => frame.type === type)[after]
    await until(found, `a frame ${type}`)
    return found() as Extract<ServerFrame, { type: Type }>
  }
}

/** A whole response that says this. */
export function saying(
  text: string,
  usage = { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
): JsonObject {
  const content = [{ type: 'output_text', text }]
  const output = [{ type: 'message', id: 'msg_1', role: 'assistant', content, status: 'completed' }]
  return {
    id: 'resp_1',
    object: 'response',
    created_at: 1,
    status: 'completed',
    model: 'default',
    output,
    usage,
  }
}

// ---- clients -------------------------------------------------------------------------------------------------------

export type Asked = { status: number; body: JsonObject; text: string }

export async function ask(
  url: string,
  body: JsonObject,
  { token, path = '/v1/responses', signal }: { token?: string; path?: string; signal?: AbortSignal } = {},
): Promise<Asked> {
  const answer = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(body),
    ...(signal && { signal }),
  })
  const text = await answer.text()
  const isJson = answer.headers.get('content-type')?.includes('json') === true
  return { status: answer.status, text, body: isJson ? (JSON.parse(text) as JsonObject) : {} }
}

/** The text of an answer, or of its failure. */
export function textIn({ body }: Asked): string {
  type Shape = { output?: { content?: { text?: string }[] }[]; error?: { message?: string } }
  const { output, error } = body as Shape
  return (
    output?.flatMap(item => item.content?.map(part => part.text ?? '') ?? []).join('') ?? error?.message ?? ''
  )
}

/** The events of a stream. */
export function eventsIn({ text }: Asked): JsonObject[] {
  return text
    .split('\n')
    .filter(line => line.startsWith('data: {'))
    .map(line => JSON.parse(line.slice(6)) as JsonObject)
}
