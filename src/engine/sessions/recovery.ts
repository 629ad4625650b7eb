// Recovery: which unfinished sessions are continued after a start, in which order, and which are left alone. A session
// that ended the process before is tried again apart from all others, so that it cannot be mistaken for them; after
// three such attempts it is left alone. The attempts are counted in the store before anything of the session is loaded.
import { hasCode, TurnwireError, wordsOf } from '../../language/errors.ts'
import { mayRepeat, toolHash } from '../../language/tools.ts'
import { dropKept } from '../calls/kept-output.ts'
import { mayPass } from '../log/passing-failure.ts'
import type { Append, EnginePorts, SessionRow, World } from '../ports/index.ts'
import { countTries } from '../rules/decide-call.ts'
import { decideRecovery } from '../rules/decide-turn.ts'
import { outcomes } from '../rules/outcomes.ts'
import { type CallState, isInQuestion } from '../rules/state.ts'
import type { Session } from './session.ts'

const mostRecoveries = 3
/** A larger session is recovered alone. */
const largeBytes = 4 * 1024 * 1024
/** A session that works this long after it was loaded did not end the process. */
const provenMs = 5_000
/** The memory that loading a session and asking its model takes, for each byte of its log. */
const memoryPerByte = 3

/** Why a session that is at work is not continued. Undefined: it can be. */
export function leftAlone(row: SessionRow, world: World): TurnwireError | undefined {
  const tooLarge = unloadable(row, world)
  if (tooLarge) return tooLarge
  if (row.status !== 'running' || row.recoveries < mostRecoveries) return undefined
  return new TurnwireError(
    'recovery_failed',
    `The server ended ${row.recoveries} times while it continued this session, so it is left alone. Read it, cancel its turn, or delete it.`,
  )
}

/** Refuses a session that would not fit into the memory of this process. */
function unloadable({ bytes }: SessionRow, world: World): TurnwireError | undefined {
  const free = world.freeMemory?.() ?? Infinity
  if (bytes < largeBytes || bytes * memoryPerByte < free) return undefined
  return new TurnwireError(
    'too_large',
    `The session has about ${bytes} bytes, more than this server has memory for. It can be read and deleted; to continue it, give the server more memory.`,
  )
}

/** `recovering`: the attempt is counted in the store first. */
type Load = (id: string, options: { recovering?: true; passed?: number }) => Promise<Session>

export class Recovery {
  readonly #ports: EnginePorts
  readonly #load: Load
  #stopped = false
  /** How often the recovery of a session was put off because the store failed. */
  readonly #delays = new Map<string, number>()

  constructor(ports: EnginePorts, load: Load) {
    this.#ports = ports
    this.#load = load
  }

  stop(): void {
    this.#stopped = true
  }

