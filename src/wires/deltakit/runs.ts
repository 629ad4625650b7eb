// Background runs. A run is a turn. Its id is made of the session's id and the number of its first event, so nothing is kept
// for it, and it is found again wherever the log is.
import type { Engine, SessionRef } from '../../engine/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { TurnEnded, TurnStarted } from '../../language/events.ts'
import { readLog } from '../read-log.ts'
import type { Job, JobStatus } from './schema.ts'

export type BackgroundRun = {
  id: string
  ref: SessionRef
  first: number
  turn: TurnStarted
  ended?: TurnEnded
}

export function runIdOf(session: string, first: number): string {
  return `${session}.${first}`
}

/** Undefined if it is no run, or a run of someone else. */
export async function findRun(engine: Engine, owner: string, id: string): Promise<BackgroundRun | undefined> {
  const [, session, number] = /^([\w-]{1,200})\.([1-9]\d{0,14})$/.exec(id) ?? []
  if (session === undefined) return undefined
  try {
    return await readRun(engine, { owner, session }, Number(number))
  } catch (error) {
    if (error instanceof TurnwireError && error.code === 'session_not_found') return undefined
    throw error
  }
}

/** The events that a message may record before its turn starts. */
const beforeTurn = new Set(['request.accepted', 'session.configured', 'call.settled', 'turn.ended'])

export async function readRun(
  engine: Engine,
  ref: SessionRef,
  first: number,
): Promise<BackgroundRun | undefined> {
  let turn: TurnStarted | undefined
  for await (const { event } of readLog(engine, ref, first - 1)) {
    if (!turn) {
      if (event.type === 'turn.started') turn = event
      else if (!beforeTurn.has(event.type)) return undefined
    } else if (event.type === 'turn.ended' && event.turn === turn.turn)
      return { id: runIdOf(ref.session, first), ref, first, turn, ended: event }
  }
  return turn && { id: runIdOf(ref.session, first), ref, first, turn }
}

export function encodeJob({ id, ref, turn, ended }: BackgroundRun, waiting: boolean): Job {
  const at = new Date(turn.at).toISOString()
  return {
    job_id: id,
    runId: id,
    sessionId: ref.session,
    status: ended ? jobStatus(ended) : 'running',
    created_at: at,
    started_at: at,
    ...(ended && { finished_at: new Date(ended.at).toISOString() }),
    ...(ended?.error && { error: ended.error.message }),
    ...(!ended && waiting && { waiting }),
  }
}

function jobStatus({ stop }: TurnEnded): JobStatus {
  if (stop === 'error') return 'failed'
  return stop === 'cancelled' || stop === 'abandoned' ? 'cancelled' : 'completed'
}
