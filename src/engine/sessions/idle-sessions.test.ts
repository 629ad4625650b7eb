import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RecentSessions } from './idle-sessions.ts'

class FakeSession {
  readonly id: string
  bytes = 100
  busy = false
  released = false
  static looks = 0

  constructor(id: number) {
    this.id = `sess_${id}`
  }

  get isIdle(): boolean {
    FakeSession.looks += 1
    return !this.busy
  }

  release(): void {
    this.released = true
  }
}

const many = (count: number): FakeSession[] => Array.from({ length: count }, (_, id) => new FakeSession(id))

test('with more than 256 in memory the least recently used idle session leaves', () => {
  const recent = new RecentSessions<FakeSession>()
  const sessions = many(258)
  for (const session of sessions.slice(0, 256)) assert.deepEqual(recent.use(session), [])
  recent.use(sessions[0]!)
  sessions[1]!.busy = true
  assert.deepEqual(recent.use(sessions[256]!), [sessions[2]])
  assert.ok(sessions[2]!.released && recent.get('sess_2') === undefined)
  assert.ok(recent.get('sess_0') === sessions[0] && recent.get('sess_1') === sessions[1])
})

test('with more than 64 MiB of logs in memory idle sessions leave, but never the one that is used', () => {
  const recent = new RecentSessions<FakeSession>()
  const [first, second, third] = many(3) as [FakeSession, FakeSession, FakeSession]
  recent.use(first)
  recent.use(second)
  second.bytes = 63 * 1024 * 1024
  recent.use(second)
  third.bytes = 70 * 1024 * 1024
  assert.deepEqual(recent.use(third), [first, second])
  assert.deepEqual([...recent.values()], [third])
  recent.forget(third.id)
  assert.deepEqual(recent.use(first), [])
})

test('a use looks at few sessions, however many are at work', () => {
  const recent = new RecentSessions<FakeSession>()
  const sessions = many(5_000)
  for (const session of sessions) session.busy = true
  for (const session of sessions) recent.use(session)
  FakeSession.looks = 0
  recent.use(sessions[0]!)
  assert.ok(FakeSession.looks <= 17, `${FakeSession.looks} looks`)
  for (const session of sessions) session.busy = false
  recent.use(sessions[1]!)
  assert.equal([...recent.values()].length, 256)
})

test('with few idle sessions a use looks at none', () => {
  const recent = new RecentSessions<FakeSession>()
  const sessions = many(256)
  FakeSession.looks = 0
  for (const session of sessions) recent.use(session)
  assert.equal(FakeSession.looks, 0)
})
