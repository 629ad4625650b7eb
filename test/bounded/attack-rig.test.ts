// The rig itself: what it says about the server is true.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { attacked, MiB, script } from './attack-rig.ts'

test('the attacked server does what a message says, and tells its memory and its longest stall', async t => {
  const server = await attacked(t, { owners: ['ana'] })
  const session = await server.session('ana')
  await server.watch()
  const answer = await server.turn(session, script({ calls: [{ name: 'give', input: { bytes: 5 } }] }), {
    as: 'ana',
  })
  assert.equal(answer.status, 200)
  assert.match(answer.text, /zzzzz.*Done\./s)
  const { rss } = await server.memory()
  const { peakRss, stallMs } = await server.seen()
  assert.ok(rss > 10 * MiB && peakRss > 10 * MiB, `${rss} ${peakRss}`)
  assert.ok(stallMs > 0 && stallMs < 5_000, String(stallMs))
  assert.equal((await server.send({ path: '/sessions' })).status, 401)
  assert.equal(await server.stop(), 0)
})
