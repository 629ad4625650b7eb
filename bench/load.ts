// P6 with 256 sessions at once: appends against the barest group commit, and how long the event loop of the whole server
// is blocked meanwhile.
import { Agent } from 'node:http'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout } from 'node:timers/promises'
import type { Event } from '../src/language/events.ts'
import { limit, median, type Result, type Trial } from './harness.ts'
import { join, sqliteStore, tempFolder } from './parts.ts'
import { post, type Stalls, startTurnwire } from './served.ts'

const sessions = 256
export const names = Array.from({ length: sessions }, (_, index) => `session-${index}`)
const text = (words: string) => [{ type: 'text' as const, text: words }]

/** The events of the first commit of a cycle. */
function eventsOf(callId: string): Event[] {
  const toolHash = 't'.repeat(43)
  const call = { type: 'call', id: callId, name: 'add', form: 'json', text: '{"a":2,"b":3}' } as const
  return [
    { v: 1, at: 1, type: 'model.answered', parts: [...text('Let me add.'), call], stop: 'calls', model: 'm' },
    {
      v: 1,
      at: 1,
      type: 'call.started',
      callId,
      attempt: 1,
      allowed: { toolHash, rule: 'trusted' },
    },
  ]
}

/** How many events an append has. */
const step = eventsOf('call').length

export type AppendOne = (session: number, seq: number, events: Event[]) => Promise<void>

/** Rows indexed by session and number, those of one turn of the event loop in one synced commit; nothing is checked. */
function bareGroupCommit(file: string): { append: AppendOne; close(): void } {
  const database = new DatabaseSync(file)
  database.exec('PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL')
  database.exec('CREATE TABLE log (session INT, seq INT, body TEXT)')
  database.exec('CREATE UNIQUE INDEX log_of_session ON log (session, seq)')
  const insert = database.prepare('INSERT INTO log VALUES (?, ?, ?)')
  let waiting: { row: [number, number, string]; done: () => void }[] = []
  const flush = (): void => {
    const group = waiting
    waiting = []
    database.exec('BEGIN IMMEDIATE')
    for (const { row } of group) insert.run(...row)
    database.exec('COMMIT')
    for (const { done } of group) done()
  }
  return {
    append: (session, seq, events) =>
      new Promise(done => {
        if (waiting.length === 0) setImmediate(flush)
        waiting.push({ row: [session, seq, JSON.stringify(events)], done })
      }),
    close: () => database.close(),
  }
}

/** Appends per session, each as soon as the one before it is durable. */
export function appending(append: AppendOne, firstSeq: number) {
  const appends = 20
  let seq = firstSeq
  return async (): Promise<void> => {
    const from = seq
    seq += appends * step
    await Promise.all(
      names.map(async (_, session) => {
        for (let at = from; at < seq; at += step) await append(session, at, eventsOf(`call-${at}`))
      }),
    )
  }
}

export async function appendsAtOnce(): Promise<Trial> {
  const folder = tempFolder()
  const bare = bareGroupCommit(join(folder.path, 'bare.db'))
  const store = sqliteStore({ file: join(folder.path, 'turnwire.db') })
  for (const id of names)
    await store.create({ row: { id, owner: 'o', agent: 'a', status: 'idle', createdAt: 1 }, events: [] })
  const ours: AppendOne = (session, seq, events) =>
    store.append({ session: names[session]!, epoch: 1, seq, events, status: 'running' })
  return {
    name: `appends of ${sessions} sessions at once, SQLite FULL (wall)`,
    measure: 'wall',
    units: sessions * 20,
    rounds: 9,
    variants: [
      { name: 'bare group commit', run: appending(bare.append, 1) },
      { name: "turnwire's store", run: appending(ours, 1) },
    ],
    bars: [{ id: 'P6, 256 sessions', ours: "turnwire's store", floor: 'bare group commit', most: 1 / 0.8 }],
    async close() {
      bare.close()
      await store.close()
      folder.remove()
    },
  }
}

const turn = { messages: [{ role: 'user', content: 'What is two and three?' }] }
const seconds = 4

/**
 * How late the event loop of the server is while 256 clients take turns in it: without a pause, when every turn waits
 * behind 255 others, and with pauses that leave the server idle half of the time. Each load has sessions of its own: with a few
 * hundred turns each they would outgrow the memory for idle sessions, and every turn would have to open its session anew.
 */
export async function stallsUnderLoad(): Promise<Result> {
  const folder = tempFolder()
  const agent = new Agent({ keepAlive: true, maxSockets: sessions })
  const turnwire = await startTurnwire('bench.config.ts', join(folder.path, 'data'))
  const { port } = turnwire
  const begin = async (): Promise<string> => {
    const created = await post({ agent, port, path: '/sessions', body: { agent: { name: 'bench' } } })
    return `/sessions/${JSON.parse(created).sessionId}/turns`
  }
  /** Gives the turns per second, too. */
  const load = async (pauseMs: number): Promise<Stalls & { rate: number }> => {
    const paths = await Promise.all(names.map(begin))
    let turns = 0
    const until = performance.now() + seconds * 1000
    await turnwire.ask('watchStalls')
    await Promise.all(
      paths.map(async path => {
        while (performance.now() < until) {
          if (pauseMs > 0) await setTimeout(2 * Math.random() * pauseMs)
          await post({ agent, port, path, body: turn })
          turns += 1
        }
      }),
    )
    return { ...(await turnwire.ask('stalls')), rate: turns / seconds }
  }
  await load(0)
  const full = await load(0)
  let pauseMs = (sessions / full.rate) * 2000
  // At half of the rate the groups of commits are smaller, so that the server is busy for more than half of the time.
  for (let look = 0; look < 2; look += 1) pauseMs *= (await load(pauseMs)).busy / 0.5
  const half: Stalls[] = []
  for (let round = 0; round < 5; round += 1) half.push(await load(pauseMs))
  agent.destroy()
  await turnwire.stop()
  folder.remove()
  const p99 = median(half.map(each => each.p99))
  const worst = median(half.map(each => each.max))
  return {
    trial: `how late the event loop is with ${sessions} clients`,
    unit: 'ms',
    medians: {
      'without a pause, p99': full.p99,
      'half busy, p99': p99,
      'half busy, worst': worst,
      'half busy, longest collection of garbage': median(half.map(each => each.collection)),
      'half busy, at work in each second': 1000 * median(half.map(each => each.busy)),
    },
    bars: [
      limit('P6, stalls', 'half busy, p99', p99, 2, 'ms'),
      limit('P6, stalls', 'half busy, worst', worst, 40, 'ms'),
    ],
  }
}
