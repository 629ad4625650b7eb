// Carries out groups of writes. All appends of a group are one statement, so are all creations and all claims; each
// other write is a transaction with the session's row locked. If a connection is lost, nobody knows what was recorded:
// it is read again, and only what is not there is written again (docs/decisions/0032).
import { TurnwireError, wordsOf } from '../../language/errors.ts'
import {
  checkAppend,
  checkEpoch,
  checkPiece,
  heldElsewhere,
  nodeLeaseEnded,
  sessionExists,
  sessionMissing,
  takenMeanwhile,
} from '../failures.ts'
import type { SessionColumns } from '../session-rows.ts'
import type { Database, Run } from './database.ts'
import { DatabaseFault, toDatabaseFault } from './faults.ts'
import type { HolderColumns, NodeColumns } from './node-statements.ts'
import { type Statements, sessionRow } from './statements.ts'
import { arrayLiteral, fromText, toText } from './text.ts'
import type { WriteResult } from './write-queue.ts'
import {
  type Appending,
  appendParameters,
  type Claimed,
  type Claiming,
  type Created,
  type Creation,
  checkRun,
  creationParameters,
  type OtherWrite,
  type PieceWrite,
  type Write,
} from './writes.ts'

type Renewal = Extract<Write, { kind: 'renew' }>
type Head = [epoch: number, head: number, owner: string, requestKey: string | null]
/** The first row has the count. Further rows name the sessions that were appended to, if not all were. */
type Moved = [count: number, id: string | null]
/** The row of a session after a lost append. `ours`: the append's first event is there, written in its epoch. */
type Reread = [id: string, epoch: number, head: number, ours: boolean]

const UNIQUE_VIOLATION = '23505'
/** Transactions that are under way at once: the rest of the connections is for appends and reads. */
const MOST_TRANSACTIONS = 4

export class Writer {
  readonly #db: Database
  readonly #sql: Statements
  /** The position of the newest session that this store made. */
  #position = 0
  /** The id of the node that writes, if it has joined. */
  readonly #self: () => string | null

  constructor(db: Database, sql: Statements, self: () => string | null) {
    this.#self = self
    this.#db = db
    this.#sql = sql
  }

  /** One result for each run. Never rejects. */
  async carryOut(runs: readonly Write[][]): Promise<WriteResult[]> {
    const results = new Map<readonly Write[], WriteResult>()
    const settle = (run: readonly Write[], result: WriteResult): void => void results.set(run, result)
    const groups = { create: [] as Creation[][], append: [] as Appending[][], claim: [] as Claiming[][] }
    const others: (OtherWrite | Renewal)[][] = []
    for (const run of runs) {
      try {
        checkRun(run)
        const { kind } = run[0]!
        // A run has one kind of write.
        if (kind in groups) groups[kind as keyof typeof groups].push(run as never)
        else others.push(run as (OtherWrite | Renewal)[])
      } catch (thrown) {
        settle(run, appendRefusal(thrown))
      }
    }
    await Promise.all([
      this.#together(groups.append, settle, list => this.#append(list)),
      this.#together(groups.create, settle, list => this.#create(list.map(([creation]) => creation!))),
      this.#together(groups.claim, settle, list => this.#claim(list.map(([claiming]) => claiming!))),
      this.#oneByOne(others, settle),
    ])
    return runs.map(run => results.get(run)!)
  }

