// Group commit: all writes that were asked for in one turn of the event loop share one transaction, and so one
// fsync. A write that is refused falls alone, with what was asked for after it in its session; a commit that
// fails fails them all. It knows nothing of SQL; a ledger does the writing.
import { TurnwireError } from '../../language/errors.ts'
import { type Asked, type Failure, fallsWith } from '../failures.ts'
import type { Fault } from './faults.ts'

/**
 * `run` throws a TurnwireError only where it leaves nothing written: then it alone is refused. After anything else
 * that it throws, the ledger says who is to blame.
 */
export type Write<T, R> = Asked & { session: string; run(tools: T): R }

export type Ledger<T> = {
  /** Opens a transaction and gives what writes are made with. */
  begin(): T
  /** Makes it durable. */
  commit(): void
  /** Leaves no transaction behind, whatever happened, and says what it was. Never throws. */
  fail(thrown: unknown): Fault
}

export type GroupOptions = {
  /** The most writes in one transaction: it bounds how long the event loop stands still. */
  most?: number
  /** Told of each transaction that was made durable. */
  committed?: (writes: number) => void
}

export type Group<T> = {
  ask<R>(write: Write<T, R>): Promise<R>
  /** Writes all that was asked for, at once. */
  flush(): void
}

type Asking<T> = {
  write: Write<T, unknown>
  resolve: (value: unknown) => void
  reject: (error: TurnwireError) => void
}
type Settled = { value: unknown } | { error: TurnwireError }

const MOST = 128

export function groupCommit<T>(ledger: Ledger<T>, { most = MOST, committed }: GroupOptions = {}): Group<T> {
  let queue: Asking<T>[] = []
  let scheduled: NodeJS.Immediate | undefined

  function schedule(): void {
    scheduled ??= setImmediate(() => {
      scheduled = undefined
      writeSome()
      if (queue.length > 0) schedule()
    })
  }

  function writeSome(): void {
    const group = queue.slice(0, most)
    queue = queue.slice(most)
    const fallen = new Map<string, Failure>()
    const settled = writeGroup(ledger, group, fallen)
    let written = 0
    for (let index = 0; index < group.length; index++) {
      const one = settled[index]!
      if ('error' in one) group[index]!.reject(one.error)
      else group[index]!.resolve(one.value)
      if ('value' in one) written++
    }
    if (fallen.size > 0) queue = queue.filter(asking => !fell(asking, fallen))
    if (written > 0) committed?.(written)
  }

  return {
    ask: <R>(write: Write<T, R>) =>
      new Promise<R>((resolve, reject) => {
        // Sound: a promise of R is resolved with nothing but what this write's own `run` gave.
        queue.push({ write, resolve: resolve as (value: unknown) => void, reject })
        schedule()
      }),
    flush() {
      clearImmediate(scheduled)
      scheduled = undefined
      while (queue.length > 0) writeSome()
    },
  }
}

/** Rejects what waits beyond its group's end and falls with a failure within it. */
function fell<T>({ write, reject }: Asking<T>, fallen: ReadonlyMap<string, Failure>): boolean {
  const failure = fallen.get(write.session)
  if (failure === undefined || !fallsWith(failure, write)) return false
  reject(failure.error)
  return true
}

/** One outcome per member, in order. `fallen` gets the failures by session. */
function writeGroup<T>(ledger: Ledger<T>, group: Asking<T>[], fallen: Map<string, Failure>): Settled[] {
  // Writes that proved impossible; the rest is then written again from the start, without them.
  const impossible = new Map<Asking<T>, TurnwireError>()
  for (;;) {
    fallen.clear()
    let current: Asking<T> | undefined
    try {
      const tools = ledger.begin()
      const settled: Settled[] = []
      for (current of group) settled.push(writeOne(tools, current, impossible.get(current), fallen))
      current = undefined
      ledger.commit()
      return settled
    } catch (thrown) {
      const { error, blame } = ledger.fail(thrown)
      if (current !== undefined && blame === 'write') impossible.set(current, error)
      else return failAll(group, error, fallen)
    }
  }
}

function writeOne<T>(
  tools: T,
  { write }: Asking<T>,
  impossible: TurnwireError | undefined,
  fallen: Map<string, Failure>,
): Settled {
  const before = fallen.get(write.session)
  if (before !== undefined && fallsWith(before, write)) return { error: before.error }
  try {
    if (impossible !== undefined) throw impossible
    return { value: write.run(tools) }
  } catch (thrown) {
    if (!(thrown instanceof TurnwireError)) throw thrown
    fallen.set(write.session, failureOf(write, thrown))
    return { error: thrown }
  }
}

function failAll<T>(group: Asking<T>[], error: TurnwireError, fallen: Map<string, Failure>): Settled[] {
  fallen.clear()
  for (const { write } of group) fallen.set(write.session, { error })
  return group.map(() => ({ error }))
}

function failureOf(write: Asked, error: TurnwireError): Failure {
  return { error, ...(write.epoch !== undefined && { epoch: write.epoch }) }
}
