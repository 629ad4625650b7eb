// The engine of this process as its home drives it: a data folder, or a node of a cluster. Beside the boundary it says which
// sessions are in memory, and gives them up. Nothing here crosses to another process, and no wire sees it.
import type { TurnwireError } from '../../language/errors.ts'
import type { Engine, SessionRef } from './boundary.ts'
import type { EnginePorts } from './index.ts'

export type Log = EnginePorts['log']

/** A session that was given up. `isUnfinished`: its turn, or calls of it, are to be continued elsewhere. */
export type LeftSession = { id: string; epoch: number; isUnfinished: boolean }

export type EngineHere = Engine & {
  /** Continues every session that was at work when its writer went away. Gives how many there were. */
  recover(): Promise<number>
  /** The same for these sessions. Those that others were faster with are left out. */
  recoverThese(ids: readonly string[]): Promise<number>
  /**
   * Model steps are dropped (they are asked again at the next start); running calls get `graceMs` to finish. Requests of
   * `answerOnce` fail with `stopping`. `left`: called with each session once nothing of it runs here any more.
   */
  stop(graceMs: number, left?: (session: LeftSession) => void): Promise<void>
  /** The sessions of this owner that are at work here. `all`: of all owners whose names begin so. */
  running(owner: string, all: boolean): string[]
  /** The epoch of a session that is in memory here. */
  heldEpoch(ref: SessionRef): number | undefined
  /** Stops one session that is in memory here, if it has this epoch. Those who follow it are told the reason. */
  giveUp(ref: SessionRef, epoch: number, graceMs: number, reason: TurnwireError): Promise<void>
  /** Others may write to every session of this engine: its copies no longer count, and those who follow them are told. */
  loseAll(reason: TurnwireError): void
}
