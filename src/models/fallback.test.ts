// Several models as one: who is asked, what is taken back, who is passed over.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Model, ModelDelta, ModelRequest } from '../engine/ports/index.ts'
import { TurnwireError } from '../language/errors.ts'
import { type FallbackOptions, fallback } from './fallback.ts'
import { type ScriptStep, scripted } from './scripted/index.ts'

const request: ModelRequest = {
  session: 'ses_1',
  history: [{ role: 'user', parts: [{ type: 'text', text: 'Hello' }] }],
  tools: [],
  choice: 'auto',
  parallel: true,
  options: {},
}
const overloaded = { code: 'model_failed', message: 'It is overloaded.' } as const

/** A model that plays these steps one by one, then repeats the last. */
function member(id: string, ...steps: ScriptStep[]): Model {
  return scripted(steps, { id, position: 'counter', whenOver: 'repeat-last' })
}

async function ask(model: Model, asked = request) {
  const deltas: ModelDelta[] = []
  const answer = await model.respond(asked, delta => void deltas.push(delta), new AbortController().signal)
  return { answer, deltas }
}

const isRetry = (delta: ModelDelta) => delta.type === 'retry'

test('the next model is asked after each kind of failure, and the answer names it', async () => {
  for (const code of ['model_failed', 'model_limited', 'model_rejected', 'model_timeout'] as const) {
    const failing = member('smart', { fail: { code, message: 'No.' } })
    const { answer, deltas } = await ask(fallback([failing, member('cheap', { text: 'Hi' })]))
    assert.equal(answer.model, 'cheap')
    assert.deepEqual(deltas, [
      { type: 'retry', code, message: 'smart failed, so cheap is asked. No.' },
      { type: 'text', text: 'Hi' },
    ])
  }
})

test('a failure that is not in `on` ends the request', async () => {
  const model = fallback([member('smart', { fail: overloaded }), member('cheap', { text: 'Hi' })], {
    on: ['model_timeout'],
  })
  await assert.rejects(ask(model), { code: 'model_failed' })
})

test('words that were shown before the failure are taken back', async () => {
  const breaking = member('smart', { text: 'Good day', chunk: 4, fail: { ...overloaded, after: 1 } })
  const { deltas } = await ask(fallback([breaking, member('cheap', { text: 'Hi' })]))
  assert.deepEqual(
    deltas.map(({ type }) => type),
    ['text', 'retry', 'reset', 'text'],
  )
})

test('no other model goes on once words were shown that stay', async () => {
  const cheap = member('cheap', { text: 'Hi' })
  const breaking = member('smart', { text: 'Good day', chunk: 4, fail: { ...overloaded, after: 1 } })
  const shown = { ...request, shownStays: true as const }
  await assert.rejects(ask(fallback([breaking, cheap]), shown), { code: 'model_failed' })
  const failing = member('smart', { fail: overloaded })
  assert.equal((await ask(fallback([failing, cheap]), shown)).answer.model, 'cheap', 'nothing was shown')
})

test('the last failure is thrown as it is', async () => {
  const model = fallback([
    member('smart', { fail: overloaded }),
    member('cheap', { fail: { code: 'model_limited', message: 'Out of quota.' } }),
  ])
  await assert.rejects(ask(model), { code: 'model_limited', message: 'Out of quota.' })
})

test('no other model is asked once something was done outside for the request, nor for a caller that has left', async () => {
  const ran = new TurnwireError('model_failed', 'The stream broke.', { hasRun: true })
  const left = new AbortController()
  for (const [error, signal] of [
    [ran, new AbortController().signal],
    [new TurnwireError('model_failed', 'Cut.'), left.signal],
  ] as const) {
    const failing: Model = {
      id: 'smart',
      respond: () => {
        left.abort()
        return Promise.reject(error)
      },
    }
    const answering = fallback([failing, member('cheap', { text: 'Hi' })]).respond(request, () => {}, signal)
    await assert.rejects(answering, error)
  }
})

test('a model that fails three times in a row is passed over for a minute, then tried again', async () => {
  let now = 0
  const smart = member('smart', ...Array(4).fill({ fail: overloaded }), { text: 'Back' })
  const model = fallback([smart, member('cheap', { text: 'Hi' })], { now: () => now })
  const asks = async () => {
    const { answer, deltas } = await ask(model)
    return [answer.model, ...deltas.filter(isRetry).map(delta => delta.type === 'retry' && delta.message)]
  }
  const failed = 'smart failed, so cheap is asked. It is overloaded.'
  for (let times = 0; times < 3; times += 1) assert.deepEqual(await asks(), ['cheap', failed])
  now = 20_000
  const passed = 'smart is passed over for another 40 s: it failed 3 times in a row.'
  assert.deepEqual(await asks(), ['cheap', passed])
  now = 60_000
  assert.deepEqual(await asks(), ['cheap', failed], 'one more failure begins the next pause')
  assert.match(String((await asks())[1]), /passed over for another 60 s/)
  now = 120_000
  assert.deepEqual(await asks(), ['smart'])
})

