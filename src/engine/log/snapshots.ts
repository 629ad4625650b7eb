// Snapshots: the folded state of a long session, kept in the store beside its log, so that opening it does not read all
// of the log. No snapshot is needed: one that is missing, damaged, of another version or of another log is not used. It
// is written in parts, fenced by the writer's epoch: the new entries of the history, then a head that names them.
import type { Entry } from '../../language/history.ts'
import { packJson, packText, unpackJson } from '../../lib/json/packed.ts'
import type { EnginePorts, Store, World } from '../ports/index.ts'
import {
  type StateWithoutEntries,
  stateFromJson,
  stateToJson,
  stateVersion,
} from '../rules/snapshot-state.ts'
import type { SessionState } from '../rules/state.ts'
import { laterTurn } from './later-turn.ts'
import type { LoggedSession } from './logged-session.ts'

/** A written snapshot: the state after event `seq`. `series`: parts of another series do not belong to it. */
export type Snapshot = { series: string; parts: number; entries: number; seq: number }

type Head = Snapshot & {
  version: number
  /** The time of event `seq`, by which its log is recognised. */
  at: number
  json: StateWithoutEntries
}
type Part = { series: string; entries: Entry[] }
type Unpacked = ReturnType<typeof unpackJson>

/** A snapshot is written when the log has grown by so many events, or so many bytes, since the last one. */
const growth = { events: 1_000, bytes: 4 * 1024 * 1024 }
/** About the JSON of one part, so that parsing one does not hold the event loop. */
const partBytes = 256 * 1024
/** After so much was parsed, others are served. */
const pauseBytes = 512 * 1024
const wholeBlob = 2 ** 31 - 1

const snapshotPrefix = 'state:'

/** Snapshots are blobs of their session, and not for its owner: they hold what no wire shows. */
export function isSnapshotName(name: string): boolean {
  return name.startsWith(snapshotPrefix)
}

const headName = `${snapshotPrefix}head`
const partName = (number: number): string => `${snapshotPrefix}${number}`

/** The state as it was at the snapshot, and what is needed to add to it. Undefined: there is none that fits. */
export async function readSnapshot(
  { store, world }: Pick<EnginePorts, 'store' | 'world'>,
  session: string,
): Promise<{ state: SessionState; snapshot: Snapshot } | undefined> {
  const head = (await readBlob(store, session, headName))?.value as Head | undefined
  if (head?.version !== stateVersion || !(await isOfLog(store, session, head))) return undefined
  const entries: Entry[] = []
  let parsed = 0
  for (let number = 0; number < head.parts; number += 1) {
    const found = await readBlob(store, session, partName(number))
    const part = found?.value as Part | undefined
    if (part?.series !== head.series) return undefined
    for (const entry of part.entries) entries.push(entry)
    parsed += found?.size ?? 0
    if (parsed < pauseBytes) continue
    parsed = 0
    await laterTurn(world)
  }
  if (entries.length !== head.entries) return undefined
  const { series, parts, seq } = head
  const snapshot = { series, parts, entries: entries.length, seq }
  return { state: stateFromJson(head.json, entries), snapshot }
}

/** Its type is known by the series that it names: nothing else is written under these names. */
async function readBlob(store: Store, session: string, name: string): Promise<Unpacked | undefined> {
  const found = await store.blobRange(session, name, 0, wholeBlob)
  if (!found) return undefined
  try {
    return unpackJson(found.bytes)
  } catch {
    return undefined
  }
}

async function isOfLog(store: Store, session: string, { seq, at }: Head): Promise<boolean> {
  const [found] = await store.read(session, seq - 1, { maxBytes: 1 })
  return found?.seq === seq && found.event.at === at
}

/** Undefined: the log itself is as quick to read. `last`: the snapshot that the session was loaded from. */
export function snapshotWriter(session: LoggedSession, last?: Snapshot): SnapshotWriter | undefined {
  const { store, snapshotGrowth } = session.ports
  return store.inMemory && !snapshotGrowth ? undefined : new SnapshotWriter(session, last)
}

/** Writes the snapshots of one session in memory, which is the session's writer. */
class SnapshotWriter {
  readonly #session: LoggedSession
  #last: Snapshot | undefined
  readonly #growth: typeof growth
  #isWriting = false
  /** At this event, or at this size, it is time for the next one. */
  dueSeq: number
  dueBytes: number

  constructor(session: LoggedSession, last: Snapshot | undefined) {
    this.#session = session
    this.#last = last
    this.#growth = session.ports.snapshotGrowth ?? growth
    this.dueSeq = (last?.seq ?? 0) + this.#growth.events
    this.dueBytes = (last ? session.bytes : 0) + this.#growth.bytes
  }

  /**
   * Writes one if it is time: the session rests, all its events are durable, and there are enough new ones. If another session
   * writes one right now, this one is asked again when it next rests.
   */
  consider(): void {
    const session = this.#session
    const { state, bytes, ports } = session
    if (this.#isWriting || state.status === 'running' || session.lost || session.released) return
    if (state.seq < this.dueSeq && bytes < this.dueBytes) return
    if (!session.clean || !mayPack(ports.world)) return
    this.#isWriting = true
    this.dueBytes = bytes + this.#growth.bytes
    const series = this.#last?.series ?? ports.world.id('snap')
    const added = packParts(series, state.entries, this.#last?.entries ?? 0)
    const parts = (this.#last?.parts ?? 0) + added.length
    const snapshot = { series, parts, entries: state.entries.length, seq: state.seq }
    const head: Head = { ...snapshot, version: stateVersion, at: state.updatedAt, json: stateToJson(state) }
    void this.#write(added, packJson(head), snapshot)
  }

  async #write(added: readonly Uint8Array[], head: Uint8Array, snapshot: Snapshot): Promise<void> {
    try {
      // The head of another series names parts that are about to be overwritten.
      if (!this.#last) await this.#put(headName, undefined)
      let number = snapshot.parts - added.length
      for (const part of added) await this.#put(partName(number++), part)
      await this.#put(headName, head)
      this.#last = snapshot
    } catch {
      // The session is lost, or the store fails. Nobody waits for a snapshot: the next one starts over.
      this.#last = undefined
    } finally {
      this.dueSeq = (this.#last?.seq ?? 0) + this.#growth.events
      this.#isWriting = false
    }
  }

  /** `bytes` undefined: removes it. */
  #put(name: string, bytes: Uint8Array | undefined): Promise<void> {
    const { ports, id, epoch } = this.#session
    const piece = bytes ? { bytes, last: true as const } : { bytes: new Uint8Array() }
    return ports.store.addPiece(id, name, { epoch, at: 0, ...piece })
  }
}

/** Those in which a snapshot has just been packed. */
const packing = new WeakSet<World>()

/** Packing one holds the event loop for half a millisecond, and hundreds of sessions may come to rest at the same time. */
function mayPack(world: World): boolean {
  if (packing.has(world)) return false
  packing.add(world)
  world.timer(0, () => packing.delete(world))
  return true
}

function packParts(series: string, entries: readonly Entry[], from: number): Uint8Array[] {
  const packed: Uint8Array[] = []
  let texts: string[] = []
  let size = 0
  const pack = (): void => {
    packed.push(packText(`{"series":${JSON.stringify(series)},"entries":[${texts.join(',')}]}`))
    texts = []
    size = 0
  }
  for (const entry of entries.slice(from)) {
    const text = JSON.stringify(entry)
    if (size > 0 && size + text.length > partBytes) pack()
    texts.push(text)
    size += text.length
  }
  if (size > 0) pack()
  return packed
}
