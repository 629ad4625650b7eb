// A model that falls back, in a session: each vendor in turn is down in mid-turn, and the next one goes on with its history.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { fallback, scripted } from '../../src/index.ts'
import type { Telemetry } from '../../src/telemetry/index.ts'
import { ModelStats } from '../../src/telemetry/model-stats.ts'
import {
  artifactsOf,
  begin,
  lastExchange,
  openTable,
  refusals,
  startVendors,
  tell,
  type Vendors,
  vendorNames,
} from './rig.ts'
import { thinkAndCall, tools } from './scenes.ts'

let vendors: Vendors
before(async () => {
  vendors = await startVendors()
})
after(() => vendors.close())

describe('a vendor that is down after it thought and called tools is replaced, and its thoughts stay with it', () => {
  for (const [index, down] of vendorNames.entries()) {
    const next = vendorNames[(index + 1) % vendorNames.length]!
    test(`${next} goes on for ${down}`, async () => {
      const { doubles, models } = vendors
      const model = fallback([models[down], models[next]])
      const table = openTable(vendors, { tools, agent: { model: () => model } })
      const session = await begin(table, down)
      const before = doubles[next].exchanges.length
      // The first answer comes, with calls; then the vendor is overloaded, also when it is asked again.
      const answering = thinkAndCall(vendors, session, down)
      for (let tries = 0; tries < 2; tries += 1) doubles[down].push({ fault: { kind: 'overloaded' } })
      await answering
      assert.equal(session.state.lastStop?.stop, 'end', vendors.logs.at(-1))
      await session.flushed()
      const answers = (await table.store.read(session.id)).flatMap(({ event }) =>
        event.type === 'model.answered' ? [event] : [],
      )
      assert.deepEqual(
        answers.map(answer => answer.model),
        [models[down].id, models[next].id],
      )
      assert.match(answers[1]?.retries?.at(-1)?.message ?? '', new RegExp(`so ${models[next].id} is asked`))
      assert.deepEqual(refusals(doubles[next], before), [])
      const artifacts = artifactsOf(session.state.view, down)
      for (const artifact of artifacts)
        assert.ok(!lastExchange(vendors, next).rawText.includes(artifact), `${artifact} is given away`)
      // The next turn begins with the first model again, with its own artifacts.
      await tell(session, 'And now?')
      assert.deepEqual(refusals(doubles[down]), [])
      for (const artifact of artifacts)
        assert.ok(lastExchange(vendors, down).rawText.includes(artifact), `${artifact} is lost`)
    })
  }
})

test('each model that is asked has its own counts', async () => {
  const stats = new ModelStats({} as Telemetry) // It exports nothing.
  const fail = { code: 'model_failed', message: 'It is overloaded.' } as const
  const model = stats.watch(
    fallback([
      scripted([{ fail }], { id: 'smart' }),
      scripted([{ text: 'Hi', usage: { input: 10, output: 5 } }], { id: 'cheap' }),
    ]),
  )
  const request = {
    session: 's',
    history: [],
    tools: [],
    choice: 'auto',
    parallel: true,
    options: {},
  } as const
  await model.respond(request, () => {}, new AbortController().signal)
  const counts = ['smart', 'cheap'].map(id => {
    const { requests, failures, tokens } = stats.of(id)
    return { requests, failures, tokens }
  })
  assert.deepEqual(counts, [
    { requests: 1, failures: 1, tokens: 0 },
    { requests: 1, failures: 0, tokens: 15 },
  ])
})
