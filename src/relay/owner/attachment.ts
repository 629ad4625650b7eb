// An owner's machine, attached to a relay: it connects, signs in, answers requests, and connects again when the connection
// is lost. It listens nowhere. Of the server's frames it knows six; everything else is ignored.
import { setTimeout as sleep } from 'node:timers/promises'
import type { WebSocket } from 'ws'
import type { Wallet } from '../../callers/wallet.ts'
import { publicError, TurnwireError, wordsOf } from '../../language/errors.ts'
import { isJsonObject, type JsonObject } from '../../lib/json/index.ts'
import { printable } from '../../lib/text/index.ts'
import { asString } from '../../models/common/json-read.ts'
import { type OwnerFrame, protocolVersion, readServerFrame, type ServerFrame } from '../frames.ts'
import { checkRelayedBody } from '../request.ts'
import type { LocalAgent } from './local-agent.ts'
import { RelayEvents } from './relay-events.ts'
import { SignInFailure, signIn } from './sign-in.ts'
import type { AttachStatus, StatusFile } from './status.ts'

export type AttachOptions = {
  server: URL
  wallet: Wallet
  agent: LocalAgent
  status: StatusFile
  /** Requests that are answered at the same time. */
  atOnce: number
  name?: string | undefined
  description?: string | undefined
  /** One line for the owner. */
  say: (line: string) => void
  /** From 0 to 1. */
  chance?: () => number
}

const MiB = 1024 * 1024
const mostFrameBytes = 24 * MiB
/** Unsent bytes after which an answer waits. */
const mostUnsent = 4 * MiB
const restart = 1012
/** A server that says nothing for this long is gone: it pings more often. */
const silenceMs = 90_000
const firstWaitMs = 1_000
const longestWaitMs = 30_000

/** Doubles up to 30 s, with up to a quarter more by chance, so that machines do not come back together. */
export function waitMs(failures: number, chance: number): number {
  return Math.min(longestWaitMs, firstWaitMs * 2 ** Math.min(failures, 10)) * (1 + chance / 4)
}

type Closed = { code: number; refused?: string; wasAttached: boolean }

export class Attachment {
  readonly #options: AttachOptions
  readonly #stopping = new AbortController()
  #socket: WebSocket | undefined

  constructor(options: AttachOptions) {
    this.#options = options
  }

  /** Until it is stopped. Rejects with `unauthorized` when the server refuses this wallet, which no further attempt changes. */
  async run(): Promise<void> {
    const { status, say, chance = Math.random } = this.#options
    const { signal } = this.#stopping
    let failures = 0
    while (!signal.aborted) {
      status.now('connecting')
      const closed = await this.#once()
      if (signal.aborted) break
      if (closed.refused !== undefined) {
        status.now('stopped')
        throw new TurnwireError('unauthorized', `The server refused: ${closed.refused}`)
      }
      failures = closed.wasAttached ? 0 : failures
      const isRestart = closed.wasAttached && closed.code === restart
      const ms = isRestart ? 0 : waitMs(failures, chance())
      failures += 1
      status.now('waiting')
      say(
        isRestart
          ? 'The server restarts. Connecting again.'
          : `Not connected. Next attempt in ${Math.round(ms / 100) / 10} s.`,
      )
      await sleep(ms, undefined, { signal }).catch(() => {})
    }
    status.now('stopped')
  }

  /** Answers under way are given up; the server is told that this is a normal end. */
  stop(): void {
    this.#stopping.abort(new Error('The owner stopped it.'))
    this.#socket?.close(1000)
  }

  /** From now on requests cost this. */
  reprice(prices: AttachStatus['prices']): void {
    this.#send({ type: 'price_update', ...prices })
    this.#options.status.reprice(prices)
  }

  /** One connection, from the first attempt to its end. Never rejects. */
  async #once(): Promise<Closed> {
    const { server, wallet, say } = this.#options
    try {
      const { jwt } = await signIn(server, wallet, this.#stopping.signal)
      const { WebSocket } = await import('ws')
      const address = server.href.replace(/^http/, 'ws')
      const socket = new WebSocket(address, {
        maxPayload: mostFrameBytes,
        perMessageDeflate: false,
        handshakeTimeout: 20_000,
      })
      this.#socket = socket
      return await this.#speak(socket, jwt)
    } catch (error) {
      const isFinal = error instanceof SignInFailure && error.final
      const words = wordsOf(error)
      if (!this.#stopping.signal.aborted && !isFinal) say(words)
      return { code: 0, wasAttached: false, ...(isFinal && { refused: words }) }
    }
  }

  #speak(socket: WebSocket, jwt: string): Promise<Closed> {
    const { status, say } = this.#options
    const connection = new RelayConnection(socket, this.#options, this.#stopping.signal)
    return new Promise(resolve => {
      const quiet = setTimeout(() => socket.terminate(), silenceMs)
      socket.on('open', () => {
        const { name, description } = this.#options
        const about = {
          ...(name && { agentName: name }),
          ...(description && { agentDescription: description }),
        }
        this.#send({ type: 'auth', jwt, protocol: protocolVersion, ...status.prices, ...about })
      })
      socket.on('ping', () => quiet.refresh())
      socket.on('message', (data, binary) => {
        quiet.refresh()
        if (!binary && Buffer.isBuffer(data)) connection.take(data.toString())
      })
      socket.on('error', error => say(`The connection failed: ${printable(error.message, 200)}`))
      socket.on('close', code => {
        clearTimeout(quiet)
        connection.leave()
        this.#socket = undefined
        resolve({ code, ...connection.result })
      })
    })
  }

  #send(frame: OwnerFrame): void {
    const socket = this.#socket
    if (socket?.readyState === socket?.OPEN) socket?.send(JSON.stringify(frame))
  }
}