  /** If the database refuses one of them, it refuses the statement: then each goes alone. */
  async #together<W extends Write>(
    runs: readonly W[][],
    settle: (run: readonly Write[], result: WriteResult) => void,
    work: (runs: readonly W[][]) => Promise<WriteResult[]>,
  ): Promise<void> {
    if (runs.length === 0) return
    try {
      const results = await work(runs)
      for (const [index, run] of runs.entries()) settle(run, results[index]!)
    } catch (thrown) {
      const mayDiffer = runs.length > 1 && thrown instanceof DatabaseFault && thrown.kind === 'refused'
      if (!mayDiffer) for (const run of runs) settle(run, appendRefusal(thrown))
      else for (const run of runs) await this.#together([run], settle, work)
    }
  }

  async #oneByOne(
    runs: readonly (OtherWrite | Renewal)[][],
    settle: (run: readonly Write[], result: WriteResult) => void,
  ): Promise<void> {
    const left = runs.values()
    const work = async (): Promise<void> => {
      for (const run of left)
        await this.#otherOrRenewal(run[0]!).then(
          value => settle(run, { value }),
          (thrown: unknown) => settle(run, appendRefusal(thrown)),
        )
    }
    await Promise.all(Array.from({ length: Math.min(MOST_TRANSACTIONS, runs.length) }, work))
  }

  // ---- appends -------------------------------------------------------------------------------------------------

  /**
   * Sends the appends. After a lost connection those that are there already are left out; what is sent again can be
   * recorded only once, since its number must be next.
   */
  async #append(runs: readonly Appending[][]): Promise<WriteResult[]> {
    const done = new Set<Appending[]>()
    await this.#db.steadily(async unknown => {
      const open = unknown ? await this.#unrecorded(runs, done) : runs
      if (open.length === 0) return
      const { form, parameters } = appendParameters(open)
      const [counted, ...moved] = await this.#db.run<Moved>(this.#sql.appendEvents(form), parameters)
      const ids = counted![0] < open.length ? new Set(moved.map(([, id]) => id)) : undefined
      for (const run of open) if (!ids || ids.has(runSession(run))) done.add(run)
    })
    if (done.size === runs.length) return runs.map(() => ({ value: undefined }))
    const reasons = await this.#reasons(runs.filter(run => !done.has(run)))
    return runs.map(run => {
      const error = reasons.get(run)
      return error ? { error } : { value: undefined }
    })
  }

  /** Those that an attempt before has not recorded. */
  async #unrecorded(runs: readonly Appending[][], done: Set<Appending[]>): Promise<Appending[][]> {
    const left = runs.filter(run => !done.has(run))
    const rows = await this.#reread(left)
    const ours = new Set(rows.filter(row => row[3]).map(([id]) => id))
    for (const run of left) if (ours.has(runSession(run))) done.add(run)
    return left.filter(run => !done.has(run))
  }

  #reread(runs: readonly Appending[][]): Promise<Reread[]> {
    const firsts = runs.map(([first]) => first!.batch)
    return this.#db.run<Reread>(this.#sql.rereadAppends, [
      arrayLiteral(firsts.map(({ session }) => toText(session))),
      arrayLiteral(firsts.map(({ epoch }) => epoch)),
      arrayLiteral(firsts.map(({ seq }) => seq)),
    ])
  }

  async #reasons(refused: readonly Appending[][]): Promise<Map<Appending[], TurnwireError>> {
    const rows = await this.#db.steadily(() => this.#reread(refused))
    const bySession = new Map(rows.map(row => [row[0], row]))
    return new Map(
      refused.map(run => {
        const { batch } = run[0]!
        const [, epoch, head] = bySession.get(runSession(run)) ?? []
        if (epoch === undefined || head === undefined) return [run, sessionMissing(batch.session)]
        return [run, thrownBy(() => checkAppend(batch, epoch, head)) ?? takenMeanwhile(batch.session)]
      }),
    )
  }

  // ---- creations and claims ------------------------------------------------------------------------------------

  async #create(creations: readonly Creation[]): Promise<WriteResult[]> {
    const made = await this.#db.steadily(async unknown => {
      try {
        const parameters = creationParameters(creations, this.#position, this.#self())
        return await this.#db.run<[id: string, position: number]>(this.#sql.createSessions, parameters)
      } catch (thrown) {
        const fault = toDatabaseFault(thrown)
        if (fault.state !== UNIQUE_VIOLATION || creations.length > 1) throw fault
        // An id is used once. If it is there after a lost connection, it was made by the attempt before.
        const { session } = creations[0]!
        if (unknown) return [[toText(session), this.#position] as const]
        throw sessionExists(session)
      }
    })
    for (const [, position] of made) this.#position = Math.max(this.#position, position)
    const ids = new Set(made.map(([id]) => id))
    return Promise.all(
      creations.map(async (creation): Promise<WriteResult> => {
        const value: Created = ids.has(toText(creation.session))
          ? { epoch: 1 }
          : await this.#existing(creation)
        return { value }
      }),
    )
  }

  /** The session that has the request key. */
  async #existing(creation: Creation): Promise<Created> {
    const { row, request } = creation.created
    const [found] = request
      ? await this.#db.steadily(() =>
          this.#db.run<[session: string, hash: string]>(this.#sql.selectRequest, [
            toText(row.owner),
            toText(request.key),
          ]),
        )
      : []
    if (!found) await this.#checkLease()
    // It was removed meanwhile.
    if (!found) return created(await this.#create([creation]))
    const session = fromText(found[0])
    // The attempt before a lost connection has made it.
    return session === row.id ? { epoch: 1 } : { existing: session, hash: fromText(found[1]) }
  }

  async #checkLease(): Promise<void> {
    const self = this.#self()
    if (self !== null && !(await this.#lives(self))) throw nodeLeaseEnded(self)
  }

  async #lives(node: string): Promise<boolean> {
    const rows = await this.#db.steadily(() => this.#db.run<NodeColumns>(this.#sql.listNodes, []))
    return rows.some(([id, , , leftMs]) => id === node && leftMs > 0)
  }

  /** A claim that is made twice is as good as one: only the last epoch counts. */
  async #claim(claims: readonly Claiming[]): Promise<WriteResult[]> {
    const rows = await this.#db.steadily(() =>
      this.#db.run<[epoch: number, ...SessionColumns]>(this.#sql.claimSessions, [
        arrayLiteral(claims.map(({ session }) => toText(session))),
        arrayLiteral(claims.map(({ recovering }) => (recovering ? 1 : 0))),
        this.#self(),
      ]),
    )
    const found = new Map<string, Claimed>()
    for (const [epoch, ...columns] of rows) found.set(columns[1], { epoch, row: sessionRow(columns) })
    return Promise.all(
      claims.map(async ({ session }): Promise<WriteResult> => {
        const value = found.get(toText(session))
        const error = value ? undefined : await this.#whyUnclaimed(session)
        return error ? { error } : { value }
      }),
    )
  }

  /** Undefined: there is no such session. */
  async #whyUnclaimed(session: string): Promise<TurnwireError | undefined> {
    const parameters = [toText(session)]
    const [holder] = await this.#db.steadily(() =>
      this.#db.run<HolderColumns>(this.#sql.selectHolder, parameters),
    )
    if (!holder) return undefined
    const self = this.#self()
    if (self !== null && !(await this.#lives(self))) return nodeLeaseEnded(self)
    // Someone may have released it by now; the claim changed nothing.
    return heldElsewhere(session, holder[1] ?? 'another')
  }

  // ---- the others ----------------------------------------------------------------------------------------------

  #otherOrRenewal(write: OtherWrite | Renewal): Promise<unknown> {
    return write.kind === 'renew' ? this.#renew(write) : this.#other(write)
  }

  async #renew({ node, leaseMs }: Renewal): Promise<boolean> {
    const rows = await this.#db.steadily(() => this.#db.run(this.#sql.renewNode, [node, leaseMs]))
    return rows.length > 0
  }

  #other(write: OtherWrite): Promise<unknown> {
    const session = toText(write.session)
    const { lockSession } = this.#sql
    return this.#db.steadily(unknown =>
      this.#db.transaction(async run => {
        const [head] = await run<Head>(lockSession, [session])
        if (head) checkEpoch(write.session, write.epoch, head[0])
        if (write.kind === 'remove') return head ? this.#remove(run, session, head) : unknown
        if (!head) throw sessionMissing(write.session)
        if (write.kind === 'putBlob') return this.#putBlob(run, session, toText(write.name), write.body)
        return this.#addPiece(run, session, write, head[0], unknown)
      }),
    )
  }

  async #remove(run: Run, session: string, [, , owner, requestKey]: Head): Promise<true> {
    const { deleteSession, deleteRequest } = this.#sql
    await Promise.all(deleteSession.map(statement => run(statement, [session])))
    if (requestKey !== null) await run(deleteRequest, [owner, requestKey, session])
    return true
  }

  async #putBlob(run: Run, session: string, name: string, body: string): Promise<void> {
    const { countBlob, putBlob } = this.#sql
    await Promise.all([
      run(countBlob, [session, name, body.length]),
      run(putBlob, [session, name, body.length, toText(body)]),
    ])
  }

  async #addPiece(
    run: Run,
    session: string,
    write: PieceWrite,
    epoch: number,
    unknown: boolean,
  ): Promise<void> {
    const { at, bytes, last = false } = write
    const name = toText(write.name)
    const sql = this.#sql
    const [found] = await run<[size: number, whole: boolean]>(sql.selectPieced, [session, name])
    const [size = 0, whole = false] = found ?? []
    const end = at + bytes.length
    // The attempt before a lost connection has added it.
    if (unknown && epoch === write.epoch && found && at > 0 && size === end && whole === last) return
    checkPiece(write.session, write, epoch, found && !whole ? size : undefined)
    const changes = [run(sql.countPiece, [session, bytes.length - (at === 0 ? size : 0)])]
    if (at === 0) changes.push(run(sql.deletePieces, [session, name]), run(sql.deletePieced, [session, name]))
    if (at > 0 || bytes.length > 0 || last) changes.push(run(sql.putPieced, [session, name, end, last]))
    if (bytes.length > 0) changes.push(run(sql.insertPiece, [session, name, at, bytes]))
    await Promise.all(changes)
  }
}

function runSession(run: readonly Appending[]): string {
  return toText(run[0]!.session)
}

function created([result]: WriteResult[]): Created {
  if (result && 'value' in result) return result.value as Created // what `#create` gives
  throw result!.error
}

function thrownBy(check: () => void): TurnwireError | undefined {
  try {
    check()
    return undefined
  } catch (thrown) {
    return thrown as TurnwireError // checks throw nothing else
  }
}

function appendRefusal(thrown: unknown): WriteResult {
  if (thrown instanceof TurnwireError) return { error: thrown }
  if (thrown instanceof DatabaseFault) return { error: thrown.error }
  return { error: new TurnwireError('store_failed', wordsOf(thrown), { cause: thrown }) }
}
