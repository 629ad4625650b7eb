// JSON-RPC over a WebSocket, or over the standard input and output of a command: one connection for each check. Handlers
// answer the requests of the other side; all frames that it sent are kept in order.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { WebSocket } from 'ws'
import { errorMessage } from '../lib/text/error-message.ts'
import { Broken, parsed, pick, shown, text } from './check.ts'
import type { Target } from './trial.ts'

/** Where a server of JSON-RPC is: at an address, or a command with its arguments. */
export type RpcPlace = { address: string } | { command: readonly string[] }

type Channel = { write(text: string): void; close(): Promise<void> }
type Handler = (params: unknown) => unknown

export class RpcTrial {
  readonly target: Target
  readonly signal: AbortSignal
  /** All that the other side has sent. */
  readonly frames: unknown[] = []
  readonly #place: RpcPlace
  readonly #handlers = new Map<string, Handler>()
  #channel: Channel | undefined
  #waiting: (() => void)[] = []
  #sent = ''
  #lost: string | undefined
  #lastId = 0

  constructor(target: Target, place: RpcPlace) {
    this.target = target
    this.#place = place
    this.signal = AbortSignal.timeout(target.timeoutMs)
    this.signal.addEventListener('abort', () => this.#wake())
  }

  get sent(): string {
    return this.#sent
  }

  get got(): string {
    return this.frames.length === 0 ? (this.#lost ?? 'nothing') : shown(this.frames.at(-1))
  }

  on(method: string, handler: Handler): void {
    this.#handlers.set(method, handler)
  }

  async raw(frame: string): Promise<void> {
    this.#channel ??= await this.#open()
    this.#sent = shown(frame)
    this.#channel.write(frame)
  }

  notify(method: string, params: unknown): Promise<void> {
    return this.raw(JSON.stringify({ jsonrpc: '2.0', method, params }))
  }

  /** Gives the id under which the answer will come. */
  async post(method: string, params: unknown): Promise<number> {
    this.#lastId += 1
    await this.raw(JSON.stringify({ jsonrpc: '2.0', id: this.#lastId, method, params }))
    return this.#lastId
  }

  async request(method: string, params: unknown): Promise<unknown> {
    return this.answerTo(await this.post(method, params))
  }

  answerTo(id: number | null): Promise<unknown> {
    return this.until(
      frame => pick(frame, 'id') === id && pick(frame, 'method') === undefined,
      id === null ? 'an answer with the id null' : 'an answer',
    )
  }

  /** The first frame of which this holds, once it has come. */
  async until(holds: (frame: unknown) => boolean, expected: string): Promise<unknown> {
    for (;;) {
      const found = this.frames.find(holds)
      if (found !== undefined) return found
      if (this.signal.aborted) throw new Broken(`${expected} within ${this.target.timeoutMs / 1000} s`)
      if (this.#lost !== undefined) throw new Broken(expected, this.#lost)
      await new Promise<void>(resolve => this.#waiting.push(resolve))
    }
  }

  async close(): Promise<void> {
    await this.#channel?.close()
  }

  failure(error: unknown): Broken {
    return new Broken('an answer', errorMessage(error))
  }

  #take(line: string): void {
    if (line.trim() === '') return
    const frame = parsed(line)
    this.frames.push(frame ?? `no JSON: ${line}`)
    const [id, method] = [pick(frame, 'id'), text(frame, 'method')]
    if (method !== '' && id !== undefined) this.#reply(id, method, pick(frame, 'params'))
    this.#wake()
  }

  #reply(id: unknown, method: string, params: unknown): void {
    const handler = this.#handlers.get(method)
    const body = handler
      ? { result: handler(params) }
      : { error: { code: -32601, message: 'The suite does not serve this method.' } }
    this.#channel?.write(JSON.stringify({ jsonrpc: '2.0', id, ...body }))
  }

  #lose(why: string): void {
    this.#lost ??= why
    this.#wake()
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve()
  }

  #open(): Promise<Channel> {
    return 'command' in this.#place ? this.#start(this.#place.command) : this.#dial(this.#place.address)
  }

  async #dial(address: string): Promise<Channel> {
    const { key } = this.target
    const headers = key === undefined ? {} : { authorization: `Bearer ${key}` }
    const socket = new WebSocket(address, { headers, handshakeTimeout: this.target.timeoutMs })
    socket.binaryType = 'nodebuffer'
    socket.on('message', (data: Buffer) => this.#take(data.toString()))
    socket.on('close', code => this.#lose(`the connection was closed with ${code}`))
    await once(socket, 'open')
    socket.on('error', error => this.#lose(error.message))
    return {
      write: frame => socket.send(frame),
      close: async () => {
        if (socket.readyState === WebSocket.CLOSED) return
        const closed = once(socket, 'close')
        socket.terminate()
        await closed
      },
    }
  }

  async #start([program = '', ...args]: readonly string[]): Promise<Channel> {
    const child: ChildProcess = spawn(program, args, { stdio: ['pipe', 'pipe', 'ignore'] })
    await once(child, 'spawn')
    child.on('exit', code => this.#lose(`the command ended with ${code ?? 'a signal'}`))
    child.stdin?.on('error', error => this.#lose(error.message))
    if (child.stdout) createInterface({ input: child.stdout }).on('line', line => this.#take(line))
    return {
      write: frame => void child.stdin?.write(`${frame}\n`),
      close: async () => {
        if (child.exitCode !== null || child.signalCode !== null) return
        const ended = once(child, 'exit')
        child.kill('SIGTERM')
        const patience = setTimeout(() => child.kill('SIGKILL'), 2000)
        await ended
        clearTimeout(patience)
      },
    }
  }
}
