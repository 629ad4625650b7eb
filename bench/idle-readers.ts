// P14: the memory that 1,000 clients cost who ask for a session of 40 MB and never read the answer, and how long they hold
// the main thread.
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Attacked, attacked, MiB, script } from '../test/bounded/attack-rig.ts'
import { limit, type Result } from './harness.ts'

const READERS = 1_000
const AT_ONCE = 50
/** The thread that keeps the index has read the session by then. It is no part of what the clients cost. */
const INDEXED_MS = 10_000
const results = { calls: [{ name: 'give', input: { bytes: 64 * 1024 } }], repeat: 640 }

type Cost = { more: number; stallMs: number }

/** In a server of its own, since memory that a process had is not always given back. */
async function ignored(pathOf: (session: string) => string): Promise<Cost> {
  const ends: (() => unknown)[] = []
  const server = await attacked(
    { after: end => void ends.push(end) },
    { config: { limits: { calls: 10_000 }, server: { stallMs: 60_000 } } },
  )
  const session = await server.session()
  const made = await server.turn(session, script(results))
  if (made.status !== 200) throw new Error(`${made.status} ${made.text.slice(0, 200)}`)
  await sleep(INDEXED_MS)
  const cost = await costOf(server, pathOf(session))
  for (const end of ends.reverse()) await end()
  return cost
}

async function costOf(server: Attacked, path: string): Promise<Cost> {
  const { rss } = await server.memory()
  await server.watch()
  const sockets: Socket[] = []
  while (sockets.length < READERS)
    sockets.push(...(await Promise.all(Array.from({ length: AT_ONCE }, () => server.ignore({ path })))))
  // Someone who reads comes after all of them, and gets the whole.
  const answer = await server.send({ path: path.replace(/events$/, 'history?type=full') })
  if (answer.text.length < 40 * MiB) throw new Error(`${answer.status} ${answer.text.slice(0, 200)}`)
  const { peakRss, stallMs } = await server.seen()
  for (const socket of sockets) socket.destroy()
  return { more: (peakRss - rss) / MiB, stallMs }
}

export async function idleReaders(): Promise<Result> {
  const events = await ignored(session => `/sessions/${session}/events`)
  const history = await ignored(session => `/sessions/${session}/history?type=full`)
  const more = Math.max(events.more, history.more)
  return {
    trial: `Memory of ${READERS} clients that do not read a session of 40 MB`,
    unit: 'MiB',
    medians: {
      'of /events': events.more,
      'of history?type=full': history.more,
      'longest stall, in ms of CPU': Math.max(events.stallMs, history.stallMs),
    },
    bars: [limit('P14', 'more memory', more, 300, 'MiB')],
  }
}
