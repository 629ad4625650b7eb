// One node on PostgreSQL that holds many idle event streams, each of a session of its own, while many other turns are at
// work: none may be lost. Says what an idle stream and a turn at work cost in memory, and an idle stream in CPU.
import { Agent } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { startServer } from '../test/stores/postgres/server.ts'
import { limit, type Result } from './harness.ts'
import { here, post, type Served, start, startReaders, startTurnwire } from './served.ts'

export type Holding = {
  streams: number
  turns: number
  /** How long a model thinks before each of the two answers of a turn, once all turns have asked it. */
  thinkMs: number
  /** How long the CPU of idle streams is watched. */
  idleMs: number
}

export type Held = {
  /** Turns that ended as they should, and the most that the node said to be at work at one time. */
  answered: number
  atOnce: number
  /** Turns whose end also arrived on the stream of their session. */
  shown: number
  /** Streams that ended by themselves. */
  lost: number
  /** KiB of resident memory, and of heap. */
  streamKiB: number
  streamHeapKiB: number
  turnKiB: number
  /** Microseconds of CPU of one idle stream in one second. */
  idleCpu: number
}

const flags = ['--expose-gc', '--import', here('fixtures/probe.ts')]
const AT_ONCE = 100
const message = { messages: [{ role: 'user', content: 'What is two and three?' }] }

async function inGroups<T, R>(all: readonly T[], work: (each: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  for (let from = 0; from < all.length; from += AT_ONCE)
    results.push(...(await Promise.all(all.slice(from, from + AT_ONCE).map(work))))
  return results
}

export async function hold({ streams, turns, thinkMs, idleMs }: Holding): Promise<Held> {
  const database = await startServer(['max_wal_size=4GB'])
  const env = { HELD_THINK_MS: String(thinkMs), HELD_TURNS: String(turns) }
  const node = await startTurnwire('held.config.ts', database.url, env, flags)
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })
  const create = async (): Promise<string> => {
    const body = { agent: { name: 'bench' } }
    return JSON.parse(await post({ agent, port: node.port, path: '/sessions', body })).sessionId
  }
  const sessions = await inGroups(Array.from({ length: streams }), create)
  const before = await settled(node)
  const groups = sessions.map(id => ({ path: `/sessions/${id}/events`, key: 'none' }))
  const readers = await startReaders({ port: node.port, groups, each: 1 })
  const open = await settled(node)
  const cpu = await node.ask('cpu')
  await pause(idleMs)
  const idleCpu = ((await node.ask('cpu')) - cpu) / streams / (idleMs / 1_000)
  const working = await work(node, sessions.slice(0, turns))
  await pause(1_000)
  const shown = await readers.ask('stops')
  const lost = await readers.ask('ended')
  agent.destroy()
  await readers.stop()
  await node.stop()
  await database.remove()
  const kib = (bytes: number, count: number): number => bytes / count / 1_024
  return {
    answered: working.answered,
    atOnce: working.atOnce,
    shown,
    lost,
    streamKiB: kib(open.rss - before.rss, streams),
    streamHeapKiB: kib(open.heapUsed - before.heapUsed, streams),
    turnKiB: kib(working.rss - open.rss, turns),
    idleCpu,
  }
}

/** Memory once nothing is left to do. */
async function settled(node: Served): Promise<{ rss: number; heapUsed: number }> {
  await pause(2_000)
  await node.ask('memory')
  return node.ask('memory')
}

type Working = { answered: number; atOnce: number; rss: number }

/** One turn of each of these sessions, all at the same time, each with a request of its own that waits for its end. */
async function work(node: Served, sessions: readonly string[]): Promise<Working> {
  const agent = new Agent({ keepAlive: true })
  let [left, atOnce, rss] = [sessions.length, 0, 0]
  const asked = sessions.map(async id => {
    try {
      const path = `/sessions/${id}/turns`
      return JSON.parse(await post({ agent, port: node.port, path, body: message })).stopReason === 'end_turn'
    } catch (error) {
      console.error(error)
      return false
    } finally {
      left -= 1
    }
  })
  while (left > 0) {
    const text = await (await fetch(`${node.url}/metrics`)).text()
    const running = Number(/^turnwire_running_turns (\d+)/m.exec(text)?.[1])
    if (running > atOnce) {
      atOnce = running
      rss = (await node.ask('memory')).rss
    }
    await pause(250)
  }
  const answered = (await Promise.all(asked)).filter(Boolean).length
  agent.destroy()
  return { answered, atOnce, rss }
}

/** Memory of an idle stream of a bare server. */
async function bareStreamKiB(streams: number): Promise<number> {
  const bare = await start([here('fixtures/bare-sse.ts')], {}, flags)
  const before = await settled(bare)
  const groups = Array.from({ length: streams }, (_, index) => ({ path: `/${index}`, key: 'none' }))
  const readers = await startReaders({ port: bare.port, groups, each: 1 })
  const open = await settled(bare)
  await readers.stop()
  await bare.stop()
  return (open.rss - before.rss) / streams / 1_024
}

export async function heldByOneNode(): Promise<Result[]> {
  const [streams, turns] = [10_000, 1_000]
  const bare = await bareStreamKiB(streams)
  const held = await hold({ streams, turns, thinkMs: 2_000, idleMs: 20_000 })
  const ratio = held.streamKiB / bare
  const name = 'an idle stream'
  return [
    {
      trial: `one node holds ${streams.toLocaleString('en')} idle streams of as many sessions (KiB each; µs of CPU a second)`,
      unit: '',
      medians: {
        'bare Node': bare,
        [name]: held.streamKiB,
        'its part of the heap': held.streamHeapKiB,
        'CPU of one in a second': held.idleCpu,
      },
      bars: [{ id: 'idle streams', ours: name, floor: 'bare Node', most: 1.5, ratio, met: ratio <= 1.5 }],
    },
    {
      trial: `and ${turns.toLocaleString('en')} turns at the same time`,
      unit: '',
      medians: {
        'turns answered': held.answered,
        'at work at one time': held.atOnce,
        'ends seen on their streams': held.shown,
        'streams lost': held.lost,
        'KiB of each turn at work': held.turnKiB,
      },
      bars: [
        limit('none lost', 'turns not answered', turns - held.answered, 0.5, 'turns'),
        limit('none lost', 'turns not seen on their streams', turns - held.shown, 0.5, 'turns'),
        limit('none lost', 'streams lost', held.lost, 0.5, 'streams'),
        limit('at once', 'turns that were not at work together', turns - held.atOnce, 0.5, 'turns'),
      ],
    },
  ]
}
