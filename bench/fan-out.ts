// P8: ten thousand readers of event streams. What each of them costs in memory, and what it costs to tell them all
// something, against a bare server that writes the same frames.
import { Agent } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { owners } from './fan-out-script.ts'
import { limit, type Result, runTrial, type Variant } from './harness.ts'
import { join, tempFolder } from './parts.ts'
import { here, post, type Served, start, startReaders, startTurnwire } from './served.ts'

const each = 400
const clients = owners.length * each

type Watched = { served: Served; readers: Served; memoryEach: number; play: () => Promise<unknown> }

const flags = ['--expose-gc', '--import', here('fixtures/probe.ts')]

/** Opens all streams on `served`; `playPath` is where an owner's session is told to begin. */
async function watch(
  served: Served,
  streamPath: (owner: string) => Promise<string>,
  playPath: (stream: string) => string,
): Promise<Watched> {
  const paths = await Promise.all(owners.map(streamPath))
  const groups = owners.map((key, index) => ({ path: paths[index] ?? '', key }))
  const before = await served.ask('memory')
  const readers = await startReaders({ port: served.port, groups, each })
  await setTimeout(500)
  const after = await served.ask('memory')
  const agent = new Agent({ keepAlive: true })
  const body = { messages: [{ role: 'user', content: 'Go on.' }] }
  const play = () =>
    Promise.all(
      groups.map(({ path, key }) =>
        post({
          agent,
          port: served.port,
          path: playPath(path),
          body,
          headers: { authorization: `Bearer ${key}` },
        }),
      ),
    )
  return { served, readers, memoryEach: (after.rss - before.rss) / clients / 1024, play }
}

/** Microseconds of CPU per frame that arrived. */
function perDelivery(name: string, { served, readers, play }: Watched): Variant {
  return {
    name,
    async run() {
      const [cpu, frames] = [await served.ask('cpu'), await readers.ask('frames')]
      await play()
      let arrived = await readers.ask('frames')
      for (let last = -1; arrived !== last; arrived = await readers.ask('frames')) {
        last = arrived
        await setTimeout(300)
      }
      return ((await served.ask('cpu')) - cpu) / (arrived - frames)
    },
  }
}

export async function fanOut(): Promise<Result[]> {
  const folder = tempFolder()
  const bare = await watch(
    await start([here('fixtures/bare-sse.ts')], {}, flags),
    async owner => `/${owner}`,
    path => path,
  )
  const turnwire = await startTurnwire('fan-out.config.ts', join(folder.path, 'data'), {}, flags)
  const agent = new Agent()
  const ours = await watch(
    turnwire,
    async owner => {
      const headers = { authorization: `Bearer ${owner}` }
      const body = { agent: { name: 'bench' } }
      const made = await post({ agent, port: turnwire.port, path: '/sessions', body, headers })
      return `/sessions/${JSON.parse(made).sessionId}/events`
    },
    path => path.replace(/events$/, 'turns'),
  )
  const delivered = await runTrial({
    name: `one frame to one of ${clients.toLocaleString('en')} readers (CPU of the server)`,
    measure: 'told',
    units: 1,
    rounds: 5,
    variants: [perDelivery('raw frames', bare), perDelivery('turnwire', ours)],
    bars: [{ id: 'P8', ours: 'turnwire', floor: 'raw frames', most: 1.2 }],
  })
  const perSecond = 1e6 / (delivered.medians['turnwire'] ?? Number.NaN)
  delivered.bars.push(limit('P8, 200,000 deliveries/s', 'turnwire, each', 1e6 / perSecond, 5, 'us'))
  const ratio = ours.memoryEach / bare.memoryEach
  const memory: Result = {
    trial: `memory for each of ${clients.toLocaleString('en')} readers`,
    unit: 'KiB',
    medians: { 'bare Node': bare.memoryEach, turnwire: ours.memoryEach },
    bars: [{ id: 'P8', ours: 'turnwire', floor: 'bare Node', most: 1.5, ratio, met: ratio <= 1.5 }],
  }
  for (const { readers, served } of [bare, ours]) {
    await readers.stop()
    await served.stop()
  }
  folder.remove()
  return [memory, delivered]
}
