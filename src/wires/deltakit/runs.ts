// Background runs. A run is a turn, found again by the session and the number of its first event, which its id is made
// of: so nothing has to be kept for it, and it survives whatever the log survives.
import type { OpenSessions } from '../../engine/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { Recorded, TurnEnded, TurnStarted } from '../../language/events.ts'
import type { Job, JobStatus } from './schema.ts'

export type Run = {
  id: string
  session: string
  first: number
  turn: TurnStarted
  log: Recorded[]
  ended?: TurnEnded
}

export function runIdOf(session: string, first: number): string {
  return `${session}.${first}`
}

/** Undefined for what never was a run, and for everyone but its owner. */
export async function findRun(engine: OpenSessions, owner: string, id: string): Promise<Run | undefined> {
  const [, session, number] = /^([\w-]{1,200})\.([1-9]\d{0,14})$/.exec(id) ?? []
  if (session === undefined) return undefined
  const first = Number(number)
  try {
    return runAt(id, session, first, await engine.events(owner, session, first - 1))
  } catch (error) {
    if (error instanceof TurnwireError && error.code === 'session_not_found') return undefined
    throw error
  }
}

/** What a message may record before its turn starts. */
const before = new Set(['request.accepted', 'session.configured', 'call.settled', 'turn.ended'])

function runAt(id: string, session: string, first: number, log: Recorded[]): Run | undefined {
  const at = log.findIndex(({ event }) => !before.has(event.type))
  const turn = log[at]?.event
  if (turn?.type !== 'turn.started') return undefined
  const end = log.findIndex(({ event }) => event.type === 'turn.ended' && event.turn === turn.turn)
  const ended = log[end]?.event
  return {
    id,
    session,
    first,
    turn,
    log: end < 0 ? log : log.slice(0, end + 1),
    ...(ended?.type === 'turn.ended' && { ended }),
  }
}

/** The run of the session's last turn, whichever door it was started at. */
export async function lastRun(
  engine: OpenSessions,
  owner: string,
  session: string,
): Promise<Run | undefined> {
  const log = await engine.events(owner, session)
  const at = log.findLastIndex(({ event }) => event.type === 'turn.started')
  const first = log[at]?.seq
  return first === undefined ? undefined : runAt(runIdOf(session, first), session, first, log.slice(at))
}

export function encodeJob({ id, session, turn, ended }: Run, waiting: boolean): Job {
  const at = new Date(turn.at).toISOString()
  return {
    job_id: id,
    runId: id,
    sessionId: session,
    status: ended ? statusOf(ended) : 'running',
    created_at: at,
    started_at: at,
    ...(ended && { finished_at: new Date(ended.at).toISOString() }),
    ...(ended?.error && { error: ended.error.message }),
    ...(!ended && waiting && { waiting }),
  }
}

function statusOf({ stop }: TurnEnded): JobStatus {
  if (stop === 'error') return 'failed'
  return stop === 'cancelled' || stop === 'abandoned' ? 'cancelled' : 'completed'
}
