// The rule of the store port that a write which fails also fails what was asked for after it, in one place for
// all stores. It says nothing of when a failure is over: that is when the one who asked has been told.
import type { TurnwireError } from '../language/errors.ts'

export type Failure = { error: TurnwireError; epoch?: number }
export type Asked = { epoch?: number; kind: 'create' | 'claim' | 'append' | 'remove' | 'putBlob' }

/**
 * Whether `asked` falls with an earlier failure of its session. A claim never does, for it builds on nothing that
 * was written; nor does an append of another epoch, else a writer that lost its lease could stop the one that has it.
 */
export function fallsWith(failure: Failure, asked: Asked): boolean {
  if (asked.kind === 'claim') return false
  return failure.epoch === undefined || asked.epoch === undefined || failure.epoch === asked.epoch
}
