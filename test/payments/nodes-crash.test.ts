// Nodes on one PostgreSQL: the one that took a payment is killed between two instructions of it, and the client sends the
// same request to another. No charge without an answer, no answer twice, no second charge. The suite has a point of each
// stretch; `npm run test:faults -- nodes-crash` has all of them.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import type { PaymentCrashPoint } from '../../src/payments/index.ts'
import { killed } from '../crash/killed-server.ts'
import { isLong } from '../faults/scale.ts'
import { cites } from '../requirements/manifest.ts'
import { databaseUrl, newSchema, own, withClient } from '../stores/postgres/server.ts'
import { skipped, startChain } from './chain.ts'
import { kinds, path, payments, payUntilKilled, settled, shopProcesses } from './killed-shop.ts'
import { post, shop } from './rig.ts'

const skip = own.skip || skipped
const chain = skip ? undefined : await startChain()

const short: Readonly<Record<string, readonly PaymentCrashPoint[]>> = {
  exact: ['payment-sending', 'payment-moved'],
  'exact, streamed': ['payment-answered'],
  'metered, streamed': ['payment-work-begun'],
}

async function database(t: TestContext) {
  const url = await databaseUrl()
  const schema = newSchema()
  t.after(() => withClient(url, sql => sql.unsafe(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`)))
  return { url, schema, secret: 'a secret of the cluster, for tests only', leaseMs: 4_000 }
}

for (const { name, price, stream, costs, sign, points } of kinds)
  for (const point of isLong ? points : (short[name] ?? []))
    test(cites(
      'X402-ONCE-03',
      `${name}: a node is killed at ${point}, and the payment buys one answer at another`,
    ), {
      skip,
      timeout: 300_000,
    }, async t => {
      assert.ok(chain)
      const { serve } = await shopProcesses(t, chain, price, await database(t))
      const first = await serve(point)
      const body = { model: 'helper', input: 'Hi', store: false, ...(stream && { stream }) }
      const before = await chain.balance(shop)
      const payment = await payUntilKilled(chain, first, sign, body)
      // Not before: any node may settle an answer that is recorded, and the first would not reach its point.
      const other = await serve()

      const ask = (): Promise<Response> => post(other.url, path, body, payment)
      let answer = await ask()
      // As a client does that is told to wait: the dead node's lease has to end first. It is never told to pay again.
      const statuses = [answer.status]
      while (answer.status !== 200 && statuses.length < 400) {
        assert.ok([409, 503].includes(answer.status), `${answer.status} ${await answer.text()}`)
        await pause(50)
        answer = await ask()
        statuses.push(answer.status)
      }
      assert.equal(answer.status, 200, statuses.join(' '))
      const text = await answer.text()
      assert.ok(Number(numberIn(text)) <= 2, text)
      assert.deepEqual(
        (await settled(other.url)).map(({ state }) => state),
        ['settled'],
      )
      assert.equal((await chain.balance(shop)) - before, costs)
      // The same again gives the same answer, and costs nothing.
      const again = await (await ask()).text()
      assert.equal(numberIn(again), numberIn(text))
      assert.equal((await chain.balance(shop)) - before, costs)
      assert.equal((await payments(other.url)).length, 1)
      await killed(other.child)
    })

/** Which of the model's answers it is. */
function numberIn(text: string): string | undefined {
  return /For the (\d+)\. time/.exec(text)?.[1]
}
