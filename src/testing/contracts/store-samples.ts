// Helpers of the store suites: the store under test, small sessions and batches, and checks that several tests make.
import assert from 'node:assert/strict'
import type { Append, NewSession, Store } from '../../engine/ports/index.ts'
import { type ErrorCode, TurnwireError } from '../../language/errors.ts'
import type { Event, Recorded } from '../../language/events.ts'

export type StoreUnderTest = {
  store: Store
  /** Closes the store and opens its data again. Absent: the store is not durable. */
  reopen?: () => Promise<Store>
  cleanup: () => Promise<void>
}

/** Makes an empty store. Called once for each test. */
export type MakeStore = () => Promise<StoreUnderTest>

/** The store of the current test. */
export type StoreSubject = { store: Store; reopen: (() => Promise<Store>) | undefined }

/**
 * The same store, for tests that call several methods before they await one. A method that throws rejects instead, and a
 * rejection that a failed test never awaited does not count as unhandled.
 */
export function guardedStore(store: Store): Store {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== 'function') return member
      return (...args: unknown[]) => {
        const result = new Promise(resolve => resolve(Reflect.apply(member, target, args)))
        result.catch(() => {})
        return result
      }
    },
  })
}

export const BORN = 1_700_000_000_000

export function sampleEvent(text: string, at = BORN): Event {
  return { v: 1, type: 'turn.started', at, turn: 'turn_1', wire: 'test', parts: [{ type: 'text', text }] }
}

export function events(first: number, count: number): Event[] {
  return Array.from({ length: count }, (_, index) =>
    sampleEvent(`event ${first + index}`, BORN + first + index),
  )
}

export function newSession(
  id: string,
  more: Partial<NewSession['row']> & Partial<NewSession> = {},
): NewSession {
  const { events: given = [], summary, request, ...row } = more
  return {
    row: { id, owner: 'ada', agent: 'helper', status: 'idle', createdAt: BORN, ...row },
    events: given,
    ...(summary && { summary }),
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

export async function eventNumbers(store: Store, session: string, after?: number): Promise<number[]> {
  return (await store.read(session, after)).map(({ seq }) => seq)
}

/** Reads to the end, and checks of each page that it continues the one before and is not too large. */
export async function readInPages(
  store: Store,
  session: string,
  maxBytes: number,
  after = 0,
): Promise<Recorded[][]> {
  const pages: Recorded[][] = []
  for (let last = after; ; ) {
    const page = await store.read(session, last, { maxBytes })
    if (page.length === 0) return pages
    assert.deepEqual(
      page.map(({ seq }) => seq),
      upTo(last + page.length, last + 1),
    )
    const bytes = page.slice(0, -1).reduce((sum, { event }) => sum + JSON.stringify(event).length, 0)
    assert.ok(page.length === 1 || bytes < maxBytes, `${bytes} bytes before the last event of a page`)
    pages.push(page)
    last += page.length
  }
}

export function upTo(last: number, first = 1): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index)
}
