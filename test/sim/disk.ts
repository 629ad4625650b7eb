// A store that behaves as badly as the store port allows: it is slow, it acknowledges late and out of order, it fails,
// and when a machine dies any prefix of that machine's open writes may have been recorded. The data is in a memory
// store; a shadow copy lets the checks read it synchronously.
import type { Limits, NewSession, Store } from '../../src/engine/ports/index.ts'
import { TurnwireError } from '../../src/language/errors.ts'
import type { Event } from '../../src/language/events.ts'
import { failsWith, type WriteRequest } from '../../src/stores/failures.ts'
import { memoryStore, sharedMemory } from '../../src/stores/memory.ts'
import type { Chance } from './chance.ts'
import type { NodeCalls } from './cluster.ts'
import { LogRules, type TrustOf } from './log-rules.ts'
import type { Machine, Scheduler } from './scheduler.ts'
import type { Trace } from './trace.ts'

/** The durable part of one session. */
export type Shadow = { owner: string; events: Event[]; texts: string[]; rules: LogRules }

type Write = {
  asked: WriteRequest
  apply: () => Promise<unknown>
  resolve: (value: unknown) => void
  reject: (reason: unknown) => void
}

type Lane = { writes: Write[]; busy: boolean; failure: { error: TurnwireError; epoch?: number } | undefined }

export class Disk {
  readonly #inner = memoryStore()
  /** With leases: the store that several nodes share. */
  readonly #shared: ReturnType<typeof sharedMemory> | undefined
  readonly #scheduler: Scheduler
  readonly #chance: Chance
  readonly #trace: Trace
  readonly #trustOf: TrustOf
  readonly #limits: Limits
  readonly shadows = new Map<string, Shadow>()
  /** How often a session was written under another epoch than before. */
  takeOvers = 0
  readonly #epochs = new Map<string, number>()
  /** The probability that a write fails, and the longest delay. */
  failing = 0
  slowest = 8
  /** How long sessions hold back deferrable events. */
  readonly #lingerMs: number

  constructor(
    scheduler: Scheduler,
    chance: Chance,
    trace: Trace,
    trustOf: TrustOf,
    limits: Limits,
    leases = false,
  ) {
    this.#shared = leases ? sharedMemory(() => scheduler.now) : undefined
    this.#scheduler = scheduler
    this.#chance = chance
    this.#trace = trace
    this.#trustOf = trustOf
    this.#limits = limits
    this.#lingerMs = chance.whole(0, 12)
  }

  /** The store as one machine sees it. */
  connect(machine: Machine): Store {
    return this.#connect(machine, this.#inner)
  }

  /** The same for a node of many, which has a lease. */
  connectNode(machine: Machine): { store: Store; calls: NodeCalls } {
    const inner = this.#shared!.open() // It was made with leases.
    const store = this.#connect(machine, inner)
    const lane: Lane = { writes: [], busy: false, failure: undefined }
    // Like a claim: it fails when writes do, and no failure of a session reaches it.
    const write = <T>(apply: () => Promise<T>): Promise<T> =>
      this.#write(machine, lane, { kind: 'claim' }, apply) as Promise<T>
    return {
      store,
      calls: {
        join: (node, ms) => write(() => inner.join(node, ms)),
        renew: () => write(() => inner.renew()),
        leave: () => write(() => inner.leave()),
        adopt: (session, epoch) => write(() => inner.adopt(session, epoch)),
        release: (session, epoch) => write(() => inner.release(session, epoch)),
        nodes: () => this.#read(machine, () => inner.nodes()),
        abandoned: (after, limit) => this.#read(machine, () => inner.abandoned(after, limit)),
      },
    }
  }

