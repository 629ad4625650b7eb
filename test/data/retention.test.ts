// Retention: which sessions a walk deletes, by age and by size, and that a server does it, to stored responses too.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Retention, retainOnce } from '../../src/data/retention.ts'
import type { SessionStatus, Store } from '../../src/engine/ports/index.ts'
import { scripted, startServer, Turnwire } from '../../src/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { until } from '../bounded/attack-rig.ts'
import { samplePayment } from '../contracts/payment-store.ts'

const day = 24 * 60 * 60_000
const now = 1_000 * day

type Made = {
  id: string
  agent?: string
  days?: number
  status?: SessionStatus
  bytes?: number
  wire?: string
}

const settings = { tools: [], options: {}, clientTools: [] }

async function storeWith(sessions: readonly Made[]): Promise<Store> {
  const store = memoryStore()
  for (const { id, agent = 'helper', days = 0, status = 'idle', bytes = 0, wire } of sessions) {
    const at = now - days * day
    await store.create({
      row: { id, owner: 'ana', agent, status: 'idle', createdAt: at },
      events: [{ v: 1, at, type: 'grant.revoked', grantId: 'x'.repeat(bytes), by: 'ana' }],
    })
    await store.append({
      session: id,
      epoch: 1,
      seq: 2,
      events: [],
      status,
      ...(wire !== undefined && { summary: { settings, wire } }),
    })
  }
  return store
}

/** The sessions that are left after one walk, oldest first, and how many pauses it made. */
async function leftOf(sessions: readonly Made[], rules: Record<string, Retention>) {
  const store = await storeWith(sessions)
  let pauses = 0
  let largest = 0
  const deleted = await retainOnce({
    store: {
      list: async (owner, page) => {
        const found = await store.list(owner, page)
        largest = Math.max(largest, found.rows.length)
        return found
      },
    },
    remove: async ({ session }) => void (await store.remove(session)),
    rules: new Map(Object.entries(rules)),
    now: () => now,
    pause: async () => {
      pauses += 1
    },
    log: () => {},
  })
  const ids: string[] = []
  for (const { id } of sessions) if (await store.row(id)) ids.push(id)
  return { ids, deleted, pauses, largest }
}

test('payments stay; what was asked and answered without a session goes with its time', async () => {
  const { payments } = memoryStore()
  const old = { worker: 'node', answer: { text: 'Hello' }, request: null, open: false }
  const samples = { old: 31, young: 29, working: 31, other: 31 }
  for (const [id, days] of Object.entries(samples))
    await payments.reserve(
      samplePayment(id, {
        ...{ ...old, reservedAt: now - days * 24 * 60 * 60_000 },
        ...(id === 'working' && { open: true }),
        ...(id === 'other' && { agent: 'archivist' }),
      }),
    )
  const work = { store: memoryStore(), payments, rules: new Map([['helper', { days: 30 }]]) }
  for (let times = 0; times < 2; times += 1)
    await retainOnce({ ...work, remove: async () => {}, now: () => now, pause: async () => {}, log() {} })
  const kept = await Promise.all(Object.keys(samples).map(async id => (await payments.find(id))!))
  assert.deepEqual(
    kept.map(({ record: { answer }, version }) => [answer === null, version]),
    [
      [true, 2],
      [false, 1],
      [false, 1],
      [false, 1],
    ],
  )
})

test('sessions that nobody used for so many days are deleted, also those that wait, not those at work', async () => {
  const sessions: Made[] = [
    { id: 'old', days: 31 },
    { id: 'working', days: 31, status: 'running' },
    { id: 'waiting', days: 31, status: 'waiting' },
    { id: 'other', days: 31, agent: 'archivist' },
    { id: 'young', days: 29 },
  ]
  const { ids, deleted } = await leftOf(sessions, { helper: { days: 30 } })
  assert.deepEqual(ids, ['working', 'other', 'young'])
  assert.equal(deleted, 2)
})

test('beyond so many bytes of an agent its oldest sessions at rest are deleted', async () => {
  const sessions: Made[] = [
    { id: 'a', bytes: 1_000 },
    { id: 'b', bytes: 1_000, status: 'waiting' },
    { id: 'c', bytes: 1_000 },
    { id: 'd', bytes: 1_000, agent: 'archivist' },
    { id: 'e', bytes: 1_000 },
  ]
  const { ids } = await leftOf(sessions, { helper: { bytes: 2_500 } })
  assert.deepEqual(ids, ['b', 'c', 'd', 'e'])
  assert.deepEqual((await leftOf(sessions, { helper: { bytes: 100_000 } })).ids.length, 5)
})

test('a walk takes small steps, with a pause after each page and each deletion', async () => {
  const sessions = Array.from({ length: 250 }, (_, n) => ({ id: `s${n}`, days: n % 5 === 0 ? 31 : 1 }))
  const { ids, deleted, pauses, largest } = await leftOf(sessions, { helper: { days: 30 } })
  assert.deepEqual([ids.length, deleted, pauses, largest], [200, 50, 53, 100])
})

test('a server deletes old sessions and stored responses', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'turnwire-retention-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const serve = async (retention?: Retention) => {
    const agent = { name: 'helper', model: scripted(() => ({ text: 'Yes.' })) }
    const turnwire = await Turnwire.open({
      agents: [
        { ...agent, ...(retention && { retention }) },
        { ...agent, name: 'keeper' },
      ],
      data: folder,
      server: { log: 'silent', graceMs: 100 },
    })
    const server = await startServer(turnwire, { port: 0 })
    const stop = async (): Promise<void> => {
      await server.stop()
      await turnwire.close()
    }
    t.after(stop)
    return { url: server.url, stop }
  }
  const post = async (url: string, body: unknown): Promise<Record<string, string>> => {
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
    assert.ok(answer.ok, String(answer.status))
    return (await answer.json()) as Record<string, string>
  }
  const first = await serve()
  const { sessionId } = await post(`${first.url}/sessions`, { agent: { name: 'helper' } })
  const { sessionId: kept } = await post(`${first.url}/sessions`, { agent: { name: 'keeper' } })
  const { id } = await post(`${first.url}/v1/responses`, { model: 'helper', input: 'Well?', store: true })
  const paths = [`/sessions/${sessionId}`, `/v1/responses/${id}`, `/sessions/${kept}`]
  const statuses = (url: string): Promise<number[]> =>
    Promise.all(paths.map(async path => (await fetch(url + path)).status))
  assert.deepEqual(await statuses(first.url), [200, 200, 200])
  await first.stop()
  const second = await serve({ days: 1e-9 })
  await until(async () => (await statuses(second.url)).join() === '404,404,200')
})
