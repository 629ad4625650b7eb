// kill -9 between any two instructions of a payment: no charge without an answer, no answer twice, no second charge.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PaymentCrashPoint } from '../../src/payments/index.ts'
import { killed } from '../crash/killed-server.ts'
import { cites } from '../requirements/manifest.ts'
import { skipped, startChain } from './chain.ts'
import { kinds, path, payments, payUntilKilled, settled, shopProcesses } from './killed-shop.ts'
import { post, shop } from './rig.ts'

const chain = await startChain()

/** Points before the work is begun: nothing is known of the payment afterwards, or nothing was done for it. */
const beforeWork: readonly PaymentCrashPoint[] = ['payment-verified', 'payment-reserved']

for (const { name, price, stream, costs, sign, points } of kinds)
  for (const point of points)
    test(cites('X402-ONCE-03', `${name}: killed at ${point}, the payment buys one answer`), {
      skip: skipped,
    }, async t => {
      const { serve } = await shopProcesses(t, chain, price)
      const body = { model: 'helper', input: 'Hi', store: false, ...(stream && { stream }) }
      const before = await chain.balance(shop)
      const first = await serve(point)
      const payment = await payUntilKilled(chain, first, sign, body)

      const second = await serve()
      // Nobody asks again yet: what was begun is finished, what was not is not charged.
      if (!beforeWork.includes(point)) {
        const [kept] = await settled(second.url)
        assert.equal(kept?.state, 'settled')
        assert.equal((await chain.balance(shop)) - before, costs)
      } else assert.equal(await chain.balance(shop), before)
      const answer = await post(second.url, path, body, payment)
      assert.equal(answer.status, 200, await answer.clone().text())
      assert.match(await answer.text(), /Hello\./)
      await settled(second.url)
      assert.equal((await chain.balance(shop)) - before, costs)
      assert.equal((await payments(second.url)).length, 1)
      await killed(second.child)
    })
