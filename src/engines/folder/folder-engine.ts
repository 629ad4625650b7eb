// The engine of a data folder, wherever it runs: in this process if the folder is free, else in the process that has it. When the
// folder changes hands, calls and readers go on in the engine of its new owner.
import { setTimeout as pause } from 'node:timers/promises'
import type { Engine } from '../../engine/ports/boundary.ts'
import type { EngineHere } from '../../engine/ports/local.ts'
import { TurnwireError } from '../../language/errors.ts'
import { MovingEngine } from '../moving/moving-engine.ts'
import type { Place, Search } from '../moving/place.ts'
import { isStopping } from '../socket/index.ts'
import { type FoundEngine, findEngine } from './find-engine.ts'
import { portCall, portsBy } from './folder-calls.ts'
import type { FolderSetup, HandedOver } from './folder-owner.ts'

/** How long a server waits for the tools of the process that had the folder before. */
const reattachMs = 2000

/** Calls and streams that do not wait until the tools of this process are attached to the present engine. */
const goesFirst: ReadonlySet<keyof Engine> = new Set(['attach', 'report', 'changes'])

export class FolderEngine extends MovingEngine {
  readonly #setup: FolderSetup
  #found: Promise<FoundEngine> | undefined
  #serverComes = false
  #closed = false

  constructor(setup: FolderSetup) {
    super()
    this.#setup = setup
  }

  /** Of the folder, wherever its engine runs. A change that was made and not answered is refused the next time. */
  readonly #ports = portsBy(async (port, name, args) => {
    for (;;) {
      const found = await this.#find()
      try {
        return await portCall(found.ports, port, name, args)
      } catch (error) {
        if (this.#closed || !(isStopping(error) || found.over)) throw error
      }
      await found.untilGone()
    }
  })

  readonly payments = this.#ports.payments
  readonly records = this.#ports.records

  /** The engine of this process, if it has the folder. */
  async local(): Promise<EngineHere | undefined> {
    return (await this.#find()).owner?.engine
  }

  /**
   * Takes the folder from a process that is no server, and keeps it. Rejects with `config_invalid` if a server has it.
   */
  async becomeServer(): Promise<void> {
    let before: HandedOver = { attachments: false }
    for (;;) {
      const found = await this.#find()
      const { owner, remote } = found
      if (owner && !owner.leaving) {
        owner.isServer = true
        this.fixed = owner.engine
        // Sessions go on with the tools that they had.
        if (before.attachments) await Promise.race([owner.reattached, pause(reattachMs)])
        return
      }
      try {
        if (remote) before = (await remote.ask('handOver')) as HandedOver // An owner answers with this.
      } catch (error) {
        if (!found.over) throw error
      }
      await found.untilGone()
      // The server that the folder is given up for is this one.
      this.#serverComes = false
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    const found = await this.#found?.catch(() => undefined)
    await found?.close()
  }

  protected override locate(name: keyof Engine): Search {
    let found: FoundEngine | undefined
    return {
      find: async () => {
        found = undefined
        found = await this.#findFor(name)
        return this.#place(found)
      },
      again: async error => {
        if (!found) throw error
        await found.untilGone()
      },
      renew: () => {},
    }
  }

  async #findFor(name: keyof Engine): Promise<FoundEngine> {
    for (;;) {
      const found = await this.#find()
      if (!goesFirst.has(name)) await this.attachments.done
      // A tool that the owner waits for while it stops may still report.
      if (!found.owner?.leaving || name === 'report') return found
      await found.untilGone()
    }
  }

  #place(found: FoundEngine): Place {
    const isOver = (): boolean => !this.#closed && found.over
    return {
      engine: found.engine,
      hasMoved: error => isOver() || (!this.#closed && isStopping(error)),
      hasMovedQuietly: () => Promise.resolve(isOver()),
    }
  }

  #find(): Promise<FoundEngine> {
    if (this.#closed)
      return Promise.reject(new TurnwireError('stopping', 'Turnwire was closed. Open it again first.'))
    this.#found ??= this.#look()
    return this.#found
  }

  async #look(): Promise<FoundEngine> {
    try {
      const options = { server: this.#serverComes, hasAttachments: () => this.attachments.any }
      const found = await findEngine(this.#setup, options)
      this.#serverComes = false
      void found.ended.then(({ server }) => {
        this.#serverComes = server
        this.#found = undefined
        this.attachments.begin(() => void this.#tellReattached())
      })
      return found
    } catch (error) {
      this.#found = undefined
      throw error
    }
  }

  async #tellReattached(): Promise<void> {
    try {
      await (await this.#find()).remote?.ask('reattached')
    } catch {
      // The new owner does not wait for long.
    }
  }
}
