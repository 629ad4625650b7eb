// What every Model must do, whatever stands behind it. An adapter's test says how its model is brought to play
// each scenario, or why it cannot; the suite knows no adapter, no vendor and no socket.
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { setImmediate as nextTick } from 'node:timers/promises'
import type { Model, ModelAnswer, ModelCall, ModelDelta, ModelRequest } from '../../src/engine/ports/index.ts'
import { TurnwireError } from '../../src/language/errors.ts'
import type { ToolDeclaration } from '../../src/language/tools.ts'

export const modelScenarios = [
  /** Answers in words, in several deltas where it streams at all. */
  'words',
  /** Calls at least two tools in one answer. */
  'calls',
  /** The same question with `parallel: false`: one call at most. */
  'one-call',
  /** The same question with the choice `none`: no call. */
  'no-calls',
  /** Shows something, voids it and starts over. */
  'reset',
  /** Shows something, then takes far longer than a test may. */
  'slow',
  /** Shows nothing and does not answer. */
  'silent',
  'fails',
  'rejects',
  'times-out',
] as const
export type ModelScenario = (typeof modelScenarios)[number]

export type MakeModel = (
  scenario: ModelScenario,
) => Model | { skip: string } | Promise<Model | { skip: string }>

/** Runs the suite. `make` is asked once per test. */
export function modelContract(name: string, make: MakeModel): void {
  const scene = (title: string, scenario: ModelScenario, run: (model: Model) => Promise<void>) =>
    test(`${title} (${scenario})`, { timeout: 300_000 }, async (context: TestContext) => {
      const model = await make(scenario)
      if ('skip' in model) return context.skip(model.skip)
      await run(model)
    })

  describe(`model contract: ${name}`, () => {
    for (const scenario of ['words', 'calls', 'reset'] as const)
      scene('the deltas add up to the answer', scenario, async model => {
        const { answer, deltas } = await ask(model, contractRequest(scenario))
        assert.ok(deltas.length === 0 || sameAsShown(deltas, answer))
        assert.equal(answer.stop, scenario === 'calls' ? 'calls' : 'end')
      })

    scene('calls are whole and in the order in which they opened', 'calls', async model => {
      const { answer, deltas } = await ask(model, contractRequest('calls'))
      const calls = callsIn(answer)
      assert.ok(calls.length >= 2, 'the scenario needs two calls')
      for (const call of calls) assert.equal(call.cut, undefined)
      const opened = deltas.filter(delta => delta.type === 'call')
      if (deltas.length > 0)
        assert.deepEqual(
          opened.map(({ index, name: tool }) => [index, tool]),
          calls.map((call, index) => [index, call.name]),
        )
    })

    scene('at most one call when calls may not be parallel', 'one-call', async model => {
      const { answer } = await ask(model, contractRequest('one-call'))
      assert.equal(callsIn(answer).length, 1)
    })

    scene('no call when the choice is none', 'no-calls', async model => {
      const { answer } = await ask(model, contractRequest('no-calls'))
      assert.deepEqual(callsIn(answer), [])
      assert.ok(answer.parts.some(part => part.type === 'text' && part.text !== ''))
    })

    scene('a reset voids what was shown before it', 'reset', async model => {
      const { deltas } = await ask(model, contractRequest('reset'))
      const at = deltas.findIndex(delta => delta.type === 'reset')
      assert.ok(at > 0, 'something is shown, then voided')
      assert.ok(deltas.length > at + 1, 'and shown again')
    })

    scene('requests at the same time do not mix', 'words', async model => {
      const both = await Promise.all([
        ask(model, contractRequest('words')),
        ask(model, contractRequest('words')),
      ])
      for (const { answer, deltas } of both) assert.ok(deltas.length === 0 || sameAsShown(deltas, answer))
    })

    scene('a request is refused when it was aborted before', 'words', async model => {
      const deltas: ModelDelta[] = []
      const signal = AbortSignal.abort(new Error('before'))
      await assert.rejects(model.respond(contractRequest('words'), delta => deltas.push(delta), signal))
      assert.deepEqual(deltas, [])
    })

    scene('an abort while it streams rejects and ends the deltas', 'slow', model =>
      abortedAtFirst(model, 'slow'),
    )
    scene('an abort from within a delta ends the deltas', 'words', model => abortedAtFirst(model, 'words'))

    scene('an abort while it is silent rejects', 'silent', async model => {
      const abort = new AbortController()
      const deltas: ModelDelta[] = []
      const answer = model.respond(contractRequest('silent'), delta => deltas.push(delta), abort.signal)
      await nextTick()
      abort.abort(new Error('during'))
      await assert.rejects(answer)
      assert.deepEqual(deltas, [])
    })

    const failures = [
      ['fails', 'model_failed'],
      ['rejects', 'model_rejected'],
      ['times-out', 'model_timeout'],
    ] as const
    for (const [scenario, code] of failures)
      scene(`it rejects with ${code}, in words`, scenario, async model => {
        const error = await ask(model, contractRequest(scenario)).then(
          () => assert.fail('it answered'),
          (thrown: unknown) => thrown,
        )
        assert.ok(error instanceof TurnwireError, `not one of our errors: ${String(error)}`)
        assert.equal(error.code, code)
        assert.notEqual(error.message, '')
      })
  })
}

