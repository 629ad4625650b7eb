// Background runs. A run is a turn. Its id is made of the session's id and the number of its first event, so nothing is kept
// for it, and it is found again wherever the log is. Its end is signed and names the owner: DeltaKit's hook stops a run
// with a request that carries no key, so the id itself must allow that, and nothing else.
import type { Accepted, Engine, SessionRef } from '../../engine/index.ts'
import { hasCode } from '../../language/errors.ts'
import { type ShownEnd, ShownFold, type ShownTurn } from '../../language/show.ts'
import { isSameText } from '../../lib/signing/same-text.ts'
import type { WireHost } from '../host.ts'
import { readLog } from '../read-log.ts'
import type { Job, JobStatus } from './schema.ts'

export type BackgroundRun = {
  id: string
  ref: SessionRef
  first: number
  turn: ShownTurn
  ended?: ShownEnd
}

type Signer = Pick<WireHost, 'sign'>

export function makeRunId(host: Signer, ref: SessionRef, first: number): string {
  const owner = Buffer.from(ref.owner).toString('base64url')
  return `${ref.session}.${first}.${owner}.${signature(host, ref, first)}`
}

function signature(host: Signer, { owner, session }: SessionRef, first: number): string {
  return host.sign(JSON.stringify(['deltakit-run', owner, session, first]))
}

type ReadId = { session: string; first: number; name: string; signed: string }

function readId(id: string): ReadId | undefined {
  const [, session, first, name = '', signed = ''] =
    /^([\w-]{1,200})\.([1-9]\d{0,14})(?:\.([\w-]{1,1000})\.([\w-]{43}))?$/.exec(id) ?? []
  return session === undefined ? undefined : { session, first: Number(first), name, signed }
}

/** The owner whom the id of a run names. Undefined: it was not signed here. */
export function ownerOfRun(host: Signer, id: string): string | undefined {
  const { session, first, name, signed } = readId(id) ?? {}
  if (session === undefined || first === undefined || !name || !signed) return undefined
  const owner = Buffer.from(name, 'base64url').toString()
  return isSameText(signed, signature(host, { owner, session }, first)) ? owner : undefined
}

/** Undefined if it is no run, or a run of someone else. */
export async function findRun(engine: Engine, owner: string, id: string): Promise<BackgroundRun | undefined> {
  const { session, first } = readId(id) ?? {}
  if (session === undefined || first === undefined) return undefined
  try {
    const run = await readRun(engine, { owner, session }, first)
    return run && { ...run, id }
  } catch (error) {
    if (hasCode(error, 'session_not_found')) return undefined
    throw error
  }
}

/** Events that a message may record before its turn starts: its key, its settings, and the end of the turn before. */
const beforeTurn = new Set(['request.accepted', 'session.configured', 'result', 'end', 'message'])

export async function readRun(
  engine: Engine,
  ref: SessionRef,
  first: number,
): Promise<Omit<BackgroundRun, 'id'> | undefined> {
  const fold = new ShownFold()
  let turn: ShownTurn | undefined
  for await (const { event } of readLog(engine, ref, first - 1)) {
    const shown = fold.take(event)
    if (!turn) {
      if (shown?.type === 'turn') turn = shown.turn
      else if (!beforeTurn.has((shown ?? event).type)) return undefined
    } else if (shown?.type === 'end' && shown.end.turn === turn.turn)
      return { ref, first, turn, ended: shown.end }
  }
  return turn && { ref, first, turn }
}

/** The first event of the run that a message began which waited. Undefined: none has begun after event `last`. */
export async function findNextRun(
  engine: Engine,
  ref: SessionRef,
  last: number,
): Promise<number | undefined> {
  const fold = new ShownFold()
  for await (const { seq, event } of readLog(engine, ref, last)) {
    const shown = fold.take(event)
    if (shown?.type === 'message' && shown.state === 'delivered' && !shown.parts) return seq
  }
  return undefined
}

/** A message that waits. It has no run of its own yet. */
export function encodeQueued(
  { session }: SessionRef,
  { id, state }: NonNullable<Accepted['message']>,
): { status: string; messageId: string; sessionId: string } {
  return { status: state, messageId: id, sessionId: session }
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

function jobStatus({ stop }: ShownEnd): JobStatus {
  if (stop === 'error') return 'failed'
  return stop === 'cancelled' || stop === 'abandoned' ? 'cancelled' : 'completed'
}