  /** Gives how many sessions are continued. Large and suspect ones are still to come when it resolves. */
  async all(): Promise<number> {
    return this.these(await this.#ports.store.unfinished())
  }

  /** The same for these sessions. */
  async these(ids: readonly string[]): Promise<number> {
    const rows = await Promise.all(ids.map(id => this.#ports.store.row(id)))
    const unfinished = rows.filter(row => row !== undefined)
    for (const row of unfinished) if (!isAtWork(row)) this.#atDue(row)
    const found = unfinished.filter(row => isAtWork(row) && this.#mayRecover(row))
    const alone = found.filter(isApart).sort((a, b) => a.recoveries - b.recoveries || a.bytes - b.bytes)
    // Together, so that they share their commits.
    await Promise.all(found.filter(row => !isApart(row)).map(({ id }) => this.#one(id, true)))
    void this.#oneByOne(alone)
    return found.length
  }

  /** It rests until its time has come, unless someone uses it before. */
  #atDue({ id, facts }: SessionRow): void {
    const { world } = this.#ports
    const passed = facts?.dueAt
    if (passed === undefined) return
    world.timer(Math.max(passed - world.now(), 0), () => {
      if (!this.#stopped) void this.#load(id, { passed }).catch(() => {})
    })
  }

  #mayRecover(row: SessionRow): boolean {
    const reason = leftAlone(row, this.#ports.world)
    if (reason)
      this.#ports.log('error', 'A session is left alone.', { session: row.id, reason: reason.message })
    return reason === undefined
  }

  async #oneByOne(rows: readonly SessionRow[]): Promise<void> {
    for (const { id } of rows) {
      if (this.#stopped) return
      const session = await this.#one(id, true)
      if (session) await proven(session)
    }
  }

  /** `recovering`: the first attempt after a start. Later ones follow a failure of the store and are not counted. */
  async #one(id: string, recovering?: true): Promise<Session | undefined> {
    try {
      const row = await this.#ports.store.row(id)
      const isUnfinished = row !== undefined && isAtWork(row)
      const session = isUnfinished ? await this.#load(id, recovering ? { recovering } : {}) : undefined
      this.#delays.delete(id)
      return session
    } catch (error) {
      // Another node was faster.
      if (this.#stopped || hasCode(error, 'moved')) return undefined
      this.#ports.log('error', 'A session could not be recovered.', { session: id, error: wordsOf(error) })
      if (mayPass(error)) this.later(id)
      return undefined
    }
  }

  /** The store failed in a way that may pass: recovery is tried again, at longer and longer intervals. */
  later(id: string): void {
    const tries = (this.#delays.get(id) ?? 0) + 1
    this.#delays.set(id, tries)
    this.#ports.world.timer(Math.min(500 * 2 ** tries, 60_000), () => {
      if (!this.#stopped) void this.#one(id)
    })
  }
}

/** Others that are unfinished go on at a time. */
function isAtWork({ status, facts }: SessionRow): boolean {
  return status === 'running' || (status === 'waiting' && facts?.atWork === true)
}

function isApart({ recoveries, bytes }: SessionRow): boolean {
  return recoveries > 0 || bytes > largeBytes
}

/** Finishes the calls that a writer left unfinished, or settles them as unknown, before anything else happens. */
export async function recoverTurn(session: Session, row: SessionRow): Promise<void> {
  const isStarted = ({ stage }: CallState): boolean => stage === 'started'
  if (session.state.status !== 'running' && !session.state.batch.some(isStarted)) return
  const before = session.state.seq
  const started = session.state.batch.filter(isStarted)
  const mayGoOn = (call: CallState): boolean => {
    // It runs in another session, which is recovered by itself.
    if (call.mirrors) return true
    const offered = session.offer.byName.get(call.part.name)
    if (offered?.side !== 'server' || toolHash(offered.tool) !== call.toolHash) return false
    // A tool that crashes the process must not do so at every start.
    const { resumable, retries } = offered.tool
    return (mayRepeat(offered.tool) || resumable === true) && countTries(call) <= retries + 2
  }
  const unclear = started.filter(call => !mayGoOn(call) && mayCheck(session, call, row))
  // Before anything is awaited: an answer that comes meanwhile wakes the loop, which must not run them again.
  session.driver.check(unclear, outcomes.unknown)
  const isLeft = (call: CallState): boolean => mayGoOn(call) || unclear.includes(call)
  const events = decideRecovery(session.state, isLeft, session.context)
  if (events.length > 0) await session.save(events)
  await dropHalves(session, started)
  // Under manual control the rest is up to the person.
  if (session.state.controlledBy === undefined) {
    // A call that asked a person something runs again once it is answered.
    await session.driver.repeat(
      started.filter(
        call => isStarted(call) && !isInQuestion(call) && !call.mirrors && !unclear.includes(call),
      ),
    )
    session.driver.wake()
  }
  if (session.state.seq > before) return
  session.unproven = true
  // The answer of a tool is recorded. Until then the attempt counts, so that a tool that ends the process is not asked forever.
  if (unclear.length > 0) return
  if (isApart(row)) session.ports.world.timer(provenMs, () => session.prove())
  else session.prove()
}

/** Its tool can say what became of it. A tool that ended the process before is not asked again. */
function mayCheck({ offer }: Session, { part }: CallState, { recoveries }: SessionRow): boolean {
  const offered = offer.byName.get(part.name)
  return offered?.side === 'server' && offered.tool.reconcile !== undefined && recoveries < mostRecoveries - 1
}

/** Deletes unfinished kept outputs of calls that are settled now. */
async function dropHalves(session: Session, started: readonly CallState[]): Promise<void> {
  const settled = started.filter(({ stage }) => stage === 'settled')
  if (settled.length === 0) return
  for (const call of settled) await dropKept(session, call.part.id)
  const row = await session.ports.store.row(session.id)
  if (row) session.blobBytes = row.blobBytes
}

/** Resolves when the session has recorded something, is over, or has worked for long enough. */
function proven(session: Session): Promise<void> {
  if (session.state.status !== 'running' || session.lost) return Promise.resolve()
  return new Promise(resolve => {
    const unwatch = session.feed.watch(item => {
      if (item.type === 'delta') return
      unwatch()
      resolve()
    })
    session.ports.world.timer(provenMs, () => {
      unwatch()
      resolve()
    })
  })
}

/** A write without events. It shows that the session could be loaded. */
export function nothing({ epoch, row }: { epoch: number; row: SessionRow }): Append {
  return { session: row.id, epoch, seq: row.head + 1, events: [], status: row.status }
}
