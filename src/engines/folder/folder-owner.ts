// A data folder that this process has: its lock, its store, the engine that runs on it, and the socket by which other
// processes use that engine. A process gives its folder up when a server asks for it, unless it is a server itself.

import type { RecordStore, Store } from '../../engine/ports/index.ts'
import type { EngineHere, Log } from '../../engine/ports/local.ts'
import { TurnwireError, wordsOf } from '../../language/errors.ts'
import type { KeepsPayments } from '../../payments/port.ts'
import {
  type Channel,
  type ExtraCalls,
  type FolderSocket,
  isSecret,
  listenIn,
  makeSecret,
  serveEngine,
  streamChannel,
} from '../socket/index.ts'
import { type FolderPort, type FolderPorts, portCall } from './folder-calls.ts'
import { type FolderLock, takeFolderLock } from './folder-lock.ts'

/** The store of a folder. */
export type FolderStore = Store & KeepsPayments & { readonly records: RecordStore }

export type FolderSetup = {
  folder: string
  /** Of this program. Processes of two versions cannot share a folder. */
  version: string
  /** Opens the store; called only while the lock is held. */
  openStore(): Promise<FolderStore>
  startEngine(store: Store): EngineHere
  /** Called once the engine has stopped, before another process can have the folder. */
  engineStopped?(): Promise<void>
  /** How long running tools may take to finish before the folder is given up. */
  graceMs: number
  log: Log
}

/** The first message to a process that connects. */
export type Hello = { version: string; pid: number }

/** `attachments`: tools that run in the process which gives the folder up, and which it will attach again. */
export type HandedOver = { attachments: boolean }

/** Sent to connected processes when the engine stops. `server`: wait for a server instead of taking the folder. */
export type LeavingNote = { leaving: true; server: boolean }

export class FolderOwner {
  readonly engine: EngineHere
  readonly #setup: FolderSetup
  readonly #store: FolderStore
  readonly #lock: FolderLock
  readonly #channels = new Set<Channel>()
  readonly #ended = Promise.withResolvers<void>()
  readonly #reattached = Promise.withResolvers<void>()
  readonly #hasAttachments: () => boolean
  #socket: FolderSocket | undefined
  #leaving: Promise<void> | undefined
  isServer = false
  /** A server has asked for the folder. */
  serverComes = false

  private constructor(
    setup: FolderSetup,
    lock: FolderLock,
    store: FolderStore,
    hasAttachments: () => boolean,
  ) {
    this.#hasAttachments = hasAttachments
    this.#setup = setup
    this.#lock = lock
    this.#store = store
    this.engine = setup.startEngine(store)
  }

  /** Undefined: another process has the folder. */
  static async take(setup: FolderSetup, hasAttachments: () => boolean): Promise<FolderOwner | undefined> {
    const lock = takeFolderLock(setup.folder)
    if (!lock) return undefined
    let store: FolderStore | undefined
    try {
      store = await setup.openStore()
      const owner = new FolderOwner(setup, lock, store, hasAttachments)
      await owner.#listen()
      return owner
    } catch (error) {
      await store?.close()
      lock.release()
      throw error
    }
  }

  /** Resolves once another process may have the folder. */
  get ended(): Promise<void> {
    return this.#ended.promise
  }

  /** Resolves once the process that had the folder before has attached its tools again. */
  get reattached(): Promise<void> {
    return this.#reattached.promise
  }

  get ports(): FolderPorts {
    return this.#store
  }

  get leaving(): boolean {
    return this.#leaving !== undefined
  }

  /** Model steps are dropped, and the next owner of the folder asks again; running calls get their time to finish. */
  leave(): Promise<void> {
    this.#leaving ??= this.#leave()
    return this.#leaving
  }

  async #leave(): Promise<void> {
    for (const channel of this.#channels) this.#tellLeaving(channel)
    try {
      await this.engine.stop(this.#setup.graceMs)
      await this.#setup.engineStopped?.()
      const closed = this.#socket?.close()
      for (const channel of this.#channels) channel.close()
      await closed
      await this.#store.close()
    } catch (error) {
      this.#setup.log('error', 'The engine could not be stopped in good order.', { error: wordsOf(error) })
    } finally {
      this.#lock.release()
      this.#ended.resolve()
    }
  }

  #tellLeaving(channel: Channel): void {
    const note: LeavingNote = { leaving: true, server: this.serverComes }
    channel.send({ type: 'note', note })
  }

  /** Some file systems have no sockets. The folder can be used there by one process at a time. */
  async #listen(): Promise<void> {
    const { folder, log } = this.#setup
    try {
      const secret = makeSecret(folder)
      this.#socket = await listenIn(folder, socket => this.#welcome(streamChannel(socket), secret))
    } catch (error) {
      log('warn', 'No socket can be made in the data folder: other processes cannot use it meanwhile.', {
        folder,
        error: wordsOf(error),
      })
    }
  }

  /** A peer is told the version, so that it can say what to do, and nothing else before it has given the secret. */
  #welcome(channel: Channel, secret: string): void {
    channel.keepAlive(false)
    this.#channels.add(channel)
    void channel.closed.then(() => this.#channels.delete(channel))
    if (this.#leaving) this.#tellLeaving(channel)
    let isKnown = false
    const admit = (): void => {
      if (!isKnown) throw this.#unknownPeer()
    }
    const ported =
      (port: FolderPort): ExtraCalls[string] =>
      (name, ...args) => {
        admit()
        return portCall(this.ports, port, name, args)
      }
    const calls: ExtraCalls = {
      hello: (given): Hello => {
        isKnown = isSecret(given, secret)
        // Versions before this one give no secret. They compare the version and stop.
        if (given !== undefined) admit()
        return { version: this.#setup.version, pid: process.pid }
      },
      handOver: () => {
        admit()
        return this.#handOver()
      },
      reattached: () => {
        admit()
        this.#reattached.resolve()
      },
      payments: ported('payments'),
      records: ported('records'),
    }
    serveEngine(channel, this.engine, calls, admit)
  }

  #unknownPeer(): TurnwireError {
    return new TurnwireError(
      'unauthorized',
      `The process that asks does not know the secret in ${this.#setup.folder}. Run it as the user that owns this folder, with the whole folder at hand.`,
    )
  }

  #handOver(): HandedOver {
    if (this.isServer)
      throw new TurnwireError(
        'config_invalid',
        `A server (process ${process.pid}) has the data folder ${this.#setup.folder}. Stop it, or serve another folder with --data <folder>.`,
      )
    this.serverComes = true
    void this.leave()
    return { attachments: this.#hasAttachments() }
  }
}