async function abortedAtFirst(model: Model, scenario: ModelScenario): Promise<void> {
  const abort = new AbortController()
  const deltas: ModelDelta[] = []
  const watch = (delta: ModelDelta) => {
    deltas.push(delta)
    abort.abort(new Error('during'))
  }
  const answer = model.respond(contractRequest(scenario), watch, abort.signal)
  await assert.rejects(answer)
  await nextTick()
  assert.equal(deltas.length, 1)
}

// ---- asking ----------------------------------------------------------------------------------------------

async function ask(
  model: Model,
  request: ModelRequest,
): Promise<{ answer: ModelAnswer; deltas: ModelDelta[] }> {
  assert.ok(model.id.length > 0)
  const deltas: ModelDelta[] = []
  const answer = await model.respond(request, delta => deltas.push(delta), new AbortController().signal)
  const before = deltas.length
  await nextTick()
  assert.equal(deltas.length, before, 'no delta after the answer')
  return { answer, deltas }
}

type Shown = { text: string; thinking: string; calls: { name: string; form: string; text: string }[] }

/** What a client that only ever saw the deltas holds at the end. */
export function foldDeltas(deltas: readonly ModelDelta[]): Shown {
  let shown: Shown = { text: '', thinking: '', calls: [] }
  for (const delta of deltas) {
    if (delta.type === 'reset') shown = { text: '', thinking: '', calls: [] }
    else if (delta.type === 'call') {
      assert.equal(
        delta.index,
        shown.calls.length,
        'calls are counted from 0 in the order in which they open',
      )
      shown.calls.push({ name: delta.name, form: delta.form, text: '' })
    } else if (delta.type === 'arguments') {
      const call = shown.calls[delta.index]
      assert.ok(call !== undefined, 'arguments come after their call')
      call.text += delta.text
    } else if (delta.type === 'text' || delta.type === 'thinking') shown[delta.type] += delta.text
  }
  return shown
}

function sameAsShown(deltas: readonly ModelDelta[], answer: ModelAnswer): boolean {
  const said: Shown = { text: '', thinking: '', calls: [] }
  for (const part of answer.parts) {
    if (part.type === 'call') said.calls.push({ name: part.name, form: part.form, text: part.text })
    else if (part.type !== 'hosted') said[part.type] += part.text
  }
  assert.deepEqual(foldDeltas(deltas), said)
  return true
}

function callsIn(answer: ModelAnswer): ModelCall[] {
  return answer.parts.filter(part => part.type === 'call')
}

// ---- the request -----------------------------------------------------------------------------------------

export const contractTools: readonly ToolDeclaration[] = [
  declare('get_weather', 'The weather in a city now.', 'city'),
  declare('get_time', 'The time of day in a city now.', 'city'),
]

/** The request of a scenario, frozen through and through: to change any of it throws. */
export function contractRequest(scenario: ModelScenario): ModelRequest {
  const talks = scenario === 'words' || scenario === 'reset'
  const text = talks ? 'Good morning!' : 'What is the weather in Paris? And what is the time in Oslo?'
  return frozen({
    session: `contract-${scenario}`,
    history: [
      { role: 'system', text: 'Be brief.' },
      { role: 'user', parts: [{ type: 'text', text }] },
    ],
    tools: contractTools,
    choice: scenario === 'no-calls' ? 'none' : 'auto',
    parallel: scenario !== 'one-call',
    options: {},
  })
}

function declare(name: string, description: string, argument: string): ToolDeclaration {
  return {
    name,
    description,
    input: {
      form: 'json',
      schema: {
        type: 'object',
        properties: { [argument]: { type: 'string' } },
        required: [argument],
        additionalProperties: false,
      },
    },
    kind: 'fetch',
    readOnly: true,
    idempotent: true,
    destructive: false,
    side: 'server',
  }
}

export function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const inner of Object.values(value)) frozen(inner)
  }
  return value
}
