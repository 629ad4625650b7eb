// The parts of the simulation that a client can use: the machines it can call, the disk it can look at, randomness
// and time.
import type { LocalEngine, OpenSessions } from '../../src/engine/index.ts'
import type { TurnwireError } from '../../src/language/errors.ts'
import type { Chance } from './chance.ts'
import type { SimulatedNode } from './cluster.ts'
import type { Disk } from './disk.ts'
import type { Machine, Scheduler } from './scheduler.ts'
import type { Trace } from './trace.ts'

/** `local`: the engine's boundary. `engine`: the sessions behind it. */
export type Node = {
  machine: Machine
  local: LocalEngine
  engine: OpenSessions
  /** What makes it a node of several. */
  member?: SimulatedNode
}

/** `gone`: the connection broke, so the result is unknown. */
export type Answer<T> = { value: T } | { refused: TurnwireError } | { gone: true }

export type System = {
  readonly chance: Chance
  readonly scheduler: Scheduler
  readonly trace: Trace
  readonly disk: Disk
  readonly sessions: { id: string; owner: string }[]
  /** The machines that are up. */
  readonly nodes: Node[]
  /** Clients send messages while turns run, withdraw them, and stop single calls. */
  readonly hasMessages: boolean
  /** Two people with a role have to allow some calls. */
  readonly hasVotes: boolean
  /** How many machines were ever started. */
  readonly born: number
  /** The node that a request about a session is forwarded to, when this one was asked. */
  route(asked: Node, session: string): Promise<Node>
  call<T>(node: Node, work: () => Promise<T>): Promise<Answer<T>>
}

export function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
