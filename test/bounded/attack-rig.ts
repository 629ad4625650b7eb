// A real server process to attack, and the little that an attacker and an honest client need: whole requests, requests
// whose answer nobody reads, and questions about the memory and the event loop of the process. The server does what a
// user message says (`script`), so that one fixture serves every attack.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { type IncomingHttpHeaders, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { newKey } from '../../src/callers/keys.ts'
import type { ServerConfig } from '../../src/config/config.ts'
import type { Limits } from '../../src/engine/ports/index.ts'
import type { ScriptStep } from '../../src/models/scripted/index.ts'
import type { GateOptions } from '../../src/policy/index.ts'
import { tempFolder } from '../temp-folder.ts'

/** Settings of the attacked server that are plain data. */
export type AttackConfig = {
  server?: ServerConfig
  limits?: Partial<Limits>
  policy?: Pick<GateOptions, 'maxOutputBytes' | 'mediaLimit' | 'clientOutputLimit' | 'rules'>
}

/**
 * One answer of the model. `repeat`: so many times the calls, each with another `n`. `fill`: the calls get one text of so
 * many characters. `fillText`: the answer is a text of so many characters.
 */
export type AttackStep = ScriptStep & { repeat?: number; fill?: number; fillText?: number }

/** The user message that makes the model answer with these steps, and then with "Done.". */
export function script(...steps: AttackStep[]): string {
  return JSON.stringify({ steps })
}

export const MiB = 1024 * 1024

export type AttackOptions = {
  config?: AttackConfig
  /** Owners that get a key. None: the server is open. */
  owners?: readonly string[]
  /** Flags of node, such as --max-old-space-size. */
  flags?: readonly string[]
  /** A folder that is there already. It is not removed. */
  folder?: string
  env?: Record<string, string>
  /** Another program in place of attack-server.ts. It is given the folder and prints its address. */
  program?: string
}

export type Answer = { status: number; headers: IncomingHttpHeaders; text: string }
export type Sent = {
  method?: string
  path: string
  /** Text is sent as it is, anything else as JSON. */
  body?: unknown
  headers?: Record<string, string>
  /** The owner whose key is used. */
  as?: string
}

export type Memory = { rss: number; heapUsed: number; external: number; arrayBuffers: number }
/** Since `watch`: the largest memory, and the most CPU time of the main thread between two ticks of 5 ms. */
export type Seen = { peakRss: number; stallMs: number }

export class Attacked {
  readonly url: string
  readonly port: number
  readonly folder: string
  readonly child: ChildProcess
  readonly keys: Readonly<Record<string, string>>
  /** Its exit code, or the signal that ended it. */
  readonly exit: Promise<number | string>
  readonly #log: () => string
  #asked = 0

  constructor(started: Started, folder: string, keys: Record<string, string>) {
    this.url = started.url
    this.port = Number(new URL(started.url).port)
    this.folder = folder
    this.child = started.child
    this.keys = keys
    this.exit = started.exit
    this.#log = started.log
  }

  /** What it has written to standard error. */
  get log(): string {
    return this.#log()
  }

  /** After a collection of garbage. */
  memory(): Promise<Memory> {
    return this.#ask<Memory>('memory')
  }

  /** Forgets the largest memory and the longest stall. */
  async watch(): Promise<void> {
    await this.#ask('watch')
  }

  seen(): Promise<Seen> {
    return this.#ask<Seen>('seen')
  }

  /** How many times as long as on a quiet machine its main thread takes for some work now. */
  slowness(): Promise<number> {
    return this.#ask<number>('slowness')
  }

  /** Someone sets the clock of its machine back by an hour. */
  async setClockBack(): Promise<void> {
    await this.#ask('clock back')
  }

  #ask<T>(question: string): Promise<T> {
    const id = ++this.#asked
    return new Promise((resolve, reject) => {
      const take = (message: unknown): void => {
        const { id: answered, answer } = message as { id: number; answer: T } // From attack-probe.ts.
        if (answered !== id) return
        this.child.off('message', take)
        resolve(answer)
      }
      this.child.on('message', take)
      void this.exit.then(how => reject(new Error(`The server ended with ${how}:\n${this.log}`)))
      this.child.send({ id, question })
    })
  }

  #headers({ body, headers, as }: Sent): Record<string, string> {
    const key = as === undefined ? undefined : this.keys[as]
    return {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...headers,
    }
  }

  /** A whole request. `onData` sees the answer as it comes. */
  send(sent: Sent, onData?: (text: string) => void): Promise<Answer> {
    const { method = sent.body === undefined ? 'GET' : 'POST', path, body } = sent
    return new Promise((resolve, reject) => {
      const asked = request({
        host: '127.0.0.1',
        port: this.port,
        method,
        path,
        headers: this.#headers(sent),
        agent: false,
      })
      asked.on('error', reject)
      asked.on('response', response => {
        const pieces: string[] = []
        response.setEncoding('utf8')
        response.on('data', (piece: string) => {
          pieces.push(piece)
          onData?.(piece)
        })
        response.on('error', reject)
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text: pieces.join('') }),
        )
      })
      asked.end(typeof body === 'string' ? body : body === undefined ? undefined : JSON.stringify(body))
    })
  }

  /** Sends the request and never reads the answer. Resolves once the request is sent. */
  ignore(sent: Sent): Promise<Socket> {
    const { method = sent.body === undefined ? 'GET' : 'POST', path } = sent
    const body = sent.body === undefined ? '' : JSON.stringify(sent.body)
    const head = Object.entries(this.#headers(sent)).map(([name, value]) => `${name}: ${value}\r\n`)
    const length = body === '' ? '' : `content-length: ${Buffer.byteLength(body)}\r\n`
    return new Promise((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port: this.port })
      socket.pause()
      socket.on('error', reject)
      socket.once('connect', () => {
        socket.write(
          `${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1:${this.port}\r\n${head.join('')}${length}\r\n${body}`,
          () => resolve(socket),
        )
      })
    })
  }

  /** A session of the agent that does what it is told, over AAP. */
  async session(as?: string): Promise<string> {
    const answer = await this.send({
      path: '/sessions',
      body: { agent: { name: 'helper', tools: [{ name: 'mail' }] } },
      ...(as !== undefined && { as }),
    })
    if (answer.status !== 201) throw new Error(`${answer.status} ${answer.text}`)
    return (JSON.parse(answer.text) as { sessionId: string }).sessionId
  }

  /** One turn over AAP, read to its end. */
  turn(session: string, words: string, more: { as?: string; stream?: 'none' | 'delta' | 'message' } = {}) {
    const { stream = 'none', ...rest } = more
    const body = { messages: [{ role: 'user', content: words }], stream }
    return this.send({ path: `/sessions/${session}/turns`, body, ...rest })
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | string> {
    this.child.kill(signal)
    return this.exit
  }
}