/** One open socket and the answers that go out over it. */
class RelayConnection {
  readonly #socket: WebSocket
  readonly #options: AttachOptions
  readonly #gone = new AbortController()
  readonly #signal: AbortSignal
  readonly #running = new Set<string>()
  #attached = false
  #refused: string | undefined

  constructor(socket: WebSocket, options: AttachOptions, stopping: AbortSignal) {
    this.#socket = socket
    this.#options = options
    this.#signal = AbortSignal.any([this.#gone.signal, stopping])
  }

  get result(): Omit<Closed, 'code'> {
    return { wasAttached: this.#attached, ...(this.#refused !== undefined && { refused: this.#refused }) }
  }

  leave(): void {
    this.#gone.abort(new Error('The connection is closed.'))
  }

  take(text: string): void {
    const read = readServerFrame(text, mostFrameBytes)
    if (!('frame' in read)) return
    const { frame } = read
    if (frame.type === 'ping') this.#send({ type: 'pong', ts: frame.ts })
    else if (frame.type === 'request') void this.#serve(frame)
    else if (frame.type === 'auth_error') {
      this.#refused = printable(frame.message, 500)
      this.#socket.close(1000)
    } else if (frame.type === 'auth_ok') {
      this.#attached = true
      this.#options.status.now('attached')
      this.#options.say('Attached. Requests are answered until this stops.')
    }
  }

  /** Never rejects. */
  async #serve({ id, body }: Extract<ServerFrame, { type: 'request' }>): Promise<void> {
    const { status, atOnce } = this.#options
    // A server that has not let us in has nothing to ask.
    if (!this.#attached || this.#running.has(id)) return
    if (this.#running.size >= atOnce) {
      this.#refuse(id, `This machine answers ${atOnce} requests already.`)
      return
    }
    this.#running.add(id)
    status.began()
    try {
      checkRelayedBody(body)
      await this.#answer(id, body)
    } catch (error) {
      if (!this.#signal.aborted) this.#fail(id, error)
    } finally {
      this.#running.delete(id)
      status.ended()
    }
  }

  async #answer(id: string, body: JsonObject): Promise<void> {
    const { agent, status } = this.#options
    const isStream = body['stream'] === true
    const events = new RelayEvents()
    for await (const given of agent(body, this.#signal)) {
      const event = events.take(given)
      if (!event || !isStream) continue
      this.#send({ type: 'stream_event', id, event })
      if (this.#socket.bufferedAmount > mostUnsent) await this.#ready()
    }
    const { response } = events
    this.#signal.throwIfAborted()
    if (!response) throw new TurnwireError('model_failed', 'The agent broke off its answer.')
    const { error } = response
    if (response['status'] === 'failed')
      throw new TurnwireError(
        'model_failed',
        isJsonObject(error) ? asString(error['message']) : 'The agent failed.',
      )
    if (isStream) this.#send({ type: 'stream_end', id, usage: events.usage })
    else this.#send({ type: 'response', id, body: response })
    status.served(events.usage)
  }

  /** Requests that cannot be answered are refused; everything else has failed. The server learns no detail of this machine. */
  #fail(id: string, error: unknown): void {
    const { message, status } = publicError(error)
    if (status < 500 && error instanceof TurnwireError && error.code !== 'model_rejected') {
      this.#refuse(id, message)
      return
    }
    this.#options.status.failed()
    this.#options.say(`A request failed: ${printable(wordsOf(error), 300)}`)
    this.#send({ type: 'error', id, code: 'plugin_error', message: message.slice(0, 1_000) })
  }

  #refuse(id: string, reason: string): void {
    this.#options.status.refused(reason)
    this.#options.say(`A request was refused: ${printable(reason, 300)}`)
    this.#send({ type: 'error', id, code: 'plugin_error', message: reason.slice(0, 1_000) })
  }

  async #ready(): Promise<void> {
    while (this.#socket.bufferedAmount > mostUnsent / 2 && !this.#signal.aborted) await sleep(20)
  }

  #send(frame: OwnerFrame): void {
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.send(JSON.stringify(frame))
  }
}
