// Clients that ask for a large session and do not read: each costs the server one piece of the answer, not the session.
// `npm run bench -- idle-readers` does the same with 1,000.
import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { describe, test } from 'node:test'
import { type Attacked, assertFree, attacked, MiB, script, until } from './attack-rig.ts'

const readers = 150
const results = 640
/** Without a bound, each reader would hold the session: 6 GB. */
const mostMiB = 300
/** 640 results of 64 KiB: a log of 40 MB. */
const large = script({ calls: [{ name: 'give', input: { bytes: 64 * 1024 } }], repeat: results })

describe('150 clients that do not read a session of 40 MB', () => {
  test('replays take less than 300 MB, and an honest reader gets all of it', async t => {
    const server = await attacked(t, {
      config: { limits: { calls: 10_000 }, server: { stallMs: 60_000 } },
      owners: ['eve', 'ana'],
    })
    const session = await server.session('eve')
    const key = { 'idempotency-key': 'once' }
    const turn = { messages: [{ role: 'user', content: large }], stream: 'message' }
    const path = `/sessions/${session}`
    const made = await server.send({ path: `${path}/turns`, body: turn, headers: key, as: 'eve' })
    assert.equal(made.status, 200)
    const whole = await server.send({ path: `${path}/history?type=full`, as: 'eve' })
    assert.ok(whole.text.length > 40 * MiB, String(whole.text.length))

    for (const sent of [{ path: `${path}/events` }, { path: `${path}/history?type=full` }]) {
      const more: number[] = []
      // A busy machine collects garbage late, which only adds to the peak: the least of a few tries counts.
      while (more.length < 3 && more.every(each => each >= mostMiB)) {
        const { rss } = await server.memory()
        await assertFree(server, sent.path, async () => {
          const sockets = await openAll(server, { ...sent, as: 'eve' })
          // An honest client of the same owner, and one of another, are served meanwhile.
          const again = await server.send({ path: `${path}/history?type=full`, as: 'eve' })
          assert.ok(again.text === whole.text, 'the honest reader got the same history')
          assert.equal((await server.send({ path: '/sessions', as: 'ana' })).status, 200)
          await atRest(server, rss + mostMiB * MiB)
          for (const socket of sockets) socket.destroy()
        })
        more.push(Math.round(((await server.seen()).peakRss - rss) / MiB))
        await until(async () => (await server.memory()).rss < rss + mostMiB * MiB)
      }
      t.diagnostic(`${sent.path}: ${more.join(', ')} MiB more`)
      assert.ok(Math.min(...more) < mostMiB, `${more.join(', ')} MiB more for ${sent.path}`)
    }
  })
})

/** Waits until the server makes nothing more for its readers, or has taken more memory than it may. */
async function atRest(server: Attacked, most: number): Promise<void> {
  for (let before = 0; ; ) {
    const { rss } = await server.memory()
    if (Math.abs(rss - before) < 4 * MiB || rss > most) return
    before = rss
    await new Promise(resolve => setTimeout(resolve, 500))
  }
}

async function openAll(server: Attacked, sent: Parameters<Attacked['ignore']>[0]): Promise<Socket[]> {
  const sockets: Socket[] = []
  while (sockets.length < readers)
    sockets.push(...(await Promise.all(Array.from({ length: 50 }, () => server.ignore(sent)))))
  return sockets
}
