// A replay of a session in which a person gave a call other arguments: what was recorded answers only while they still do so.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { type PolicyRule, Turnwire, type TurnwireConfig } from '../../src/index.ts'
import type { Recorded } from '../../src/language/events.ts'
import { scripted } from '../../src/models/scripted/index.ts'
import { replaySession } from '../../src/testing/index.ts'
import { tool } from '../../src/tools/index.ts'

const pay = tool({
  name: 'pay',
  description: 'Pays.',
  input: { type: 'object' },
  trust: 'ask',
  run: () => 'paid 7',
})
const call = (id: number) => ({ name: 'pay', input: { amount: 12, id } })

/** Two payments at once. A person makes 7 of the first, and of the second what the model had asked for. */
async function record(): Promise<{ id: string; log: Recorded[]; config: TurnwireConfig }> {
  const model = scripted([{ calls: [call(1), call(2)] }, { text: 'Paid.' }])
  const config: TurnwireConfig = { agents: [{ name: 'clerk', model, tools: [pay] }], data: 'memory' }
  const turnwire = await Turnwire.open(config)
  const session = await turnwire.session('clerk')
  await session.send('Pay.')
  const [first, second] = await session.pending()
  await session.approve(first!.callId, { by: 'maria', input: { amount: 7, id: 1 } })
  await session.approve(second!.callId, { by: 'maria', input: { id: 2, amount: 12 } })
  const log: Recorded[] = []
  for await (const item of session.watch({ until: 'stop' })) if (item.type === 'event') log.push(item)
  await turnwire.close()
  return { id: session.id, log, config }
}

const ruled = (config: TurnwireConfig, rule: PolicyRule): TurnwireConfig => ({
  ...config,
  policy: { rules: [rule] },
})

suite('a replay of an edited call', () => {
  test('comes to the same as long as the person is asked', async () => {
    const { id, log, config } = await record()
    const same = await replaySession(id, log, config)
    assert.deepEqual([same.differences, same.left], [[], undefined])
  })

  test('ends where the call runs with the arguments of the model', async () => {
    const { id, log, config } = await record()
    const { left, differences } = await replaySession(id, log, ruled(config, { tool: 'pay', then: 'allow' }))
    assert.match(left?.why ?? '', /^pay runs with the model's arguments now\./)
    assert.deepEqual(
      differences.map(({ text }) => text),
      ['pay asked (operator-trust). Now: ran unasked (policy[0]). maria had allowed it.'],
    )
  })

  test('goes on where the person had only written the same arguments in another order', async () => {
    const { id, log, config } = await record()
    const rule: PolicyRule = { tool: 'pay', args: { id: 2 }, then: 'allow' }
    const { left } = await replaySession(id, log, ruled(config, rule))
    assert.equal(left, undefined)
  })
})