  /** The machine that has a session, by name. A node's id begins with it. */
  async holder(session: string): Promise<string | undefined> {
    return (await this.#shared?.open().holder(session))?.node?.id.split('.')[0]
  }

  /** The tokens that an owner has used, as counted. The simulation's clock begins in 1970. */
  async spent(owner: string): Promise<number> {
    const store: Store = this.#shared?.open() ?? this.#inner
    return (await store.spent!({ owner }, '1970')).tokens // See above.
  }

  /** Sessions at work that no node with a lease has, but for those that nobody should continue. */
  async abandoned(mostRecoveries: number): Promise<string[]> {
    const store = this.#shared!.open() // It was made with leases.
    const ids: string[] = []
    for (const { id } of await store.abandoned('', 100))
      if (((await store.row(id))?.recoveries ?? 0) < mostRecoveries) ids.push(id)
    return ids
  }

  #connect(machine: Machine, inner: Store): Store {
    const lanes = new Map<string, Lane>()
    machine.onDeath(() => this.#crash(machine, lanes))
    const write = <T>(session: string, asked: WriteRequest, apply: () => Promise<T>): Promise<T> =>
      // The lane resolves it with the value of `apply`.
      this.#write(machine, laneOf(lanes, session), asked, apply) as Promise<T>
    const read = <T>(look: () => Promise<T>): Promise<T> => this.#read(machine, look)
    return {
      create: session => {
        const text = JSON.stringify(session)
        return write(session.row.id, { kind: 'create' }, () => this.#create(inner, parsed(text)))
      },
      claim: (id, recovering) => write(id, { kind: 'claim' }, () => inner.claim(id, recovering)),
      append: batch => {
        const text = JSON.stringify(batch)
        return write(batch.session, { kind: 'append', epoch: batch.epoch }, () =>
          this.#append(inner, parsed(text)),
        )
      },
      lingerMs: this.#lingerMs,
      remove: id =>
        write(id, { kind: 'remove' }, async () => {
          this.shadows.delete(id)
          return inner.remove(id)
        }),
      putBlob: (id, name, body) => write(id, { kind: 'putBlob' }, () => inner.putBlob(id, name, body)),
      addPiece: (id, name, piece) => {
        const copy = structuredClone(piece)
        const asked = { kind: 'addPiece', epoch: piece.epoch } as const
        return write(id, asked, () => inner.addPiece(id, name, copy))
      },
      row: id => read(() => inner.row(id)),
      requested: (owner, key) => read(() => inner.requested(owner, key)),
      // As from a disk: no two reads share an object.
      read: (id, after, options) =>
        read(async () => parsed(JSON.stringify(await inner.read(id, after, options)))),
      list: (owner, page) => read(() => inner.list(owner, page)),
      owners: () => read(() => inner.owners()),
      usage: owner => read(() => inner.usage(owner)),
      spent: (of, period) => read(() => inner.spent!(of, period)), // A memory can count.
      records: inner.records!, // A memory keeps them.
      unfinished: () => read(() => inner.unfinished()),
      blob: (id, name) => read(() => inner.blob(id, name)),
      blobs: id => read(() => inner.blobs(id)),
      blobRange: (id, name, from, length) => read(() => inner.blobRange(id, name, from, length)),
      close: async () => {},
    }
  }

  // ---- writing -------------------------------------------------------------------------------------------

  #write(machine: Machine, lane: Lane, asked: WriteRequest, apply: Write['apply']): Promise<unknown> {
    if (!machine.alive) return new Promise(() => {})
    return new Promise((resolve, reject) => {
      lane.writes.push({ asked, apply, resolve, reject })
      this.#next(machine, lane)
    })
  }

  #next(machine: Machine, lane: Lane): void {
    if (lane.busy || lane.writes.length === 0) return
    lane.busy = true
    this.#scheduler.after(this.#delay(), () => {
      if (machine.alive) void this.#commit(machine, lane)
    })
  }

  /** The moment at which the first write of the lane becomes durable, or fails. */
  async #commit(machine: Machine, lane: Lane): Promise<void> {
    const write = lane.writes.shift()
    // An earlier failure may have rejected this write already.
    if (!write) {
      lane.busy = false
      return
    }
    const { asked } = write
    if (lane.failure && failsWith(lane.failure, asked)) this.#refuse(machine, lane, write, lane.failure.error)
    else if (this.#chance.maybe(this.failing)) {
      const error = new TurnwireError('store_failed', 'The simulated disk refused the write.')
      this.#refuse(machine, lane, write, error)
    } else {
      try {
        const value = await write.apply()
        this.#scheduler.after(this.#delay(), () => write.resolve(value), machine)
      } catch (error) {
        if (!(error instanceof TurnwireError)) throw error
        this.#refuse(machine, lane, write, error)
      }
    }
    lane.busy = false
    this.#next(machine, lane)
  }

  /** Until the caller's promise has rejected, the failure also applies to later writes. */
  #refuse(machine: Machine, lane: Lane, write: Write, error: TurnwireError): void {
    const { epoch, kind } = write.asked
    this.#trace.note(`disk refuses ${kind} of ${machine.name}: ${error.code}`)
    const failure = { error, ...(epoch !== undefined && { epoch }) }
    lane.failure ??= failure
    const tell = (): void => {
      write.reject(error)
      if (lane.failure?.error !== error) return
      const fallen = lane.writes.filter(each => failsWith(failure, each.asked))
      lane.writes = lane.writes.filter(each => !fallen.includes(each))
      for (const each of fallen) each.reject(error)
      lane.failure = undefined
    }
    this.#scheduler.after(this.#delay(), tell, machine)
  }

  /** A prefix of the open writes is recorded, and no caller is told. */
  #crash(machine: Machine, lanes: Map<string, Lane>): void {
    for (const lane of lanes.values()) {
      const kept = this.#chance.whole(0, lane.writes.length)
      this.#trace.note(`crash of ${machine.name} keeps ${kept} of ${lane.writes.length} writes`)
      if (lane.failure) continue
      void this.#keep(lane.writes.slice(0, kept))
    }
    lanes.clear()
  }

  async #keep(writes: readonly Write[]): Promise<void> {
    for (const write of writes) {
      try {
        await write.apply()
      } catch (error) {
        if (!(error instanceof TurnwireError)) throw error
        return
      }
    }
  }

  async #create(inner: Store, session: NewSession): ReturnType<Store['create']> {
    const made = await inner.create(session)
    if ('existing' in made) return made
    const rules = new LogRules(session.row.id, this.#trustOf, this.#limits)
    const shadow: Shadow = { owner: session.row.owner, events: [], texts: [], rules }
    this.shadows.set(session.row.id, shadow)
    this.#keepShadow(session.row.id, shadow, session.events, made.epoch, session.row.status)
    return made
  }

  async #append(inner: Store, batch: Parameters<Store['append']>[0]): Promise<void> {
    await inner.append(batch)
    const shadow = this.shadows.get(batch.session)
    if (!shadow) return
    this.#trace.check(
      batch.seq === shadow.events.length + 1,
      `one log without gaps: ${batch.seq} after ${shadow.events.length}`,
    )
    this.#keepShadow(batch.session, shadow, batch.events, batch.epoch, batch.status)
  }

  #keepShadow(
    id: string,
    shadow: Shadow,
    events: readonly Event[],
    epoch: number,
    status: Parameters<Store['append']>[0]['status'],
  ): void {
    for (const event of events) {
      shadow.events.push(event)
      shadow.texts.push(JSON.stringify(event))
      this.#trace.note(`log ${id} ${shadow.events.length} e${epoch} ${wordsOf(event)}`)
    }
    if ((this.#epochs.get(id) ?? epoch) !== epoch) this.takeOvers += 1
    this.#epochs.set(id, epoch)
    const wrong = shadow.rules.append(events, epoch, status)
    if (wrong !== undefined) this.#trace.breach(`log of ${id}: ${wrong}`)
  }

  // ---- reading -------------------------------------------------------------------------------------------

  #read<T>(machine: Machine, look: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const answer = async (): Promise<void> => {
        if (this.#chance.maybe(this.failing / 2)) {
          reject(new TurnwireError('store_failed', 'The simulated disk could not be read.'))
          return
        }
        const value = await look()
        this.#scheduler.after(this.#delay(), () => resolve(value), machine)
      }
      this.#scheduler.after(this.#delay(), () => void answer(), machine)
    })
  }

  #delay(): number {
    return this.#chance.maybe(0.3) ? 0 : this.#chance.whole(0, this.slowest)
  }
}

function laneOf(lanes: Map<string, Lane>, session: string): Lane {
  const known = lanes.get(session)
  if (known) return known
  const lane: Lane = { writes: [], busy: false, failure: undefined }
  lanes.set(session, lane)
  return lane
}

/** Parses JSON that this file has just written, so that its type is known. */
function parsed<T>(text: string): T {
  return JSON.parse(text) as T
}

function wordsOf(event: Event): string {
  if (event.type === 'call.settled') return `${event.type} ${event.callId} ${event.outcome.kind}`
  if ('callId' in event) return `${event.type} ${event.callId}`
  if (event.type === 'turn.ended') return `${event.type} ${event.stop}`
  if (event.type === 'model.answered')
    return `${event.type} ${event.stop} ${event.parts.map(part => (part.type === 'call' ? part.id : part.type)).join(' ')}`
  return event.type
}