test('if every model is passed over, all are asked', async () => {
  const options: FallbackOptions = { after: 1, now: () => 0 }
  const model = fallback(
    [member('smart', { fail: overloaded }, { text: 'Back' }), member('cheap', { fail: overloaded })],
    options,
  )
  await assert.rejects(ask(model))
  assert.equal((await ask(model)).answer.model, 'smart')
})

test('rejected requests do not make a model be passed over', async () => {
  const smart = member('smart', { fail: { code: 'model_rejected', message: 'Too long.' } }, { text: 'Back' })
  const model = fallback([smart, member('cheap', { text: 'Hi' })], { after: 1 })
  assert.equal((await ask(model)).answer.model, 'cheap')
  assert.equal((await ask(model)).answer.model, 'smart')
})

test('a model that another one follows is not asked again after it took too long', async () => {
  const seen: [string, true | undefined][] = []
  const timingOut = (id: string): Model => ({
    id,
    respond: async ({ hasNext }) => {
      seen.push([id, hasNext])
      throw new TurnwireError('model_timeout', 'It did not answer in time.')
    },
  })
  const members = [timingOut('smart'), timingOut('cheap')]
  await assert.rejects(ask(fallback(members)))
  const inner = fallback([timingOut('one'), fallback(members)])
  await assert.rejects(ask(inner))
  assert.deepEqual(seen, [
    ['smart', true],
    ['cheap', undefined],
    ['one', true],
    ['smart', true],
    ['cheap', undefined],
  ])
  seen.length = 0
  await assert.rejects(ask(fallback(members, { on: ['model_failed'] })))
  assert.deepEqual(seen, [['smart', undefined]])
})

test('each model has a place of its own for what it keeps of a session', async () => {
  const keeping = (id: string): Model => ({
    id,
    respond: async ({ memory = {} }) => {
      const kept = `${typeof memory.kept === 'string' ? memory.kept : ''}${id};`
      memory.kept = kept
      if (kept === 'smart;') throw new TurnwireError('model_failed', 'Busy.')
      return { parts: [{ type: 'text', text: kept }], stop: 'end' }
    },
  })
  const model = fallback([keeping('smart'), keeping('cheap')])
  const asked = { ...request, memory: {} }
  const texts = [await ask(model, asked), await ask(model, asked)].map(({ answer }) => answer.parts)
  assert.deepEqual(texts, [[{ type: 'text', text: 'cheap;' }], [{ type: 'text', text: 'smart;smart;' }]])
})

test('what holds for every model holds for all of them together', () => {
  const [one, other] = [
    {
      ...member('one', {}),
      contextTokens: 9,
      images: { edge: 5, bytes: 70 },
      programs: true,
      asksApproval: true,
    },
    { ...member('other', {}), mostTools: 4, images: { edge: 6, bytes: 60 } },
  ] as const
  const { id, contextTokens, mostTools, images, programs, asksApproval } = fallback([one, other])
  assert.deepEqual(
    { id, contextTokens, mostTools, images, programs, asksApproval },
    {
      id: 'one or other',
      contextTokens: 9,
      mostTools: 4,
      images: { edge: 5, bytes: 60 },
      programs: undefined,
      asksApproval: true,
    },
  )
})

test('settings that make no sense are refused', () => {
  const one = member('one', {})
  const two = [one, one]
  const wrong: [Model[], object, RegExp][] = [
    [[one], {}, /at least two models/],
    [two, { on: ['model_down'] }, /"model_down" is none of them/],
    [two, { after: 0 }, /`after`/],
    [two, { pauseMs: -1 }, /`pauseMs`/],
  ]
  for (const [models, options, message] of wrong)
    assert.throws(() => fallback(models, options), { code: 'config_invalid', message })
  const named = ['smart', undefined] as unknown as Model[] // As a configuration names them elsewhere.
  assert.throws(() => fallback(named), {
    code: 'config_invalid',
    message: /"smart" is no model\. Give models/,
  })
  const unlisted = one as unknown as Model[] // JavaScript can pass anything.
  assert.throws(() => fallback(unlisted), { code: 'config_invalid', message: /takes a list/ })
})
