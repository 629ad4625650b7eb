// What a declaration says around a call: examples of its input, retries with back-off, a choice that is forced for the first
// call only, and details that no vendor is sent.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ToolChoice } from '../../src/language/tools.ts'
import { scripted } from '../../src/models/scripted/index.ts'
import { tool, withDetails } from '../../src/tools/index.ts'
import { vendorBodies } from '../threats/vendor-bodies.ts'
import { begin, makeRig, until } from './rig.ts'

const object = { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] }

describe('examples', () => {
  const weather = tool({
    name: 'weather',
    description: 'The weather.',
    input: object,
    examples: [{ city: 'Rome' }, { city: 'Łódź' }],
    run: () => 'blue',
  })
  const shout = tool({
    name: 'shout',
    description: 'Shouts.',
    input: 'text',
    examples: ['quiet words'],
    run: text => text,
  })

  test('reach every vendor: in its own place where it has one, else in the description', () => {
    for (const [vendor, body] of vendorBodies({ tools: [weather, shout] })) {
      const sent = JSON.stringify(body)
      assert.equal(sent.split('Łódź').length, 2, `${vendor} has each example once`)
      assert.match(sent, /quiet words/, vendor)
      if (vendor === 'anthropicMessages')
        assert.match(sent, /"input_examples":\[\{"city":"Rome"\},\{"city":"Łódź"\}\]/)
      else assert.match(sent, /Examples of its input:\\n\{\\"city\\":\\"Rome\\"\}/, vendor)
    }
  })

  test('that do not fit the input are refused when the tool is made', () => {
    const make = (examples: unknown) =>
      tool({ name: 'x', description: 'd', input: object, examples: examples as never, run: () => '' })
    assert.throws(() => make([{ city: 3 }]), /examples\[0\], which does not fit its input/)
    assert.throws(() => make('Rome'), /it is a list/)
  })
})

describe('retries with back-off', () => {
  const failing = (retries: Parameters<typeof tool>[0]['retries'], failures: number, at: number[]) =>
    tool({
      name: 'x',
      description: 'd',
      input: { type: 'object' },
      trust: 'trusted',
      idempotent: true,
      retries: retries!,
      run: () => {
        at.push(performance.now())
        if (at.length <= failures) throw new Error('again')
        return 'at last'
      },
    })
  const then = { text: 'so' }

  test('wait longer each time, up to the longest', async () => {
    const at: number[] = []
    const flaky = failing({ times: 4, backOffMs: 40, factor: 2, mostMs: 100 }, 4, at)
    const rig = makeRig({ tools: [flaky], script: [{ calls: [{ name: 'x', input: {} }] }, then] })
    const session = await begin(rig)
    const parts = [{ type: 'text' as const, text: 'go' }]
    await until(session, () => session.say({ parts, wire: 'aap' }))
    assert.equal(at.length, 5)
    const waits = at.slice(1).map((time, index) => time - (at[index] ?? 0))
    // A timer fires no earlier than it was asked for. A busy machine makes it later, never earlier.
    for (const [index, least] of [40, 80, 100, 100].entries())
      assert.ok((waits[index] ?? 0) >= least - 2, `${waits.join()}: wait ${index + 1}`)
    const outcome = session.state.entries.flatMap(entry => (entry.role === 'tool' ? entry.results : []))[0]
      ?.outcome
    assert.equal(outcome?.kind, 'ok')
  })

  test('end with the failure, and a cancelled turn waits no longer', async () => {
    const at: number[] = []
    const flaky = failing({ times: 3, backOffMs: 60_000 }, 9, at)
    const rig = makeRig({ tools: [flaky], script: [{ calls: [{ name: 'x', input: {} }] }, then] })
    const session = await begin(rig)
    const parts = [{ type: 'text' as const, text: 'go' }]
    await session.say({ parts, wire: 'aap' })
    while (at.length === 0) await new Promise(resolve => setTimeout(resolve, 5))
    await until(session, () => session.cancel())
    assert.equal(at.length, 1)
    assert.equal(session.state.lastStop?.stop, 'cancelled')
  })
})

describe('a forced choice', () => {
  const forced: ToolChoice[] = ['required', { tool: 'x' }, { allowed: ['x'], mode: 'required' }]
  for (const choice of forced)
    test(`${JSON.stringify(choice)} is released after the first call, and holds again in the next turn`, async () => {
      const asked: ToolChoice[] = []
      const x = tool({
        name: 'x',
        description: 'd',
        input: { type: 'object' },
        trust: 'trusted',
        run: () => '1',
      })
      const model = scripted(request => {
        asked.push(request.choice)
        return request.history.at(-1)?.role === 'tool'
          ? { text: 'so' }
          : { calls: [{ name: 'x', input: {} }] }
      })
      const rig = makeRig({ model, tools: [x], agent: { choice } })
      const session = await begin(rig)
      const parts = [{ type: 'text' as const, text: 'go' }]
      for (let turn = 0; turn < 2; turn += 1) await until(session, () => session.say({ parts, wire: 'aap' }))
      const released =
        typeof choice === 'object' && 'allowed' in choice ? { ...choice, mode: 'auto' } : 'auto'
      assert.deepEqual(asked, [choice, released, choice, released])
    })
})

test('no vendor is sent the details of a result', async () => {
  const weigh = tool({
    name: 'weigh',
    description: 'Weighs.',
    input: { type: 'object' },
    trust: 'trusted',
    run: () => withDetails('3 kg', { secretly: 'CANARY-4711', grams: 3000 }),
  })
  const rig = makeRig({ tools: [weigh], script: [{ calls: [{ name: 'weigh', input: {} }] }, { text: 'so' }] })
  const session = await begin(rig)
  const parts = [{ type: 'text' as const, text: 'go' }]
  await until(session, () => session.say({ parts, wire: 'aap' }))
  const history = session.state.entries
  assert.match(JSON.stringify(history), /CANARY-4711/)
  for (const [vendor, body] of vendorBodies({ history, tools: [weigh] })) {
    const sent = JSON.stringify(body)
    assert.match(sent, /3 kg/, vendor)
    assert.doesNotMatch(sent, /CANARY-4711|secretly|grams/, vendor)
  }
})
