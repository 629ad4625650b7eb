// Failed writes, in one place for all stores: the error of each refusal, and which later writes fail with it. Each
// store keeps a failure until the caller's promise has rejected.
import type { Append, BlobPiece } from '../engine/ports/index.ts'
import { TurnwireError } from '../language/errors.ts'

export type WriteRequest = {
  kind:
    | 'create'
    | 'claim'
    | 'append'
    | 'remove'
    | 'putBlob'
    | 'addPiece'
    | 'payment'
    | 'record'
    | 'spend'
    | 'probe'
    | 'renew'
  epoch?: number
}
export type SessionWrite = WriteRequest & { session: string }
export type WriteFailure = { error: TurnwireError; epoch?: number | undefined }

/**
 * Whether a write fails because an earlier write of its session failed. A claim, a payment, a record and spending do not: they depend on no
 * earlier write. An append of another epoch does not either, so that a writer that lost its lease cannot stop the current one.
 */
export function failsWith(failure: WriteFailure, write: WriteRequest): boolean {
  if (write.kind === 'claim' || write.kind === 'payment') return false
  if (write.kind === 'record' || write.kind === 'spend') return false
  return failure.epoch === undefined || write.epoch === undefined || failure.epoch === write.epoch
}

/** The sessions whose writes failed, with the failure that later writes share. */
export class FailedSessions extends Map<string, WriteFailure> {
  errorFor(write: SessionWrite): TurnwireError | undefined {
    const failure = this.get(write.session)
    return failure && failsWith(failure, write) ? failure.error : undefined
  }
}

/** Throws `lease_lost` unless the epoch, if there is one, is that of the session's current writer. */
export function checkEpoch(session: string, epoch: number | undefined, current: number): void {
  if (epoch !== undefined && epoch !== current)
    throw leaseLost(session, `epoch ${epoch} was followed by ${current}`)
}

/** Throws `lease_lost` unless this append is the next one of the session's current writer. */
export function checkAppend(
  { session, epoch, seq }: Pick<Append, 'session' | 'epoch' | 'seq'>,
  currentEpoch: number,
  head: number,
): void {
  checkEpoch(session, epoch, currentEpoch)
  if (seq !== head + 1) throw leaseLost(session, `event ${seq} was offered where ${head + 1} is next`)
}

/** Throws `lease_lost` unless this piece is the next one of its blob, by the session's current writer. */
export function checkPiece(
  session: string,
  { epoch, at }: Pick<BlobPiece, 'epoch' | 'at'>,
  currentEpoch: number,
  size: number | undefined,
): void {
  checkEpoch(session, epoch, currentEpoch)
  if (at !== 0 && at !== size)
    throw leaseLost(session, `a piece was offered at ${at} where the blob has ${size ?? 'no'} bytes`)
}

export function sessionMissing(session: string): TurnwireError {
  return leaseLost(session, 'it does not exist any more')
}

/** The session would take the write now, but did not when it came. */
export function takenMeanwhile(session: string): TurnwireError {
  return leaseLost(session, 'it changed while the write was under way')
}

/** Another node has the session. Nothing was changed. */
export function heldElsewhere(session: string, node: string): TurnwireError {
  return new TurnwireError('moved', `Node ${node} has session ${session}. Nothing was recorded; ask again.`)
}

/** The node that writes has no lease any more. */
export function nodeLeaseEnded(node: string): TurnwireError {
  return new TurnwireError('lease_lost', `The lease of node ${node} has ended. Nothing was recorded.`)
}

/** A store is closed when its process stops: another one may answer. */
export function storeClosed(): TurnwireError {
  return new TurnwireError('stopping', 'Turnwire is stopping: its store is closed. Try again in a moment.')
}

export function sessionExists(session: string): TurnwireError {
  return new TurnwireError('store_failed', `There is a session ${session} already. Create it under a new id.`)
}

function leaseLost(session: string, why: string): TurnwireError {
  return new TurnwireError(
    'lease_lost',
    `Session ${session} has another writer by now: ${why}. Nothing was recorded.`,
  )
}
