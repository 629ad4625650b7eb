// The connections to PostgreSQL: one statement or one transaction at a time, tried again while that is safe, and what
// is known about the health of the database. It holds no session setting, no lock and no listener, so that any pooler
// of transactions may stand between. It knows no statement.
import type { TurnwireError } from '../../language/errors.ts'
import { type Client, loadDriver } from './driver.ts'
import { toDatabaseFault } from './faults.ts'

export type DatabaseOptions = {
  /** `postgres://user:password@host:port/database`; several hosts are separated by commas. */
  url: string
  /** How many connections at most. Default 10. */
  connections?: number
  /** How long writes and reads wait for a database that went away. Default 5 s. */
  patienceMs?: number
  /** How long one statement may take before its connection is given up. Default 15 s. */
  answerMs?: number
  /** False: named statements are not used. Default: they are, unless a pooler stands between. */
  prepare?: boolean
}

export type Parameter = string | number | boolean | null | Uint8Array
/** Runs a statement, on the pool or in a transaction. */
export type Run = <Row extends readonly unknown[]>(
  text: string,
  parameters: readonly Parameter[],
) => Promise<Row[]>

const MOST_CONFLICTS = 50
const SCHEMA_MS = 60 * 60_000

export class Database {
  readonly #options: DatabaseOptions
  #client: Promise<Client> | undefined
  #prepare: boolean
  /** Which of several hosts is used. */
  #turn = 0
  #awaySince: number | undefined
  #failure: TurnwireError | undefined
  #closed = false
  /** Called when it goes away and when it is back. */
  onChange: ((failure: TurnwireError | undefined) => void) | undefined

  constructor(options: DatabaseOptions) {
    this.#options = options
    this.#prepare = options.prepare ?? false
  }

  /**
   * Why statements fail, if the database is to blame. It stays until `recovered`: a database that takes no writes answers
   * reads, and a full one takes a small write here and there.
   */
  get failure(): TurnwireError | undefined {
    return this.#failure
  }

  /** The database was found to take writes again. */
  recovered(): void {
    this.#note(undefined)
  }

