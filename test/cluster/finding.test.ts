// Sessions are found, sorted and counted on every node, whichever of them worked on a session.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OperatorClient } from '../../src/client/index.ts'
import { scripted, startServer, Turnwire } from '../../src/index.ts'
import { sharedMemory } from '../../src/stores/memory.ts'
import { secret } from './rig.ts'

test('every node keeps the index, and finds, sorts and counts what others did', {
  timeout: 60_000,
}, async t => {
  const memory = sharedMemory()
  const start = async () => {
    const store = memory.open()
    const started = t.mock.method(store.finder!, 'start')
    const usage = { input: 10, output: 5 }
    const turnwire = await Turnwire.open({
      data: store,
      agents: [
        {
          name: 'helper',
          model: scripted([{ text: 'It lies in the harbour.', usage }], { whenOver: 'repeat-last' }),
        },
      ],
      server: { log: 'silent', graceMs: 1, cluster: { secret } },
    })
    const server = await startServer(turnwire, { port: 0 })
    t.after(() => server.stop())
    assert.ok(started.mock.callCount() > 0, 'its index is kept up to date')
    return { turnwire, operator: new OperatorClient({ baseUrl: server.url, retries: 0 }) }
  }
  const [one, two] = [await start(), await start()]
  const [busy, calm] = [await one.turnwire.session('helper'), await two.turnwire.session('helper')]
  await busy.send('Where is the parcel?')
  await calm.send('And the letter?')
  await busy.send('And the second one?')
  for (const { operator } of [one, two]) {
    const { sessions, total } = await operator.sessions({ q: 'parcel' })
    assert.deepEqual([total, sessions.map(({ id }) => id)], [1, [busy.id]])
    assert.match(sessions[0]?.found?.text ?? '', /Where is the parcel\?/)
    const byTokens = await operator.sessions({ sort: 'tokens' })
    assert.deepEqual(
      byTokens.sessions.map(({ id, tokens }) => [id, tokens]),
      [
        [busy.id, 30],
        [calm.id, 15],
      ],
    )
    const { all } = await operator.activity({ days: 1 })
    assert.deepEqual([all.turns.turns, all.steps.input + all.steps.output], [3, 45])
  }
})