/** The part of a test that a server needs: it ends when the test does. */
export type Lifetime = { after(end: () => unknown): void }

type Started = { url: string; child: ChildProcess; exit: Promise<number | string>; log: () => string }

/** A server that is up. It ends with the test. */
export async function attacked(t: Lifetime, options: AttackOptions = {}): Promise<Attacked> {
  const folder = options.folder ?? attackFolder(t)
  const made = (options.owners ?? []).map(owner => ({ owner, ...newKey(owner) }))
  const server: ServerConfig = {
    graceMs: 100,
    ...options.config?.server,
    ...(made.length > 0 && { keys: made.map(({ entry }) => entry) }),
  }
  const started = await start(t, folder, { ...options, config: { ...options.config, server } })
  return new Attacked(started, folder, Object.fromEntries(made.map(({ owner, key }) => [owner, key])))
}

/** A data folder that goes with the test. */
export function attackFolder(t: Lifetime): string {
  return tempFolder(t, 'turnwire-attack-')
}

const here = (file: string): string => join(import.meta.dirname, file)

function start(t: Lifetime, folder: string, options: AttackOptions): Promise<Started> {
  const { flags = [], env = {}, program = here('attack-server.ts'), config } = options
  const child = spawn(
    process.execPath,
    ['--expose-gc', ...flags, '--import', here('attack-probe.ts'), program, folder],
    {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: { ...process.env, ATTACK_CONFIG: JSON.stringify(config), ...env },
    },
  )
  let out = ''
  let log = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (log += text))
  const exit = new Promise<number | string>(resolve => {
    child.once('close', (code, signal) => resolve(code ?? signal ?? 'gone'))
  })
  t.after(async () => {
    child.kill('SIGKILL')
    await exit
  })
  return new Promise((resolve, reject) => {
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      out += text
      const url = /http:\/\/\S+/.exec(out)?.[0]
      if (url !== undefined) resolve({ url, child, exit, log: () => log })
    })
    void exit.then(how => reject(new Error(`The server ended with ${how} before it was up:\n${log}`)))
  })
}

/** A process that tells its longest stall. */
export type Stallable = Pick<Attacked, 'watch' | 'seen' | 'slowness'>

/** CPU time of the main thread between two ticks that nothing may exceed, on a quiet machine. */
export const mostStallMs = 100

const tries = 3

/**
 * Attacks up to three times and asserts that the loop was once free enough: whatever else the machine does only adds to a
 * stall. The line moves with the speed of the process. An attack that leaves something behind, such as a compiled schema,
 * takes another form in each try.
 */
export async function assertFree(
  server: Stallable,
  what: string,
  attack: (attempt: number) => Promise<unknown>,
  most = mostStallMs,
): Promise<void> {
  const seen: string[] = []
  for (let attempt = 0; attempt < tries; attempt += 1) {
    const { stallMs, line } = await stallOf(server, () => attack(attempt), most)
    if (stallMs < line) return
    seen.push(`${Math.round(stallMs)} of ${Math.round(line)} ms`)
  }
  assert.fail(`${what}: the loop was held for ${seen.join(', ')}`)
}

/** The longest stall during an attack, and the line for it on this machine at this time. */
export async function stallOf(
  server: Stallable,
  attack: () => Promise<unknown>,
  most = mostStallMs,
): Promise<{ stallMs: number; line: number }> {
  await server.watch()
  await attack()
  const { stallMs } = await server.seen()
  return { stallMs, line: stallMs < most ? most : most * (await server.slowness()) }
}

/** Waits until it holds, for effects that show from outside only. The time is a guard: a busy machine takes long. */
export async function until(holds: () => boolean | Promise<boolean>, ms = 120_000): Promise<void> {
  const end = performance.now() + ms
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`It did not come to hold within ${ms} ms.`)
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}
