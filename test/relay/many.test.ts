// Many requests over many machines, some of which die: every request is answered once, and none that failed is counted as
// served.
import assert from 'node:assert/strict'
import test from 'node:test'
import { cites } from '../requirements/manifest.ts'
import { comeBack, serve } from './counting-machine.ts'
import { ask, newWallet, RawMachine, relay, textIn, tokenOf } from './rig.ts'

test(cites(
  'SIX-WS-14',
  'SIX-WS-04',
  '1,000 requests over 20 machines, some of which die: each is answered once',
), { timeout: 300_000 }, async t => {
  // Machines die when the test says so, and not because a busy process answers no ping in time.
  const limits = { atOnce: 4, attempts: 20, queueMs: 120_000, waiting: 2_000, pingMs: 3_600_000 }
  const { url } = await relay(t, limits)
  const answered = new Map<string, number>()
  const machines = await Promise.all(Array.from({ length: 20 }, () => RawMachine.attached(t, url)))
  // Every other machine dies with a request in its hands; half of those come back under the same wallet.
  for (const [index, raw] of machines.entries()) {
    let left = index % 2 === 0 ? Infinity : 5 + index
    serve(raw, answered, () => (left-- <= 0 ? 'dies' : 'answers'))
    if (index % 4 !== 1) continue
    const wallet = await newWallet()
    comeBack(raw, async () => serve(await RawMachine.attached(t, url, wallet), answered))
  }
  const token = await tokenOf(url)
  const asked = Array.from({ length: 1_000 }, (_, number) =>
    ask(url, { model: 'auto', input: `n${number}.`, stream: number % 2 === 0 }, { token }),
  )
  const answers = await Promise.all(asked)
  const lost = answers.filter(({ text }, number) => !text.includes(`answer ${number}.`))
  assert.deepEqual(lost.map(textIn), [])
  assert.equal(answered.size, 1_000)
  assert.deepEqual(
    [...answered.values()].filter(times => times !== 1),
    [],
  )
  const { providers } = (await (await fetch(`${url}/v1/providers`)).json()) as {
    providers: { stats: { served: number; failed: number; inFlight: number } }[]
  }
  const sum = (name: 'served' | 'failed' | 'inFlight'): number =>
    providers.reduce((total, { stats }) => total + stats[name], 0)
  assert.equal(sum('served'), 1_000)
  assert.equal(sum('inFlight'), 0)
  assert.ok(sum('failed') >= 10)
})