  /** From here on statements are parsed once for each connection. */
  nameStatements(): void {
    if (this.#options.prepare !== undefined) return
    this.#prepare = true
    if (this.#client) this.#drop(this.#client, this.#answerMs)
  }

  /**
   * One statement. It is repeated only if it surely was not carried out; a lost connection throws a `lost` fault. So do all
   * others here.
   */
  readonly run: Run = (text, parameters) => this.#try(client => this.#send(client, text, parameters))

  /** A statement that changes the schema: it may take long. */
  async define(text: string): Promise<void> {
    await this.#try(client => this.#send(client, text, []), SCHEMA_MS)
  }

  /** Whether this is the server itself, and not a pooler: the server's own number for the connection is known. */
  async isDirect(): Promise<boolean> {
    const result = await this.#try(client => client.unsafe('SELECT pg_backend_pid()').values())
    return result[0]?.[0] === result.state?.pid
  }

  /** All or nothing. `work` may be called again after a conflict. */
  transaction<T>(work: (run: Run) => Promise<T>): Promise<T> {
    return this.#try(
      client =>
        new Promise<T>((resolve, reject) => {
          const done: { value?: T } = {}
          const worked = async (transaction: Pick<Client, 'unsafe'>): Promise<void> => {
            try {
              done.value = await work((text, parameters) => this.#send(transaction, text, parameters))
            } catch (thrown) {
              reject(thrown)
              // The client would write ROLLBACK to the connection that is gone, which ends the process (its issue 1208).
              if (toDatabaseFault(thrown).kind === 'lost') await new Promise(() => {})
              throw thrown
            }
          }
          // `value` was set: the work was done.
          client.begin(worked).then(() => resolve(done.value as T), reject)
        }),
    )
  }

  /**
   * Tries again while the database is away, up to `patienceMs`. `work` is told if an earlier attempt has an unknown
   * outcome: then it must find out before it writes again.
   */
  async steadily<T>(work: (unknown: boolean) => Promise<T>): Promise<T> {
    let since: number | undefined
    for (let attempt = 0; ; attempt++) {
      try {
        return await work(attempt > 0)
      } catch (thrown) {
        const fault = toDatabaseFault(thrown)
        if (fault.kind !== 'lost' && fault.kind !== 'moved') throw fault
        // Its reads may succeed meanwhile.
        since ??= this.#awaySince ?? performance.now()
        const patience = this.#options.patienceMs ?? 5_000
        if (this.#closed || performance.now() - since > patience) throw fault
        await pause(Math.min(50 * 2 ** attempt, 1_000))
      }
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    const client = await this.#client?.catch(() => undefined)
    await client?.end({ timeout: 5 })
  }

  async #try<T>(work: (client: Client) => Promise<T>, answerMs?: number): Promise<T> {
    for (let conflicts = 0; ; conflicts++) {
      this.#client ??= this.#connect()
      const client = this.#client
      try {
        const result = await this.#once(client, work, answerMs)
        this.#awaySince = undefined
        return result
      } catch (thrown) {
        const fault = toDatabaseFault(thrown)
        if (fault.kind === 'conflict' && conflicts < MOST_CONFLICTS) {
          await pause(Math.min(2 ** conflicts, 50))
          continue
        }
        if (fault.kind === 'moved' || fault.kind === 'lost') this.#leave(client, this.#answerMs)
        // A refusal shows that the database is there.
        if (fault.kind === 'refused') this.#awaySince = undefined
        else this.#note(fault.error)
        throw fault
      }
    }
  }

  /** A statement that is not answered in time ends all connections: the network may have swallowed them. */
  async #once<T>(
    connecting: Promise<Client>,
    work: (client: Client) => Promise<T>,
    answerMs = this.#answerMs,
  ): Promise<T> {
    const client = await connecting
    const timer = setTimeout(() => this.#leave(connecting, 0), answerMs)
    try {
      return await work(client)
    } finally {
      clearTimeout(timer)
    }
  }

  get #answerMs(): number {
    return this.#options.answerMs ?? 15_000
  }

  async #connect(): Promise<Client> {
    try {
      return await loadDriver(this.#options, { prepare: this.#prepare, turn: this.#turn })
    } catch (error) {
      this.#client = undefined
      throw error
    }
  }

  /** Another host may be better. */
  #leave(client: Promise<Client>, graceMs: number): void {
    if (this.#client === client) this.#turn += 1
    this.#drop(client, graceMs)
  }

  /**
   * The next statement uses new connections. Statements on the old ones may end within `graceMs`; then they fail as
   * `lost`. A connection of the client that was lost is not used again: bytes that it had not sent yet would come first.
   */
  #drop(client: Promise<Client>, graceMs: number): void {
    if (this.#client === client) this.#client = undefined
    else if (graceMs > 0) return
    void client.then(each => each.end({ timeout: graceMs / 1_000 })).catch(() => {})
  }

  async #send<Row extends readonly unknown[]>(
    client: Pick<Client, 'unsafe'>,
    text: string,
    parameters: readonly Parameter[],
  ): Promise<Row[]> {
    // Its types know no plain bytes.
    const sent = client.unsafe(text, [...parameters] as never[], { prepare: this.#prepare })
    // The statement says what a row is.
    return (await sent.values()) as unknown as Row[]
  }

  #note(failure: TurnwireError | undefined): void {
    const changed = (failure === undefined) !== (this.#failure === undefined)
    this.#failure = failure
    this.#awaySince = failure && (this.#awaySince ?? performance.now())
    if (changed) this.onChange?.(failure)
  }
}

/** A random wait, so that two transactions that conflicted do not conflict again. */
function pause(atMostMs: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, Math.random() * atMostMs))
}
