// The whole server against a bare one: turns per second with many clients, start to first answer, memory when idle.
import { readFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { limit, median, type Result, type Trial } from './harness.ts'
import { join, tempFolder } from './parts.ts'
import { here, post, start, startTurnwire } from './served.ts'

const turn = { messages: [{ role: 'user', content: 'What is two and three?' }] }

/** P6: turns per second with 64 clients. */
export async function turnsPerSecond(): Promise<Trial> {
  const clients = 64
  const turns = 20
  const folder = tempFolder()
  const ours = await startTurnwire('bench.config.ts', join(folder.path, 'data'))
  const bare = await start([here('fixtures/bare-server.ts'), join(folder.path, 'bare.db')])
  const agent = new Agent({ keepAlive: true, maxSockets: clients })
  const paths = await Promise.all(
    Array.from({ length: clients }, async () => {
      const created = await post({
        agent,
        port: ours.port,
        path: '/sessions',
        body: { agent: { name: 'bench' } },
      })
      return `/sessions/${JSON.parse(created).sessionId}/turns`
    }),
  )
  const load = (port: number, pathOf: (client: number) => string) => () =>
    Promise.all(
      paths.map(async (_, client) => {
        for (let index = 0; index < turns; index += 1)
          await post({ agent, port, path: pathOf(client), body: turn })
      }),
    )
  return {
    name: `turns over HTTP, ${clients} clients, SQLite FULL (wall per turn)`,
    measure: 'wall',
    units: clients * turns,
    warmUps: 15,
    variants: [
      { name: 'bare server', run: load(bare.port, () => '/') },
      { name: 'turnwire (AAP)', run: load(ours.port, client => paths[client] ?? '/') },
    ],
    bars: [{ id: 'P6', ours: 'turnwire (AAP)', floor: 'bare server', most: 2 }],
    async close() {
      agent.destroy()
      await Promise.all([ours.stop(), bare.stop()])
      folder.remove()
    },
  }
}

/** P10: from the start of the process to its first answer, and what it keeps in memory when nothing happens. */
export async function startAndIdle(): Promise<Result> {
  const folder = tempFolder()
  const times: number[] = []
  const rounds = 6
  let rss = 0
  for (let round = 0; round < rounds; round += 1) {
    const served = await startTurnwire('bench.config.ts', join(folder.path, 'data'), {}, [])
    await fetch(`${served.url}/health`)
    times.push(performance.now() - served.began)
    // By then everything that a server begins some seconds after its start has begun.
    if (round === rounds - 1) await pause(8_000)
    rss =
      Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${served.child.pid}/status`, 'utf8'))?.[1]) * 1.024e-3
    await served.stop()
  }
  folder.remove()
  const first = median(times)
  return {
    trial: 'start to first answer (ms), idle memory (MB)',
    unit: '',
    medians: { 'start to first answer': first, 'idle RSS': rss },
    bars: [limit('P10', 'start to first answer', first, 250, 'ms'), limit('P10', 'idle RSS', rss, 105, 'MB')],
  }
}
