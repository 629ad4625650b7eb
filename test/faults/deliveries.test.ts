// Every request of a client arrives several times, at once, late, in another order, and again after a restart: each has one
// effect, its copies get the same answer, and another request under the same key is refused.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type Acked,
  converse,
  create,
  deliverOnce,
  kill,
  type Request,
  sendingBy,
  start,
} from '../crash/client.ts'
import { checkPromises, effectsOf, logOf } from '../crash/promises.ts'
import { inFolder, survive } from '../crash/survive.ts'
import { Chance } from '../sim/chance.ts'
import { isLong } from './scale.ts'

type Sent = { request: Request; status: number; text: string }

/** What must be the same in all copies of an answer. */
const told = ({ status, text }: Sent): string => `${status} ${text}`

const rounds = isLong ? 20 : 2

test('copies of every request have one effect, at once, late, reordered, and after a restart', async t => {
  for (let seed = 1; seed <= rounds; seed += 1)
    await inFolder(async folder => {
      const chance = new Chance(seed)
      const first: Sent[] = []
      const acked: Acked = new Set()
      const server = await start(folder)
      assert.ok(server)
      t.after(() => kill(server).catch(() => {}))

      const deliver = async (url: string, request: Request): Promise<Sent> => {
        const answer = await deliverOnce(url, request)
        return { request, status: answer.status, text: await answer.text() }
      }
      const again = async (url: string, { request, ...before }: Sent): Promise<void> => {
        const copy = await deliver(url, request)
        // A request that was refused had no effect, and may find another state now.
        if (before.status < 300) assert.equal(told(copy), told({ request, ...before }), request.key)
      }
      await sendingBy(
        async (url, request) => {
          const copies = await Promise.all(
            Array.from({ length: chance.whole(2, 5) }, () => deliver(url, request)),
          )
          const good = copies.filter(({ status }) => status < 300)
          assert.ok(new Set(good.map(told)).size <= 1, `copies differ: ${good.map(told).join('\n')}`)
          const [one = copies[0]!] = good
          first.push(one)
          if (chance.maybe(0.5)) await again(url, chance.pick(first))
          return new Response(one.text, { status: one.status })
        },
        async () => {
          const id = await create(server.url)
          await converse(server.url, id, 'go', 'All done.', acked)
          const [made] = first
          const other = await deliver(server.url, {
            ...made!.request,
            body: { agent: { name: 'helper', tools: [] } },
          })
          assert.equal(other.status, 409, other.text)
          await kill(server)
          const calls = await checkPromises(folder, id)
          const effects = effectsOf(folder)
          assert.equal(effects.length, 6, 'every call that runs here ran once')
          assert.deepEqual(new Set([...calls.values()].map(({ outcome }) => outcome?.kind)), new Set(['ok']))

          const log = await logOf(folder, id)
          const next = await start(folder)
          assert.ok(next)
          t.after(() => kill(next).catch(() => {}))
          await Promise.all(chance.shuffled([...first, ...first]).map(sent => again(next.url, sent)))
          await kill(next)
          assert.deepEqual(await logOf(folder, id), log, 'late copies changed nothing')
          assert.deepEqual(effectsOf(folder), effects)
        },
      )
      await survive(folder, acked)
    })
})
