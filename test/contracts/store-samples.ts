// What the store suites are made of: the store that is tried, small sessions and batches, and how a refusal looks.
import assert from 'node:assert/strict'
import type { Append, NewSession, Store } from '../../src/engine/ports.ts'
import { type ErrorCode, TurnwireError } from '../../src/language/errors.ts'
import type { Event } from '../../src/language/events.ts'

export type StoreUnderTest = {
  store: Store
  /** Closes the store and opens what it kept. Absent: it keeps nothing. */
  reopen?: () => Promise<Store>
  cleanup: () => Promise<void>
}

export type MakeStore = () => Promise<StoreUnderTest>

/** Filled anew before each test. */
export type Subject = { store: Store; under: StoreUnderTest }

export const BORN = 1_700_000_000_000

export function event(text: string, at = BORN): Event {
  return { v: 1, type: 'turn.started', at, turn: 'turn_1', wire: 'test', parts: [{ type: 'text', text }] }
}

export function events(first: number, count: number): Event[] {
  return Array.from({ length: count }, (_, index) => event(`event ${first + index}`, BORN + first + index))
}

export function newSession(
  id: string,
  more: Partial<NewSession['row']> & Partial<NewSession> = {},
): NewSession {
  const { events: given = [], card, request, ...row } = more
  return {
    row: { id, owner: 'ada', agent: 'helper', status: 'idle', createdAt: BORN, ...row },
    events: given,
    ...(card && { card }),
    ...(request && { request }),
  }
}

export function batch(session: string, seq: number, count: number, more: Partial<Append> = {}): Append {
  return { session, epoch: 1, seq, events: events(seq, count), status: 'running', ...more }
}

export function rejects(promise: Promise<unknown>, code: ErrorCode): Promise<void> {
  return assert.rejects(promise, (error: unknown) => {
    assert.ok(error instanceof TurnwireError, `rejected with ${String(error)}, not a TurnwireError`)
    assert.equal(error.code, code)
    return true
  })
}

export async function numbersOf(store: Store, session: string, after?: number): Promise<number[]> {
  return (await store.read(session, after)).map(({ seq }) => seq)
}

export function upTo(last: number, first = 1): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index)
}
