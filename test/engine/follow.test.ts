// Following a session through the boundary: what a reader gets from the log and live, and how a model step that starts
// over is shown in each mode.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type {
  DeltaMode,
  FollowItem,
  FollowOptions,
  Model,
  ModelDelta,
  SessionRef,
} from '../../src/engine/index.ts'
import { TurnwireError } from '../../src/language/errors.ts'
import { tool } from '../../src/tools/index.ts'
import { clientTool, makeRig, owner, type Rig, type RigOptions, stopAll } from './rig.ts'

after(stopAll)

async function start(options: RigOptions, settings: { clientTools?: ReturnType<typeof clientTool>[] } = {}) {
  const rig = makeRig(options)
  const { session } = await rig.local.create({
    owner,
    agent: 'helper',
    wire: 'test',
    settings: { tools: null, options: {}, clientTools: settings.clientTools ?? [] },
    seed: [],
  })
  return { rig, ref: { owner, session } }
}

function say(rig: Rig, ref: SessionRef, text: string) {
  return rig.local.command(ref, { do: 'say', wire: 'test', parts: [{ type: 'text', text }] })
}

async function read(rig: Rig, ref: SessionRef, options: FollowOptions): Promise<FollowItem[]> {
  const items: FollowItem[] = []
  for await (const batch of rig.local.follow(ref, options)) items.push(...batch)
  return items
}

function shown(items: readonly FollowItem[]): string[] {
  return items.map(item => {
    if (item.type === 'event') return `${item.seq} ${item.event.type}`
    if (item.type !== 'delta') return item.type
    const { delta } = item
    return 'text' in delta ? `${delta.type}: ${delta.text}` : delta.type
  })
}

/** A model that plays these deltas and then gives this answer. */
function playing(deltas: readonly ModelDelta[], text: string): Model {
  return {
    id: 'playing',
    async respond(_request, watch) {
      for (const delta of deltas) {
        watch(delta)
        await new Promise(resolve => setImmediate(resolve))
      }
      return { parts: [{ type: 'text', text }], stop: 'end' }
    },
  }
}

describe('a reader', () => {
  test('gets a turn that its command started, live, to its end', async () => {
    const { rig, ref } = await start({
      model: playing(
        [
          { type: 'text', text: 'Hel' },
          { type: 'text', text: 'lo' },
        ],
        'Hello',
      ),
    })
    const { first, turn, count } = await say(rig, ref, 'Hi')
    assert.equal(count, 1)
    assert.ok(turn)
    const items = await read(rig, ref, { from: first, until: 'stop', deltas: 'take-back' })
    assert.deepEqual(shown(items), [
      '2 turn.started',
      'running',
      'step.started',
      'text: Hel',
      'text: lo',
      '3 model.answered',
      '4 turn.ended',
      'ended',
    ])
  })

  test('that comes late gets the same events, and deltas that add up to the answer', async () => {
    const { rig, ref } = await start({ script: [{ text: 'Hello' }] })
    const { first } = await say(rig, ref, 'Hi')
    await read(rig, ref, { from: first, until: 'stop', deltas: 'none' })
    const items = await read(rig, ref, { from: first, until: 'turn', deltas: 'fail' })
    assert.deepEqual(shown(items), [
      '2 turn.started',
      'step.started',
      'text: Hello',
      '3 model.answered',
      '4 turn.ended',
      'ended',
    ])
  })

  test('of the whole log gets every event once, in pages smaller than the log', async () => {
    const big = 'x'.repeat(200_000)
    const { rig, ref } = await start({ script: Array.from({ length: 30 }, () => ({ text: big })) })
    for (let turn = 0; turn < 30; turn++) {
      const { first } = await say(rig, ref, 'go')
      await read(rig, ref, { from: first, until: 'stop', deltas: 'none' })
    }
    const batches: number[] = []
    const seqs: number[] = []
    const signal = new AbortController()
    for await (const batch of rig.local.follow(
      ref,
      { from: 1, until: 'never', deltas: 'none' },
      signal.signal,
    )) {
      batches.push(batch.length)
      for (const item of batch) if (item.type === 'event') seqs.push(item.seq)
      if (batch.some(item => item.type === 'ended')) signal.abort()
    }
    assert.deepEqual(
      seqs,
      seqs.map((_, index) => index + 1),
    )
    assert.equal(seqs.length, 91)
    assert.ok(batches.length > 2, `the log came in ${batches.length} batches`)
  })

  test('is refused what it may not see, and numbers that do not exist', async () => {
    const { rig, ref } = await start({ script: [{ text: 'x' }] })
    const refused = async (ref: SessionRef, from?: number) =>
      read(rig, ref, { until: 'stop', deltas: 'none', ...(from !== undefined && { from }) })
    await assert.rejects(refused({ ...ref, owner: 'eve' }), { code: 'session_not_found' })
    await assert.rejects(refused(ref, 99), { code: 'bad_request' })
  })

  test('that waits sees `waiting`, goes on, and is told when the session is deleted', async () => {
    const { rig, ref } = await start(
      { script: [{ calls: [{ name: 'ask_user', input: {} }] }, { text: 'thanks' }] },
      { clientTools: [clientTool('ask_user')] },
    )
    const seen: string[] = []
    const reading = (async () => {
      for await (const batch of rig.local.follow(ref, { until: 'never', deltas: 'none' })) {
        seen.push(...shown(batch))
        if (batch.some(item => item.type === 'waiting')) {
          const { calls } = await rig.local.summary(ref)
          const callId = calls[0]!.part.id
          await rig.local.command(ref, {
            do: 'respond',
            results: [{ callId, parts: [{ type: 'text', text: 'yes' }] }],
            decisions: [],
          })
        }
        if (batch.some(item => item.type === 'event' && item.event.type === 'turn.ended'))
          await rig.local.remove(ref)
      }
    })()
    await say(rig, ref, 'go')
    await reading
    assert.deepEqual(seen.slice(-1), ['lost'])
    assert.ok(seen.includes('waiting'))
    assert.equal(seen.filter(line => line.endsWith('model.answered')).length, 2)
  })

  test('of a request that was accepted before gets what came of it and no more', async () => {
    const { rig, ref } = await start({ script: [{ text: 'one' }, { text: 'two' }] })
    const request = { key: 'k', hash: 'h' }
    const command = { do: 'say', wire: 'test', parts: [{ type: 'text', text: 'Hi' }], request } as const
    const first = await rig.local.command(ref, { ...command, parts: [...command.parts] })
    await read(rig, ref, { from: first.first, until: 'stop', deltas: 'none' })
    const other = await say(rig, ref, 'More')
    await read(rig, ref, { from: other.first, until: 'stop', deltas: 'none' })
    const again = await rig.local.command(ref, { ...command, parts: [...command.parts] })
    assert.equal(again.replayed, true)
    assert.equal(again.first, first.first)
    const items = await read(rig, ref, { from: again.first, until: 'stop', replay: true, deltas: 'none' })
    assert.deepEqual(shown(items), [
      '2 request.accepted',
      '3 turn.started',
      '4 model.answered',
      '5 turn.ended',
      'ended',
    ])
  })

  test('that falls behind goes back to the log and still gets the whole answer', async () => {
    const pieces = Array.from(
      { length: 6000 },
      (_, index): ModelDelta => ({ type: 'text', text: `${index} ` }),
    )
    const whole = pieces.map(piece => ('text' in piece ? piece.text : '')).join('')
    const release = Promise.withResolvers<void>()
    const model: Model = {
      id: 'fast',
      async respond(_request, watch) {
        for (const piece of pieces.slice(0, 10)) watch(piece)
        await new Promise(resolve => setTimeout(resolve, 5))
        for (const piece of pieces.slice(10)) watch(piece)
        await release.promise
        return { parts: [{ type: 'text', text: whole }], stop: 'end' }
      },
    }
    const { rig, ref } = await start({ model })
    const { first } = await say(rig, ref, 'go')
    let text = ''
    let slow = true
    let most = 0
    for await (const batch of rig.local.follow(ref, { from: first, until: 'stop', deltas: 'fail' })) {
      most = Math.max(most, batch.length)
      for (const item of batch)
        if (item.type === 'delta' && item.delta.type === 'text') text += item.delta.text
      if (slow && text !== '') {
        slow = false
        await new Promise(resolve => setTimeout(resolve, 30))
        release.resolve()
      }
    }
    assert.equal(text, whole)
    assert.ok(most <= 4_200, `${most} items waited for the reader`)
  })
})

describe('a model step that starts over', () => {
  const deltas: ModelDelta[] = [
    { type: 'text', text: 'Good ' },
    { type: 'text', text: 'morning' },
    { type: 'reset' },
    { type: 'text', text: 'Good ' },
    { type: 'text', text: 'evening' },
  ]
  const expected: Record<DeltaMode, string[]> = {
    none: [],
    raw: ['step.started', 'text: Good ', 'text: morning', 'step.reset', 'text: Good ', 'text: evening'],
    'take-back': [
      'step.started',
      'text: Good ',
      'text: morning',
      'step.reset',
      'text: Good ',
      'text: evening',
    ],
    append: ['step.started', 'text: Good ', 'text: morning', 'text: \n\nGood evening'],
    fail: ['step.started', 'text: Good ', 'text: morning', 'lost'],
  }
  for (const [mode, lines] of Object.entries(expected))
    test(`is shown to a reader in the mode ${mode}`, async () => {
      const { rig, ref } = await start({ model: playing(deltas, 'Good evening') })
      const { first } = await say(rig, ref, 'Hi')
      const items = await read(rig, ref, { from: first, until: 'stop', deltas: mode as DeltaMode })
      assert.deepEqual(shown(items.filter(({ type }) => type === 'delta' || type === 'lost')), lines)
    })

  test('and says the same again is given once', async () => {
    const again: ModelDelta[] = [
      { type: 'text', text: 'Good ' },
      { type: 'reset' },
      { type: 'text', text: 'Good morning' },
    ]
    const { rig, ref } = await start({ model: playing(again, 'Good morning') })
    const { first } = await say(rig, ref, 'Hi')
    const items = await read(rig, ref, { from: first, until: 'stop', deltas: 'fail' })
    assert.deepEqual(shown(items.filter(({ type }) => type === 'delta')), [
      'step.started',
      'text: Good ',
      'text: morning',
    ])
  })
})

describe('a model step that is cancelled', () => {
  for (const mode of ['take-back', 'append', 'fail'] as const)
    test(`keeps what was given of it, in the mode ${mode}`, async () => {
      const model: Model = {
        id: 'hanging',
        respond(_request, watch) {
          watch({ type: 'thinking', text: 'Hm.' })
          watch({ type: 'text', text: 'Half' })
          watch({ type: 'call', index: 0, name: 'look', form: 'json' })
          return new Promise(() => {})
        },
      }
      const { rig, ref } = await start({ model })
      const { first, turn } = await say(rig, ref, 'Hi')
      const items: FollowItem[] = []
      let cancelled = false
      for await (const batch of rig.local.follow(ref, { from: first, until: 'stop', deltas: mode })) {
        items.push(...batch)
        if (cancelled || !shown(items).includes('text: Half')) continue
        cancelled = true
        await rig.local.command(ref, { do: 'cancel', turn: turn! })
      }
      const lines = shown(items)
      assert.deepEqual(
        lines.filter(line => line.startsWith('text') || line === 'step.reset' || line === 'lost'),
        ['text: Half'],
      )
    })
})

describe('a history', () => {
  test('is given as it was after an event', async () => {
    const { rig, ref } = await start(
      { script: [{ calls: [{ name: 'ask_user', input: {} }] }, { text: 'two' }] },
      { clientTools: [clientTool('ask_user')] },
    )
    const { first } = await say(rig, ref, 'one')
    await read(rig, ref, { from: first, until: 'stop', deltas: 'none' })
    const { seq, calls } = await rig.local.summary(ref)
    const more = await say(rig, ref, 'never mind')
    await read(rig, ref, { from: more.first, until: 'stop', deltas: 'none' })
    const then = await rig.local.history(ref, { get: 'view', upTo: seq })
    assert.deepEqual(
      then.entries.map(({ role }) => role),
      ['user', 'assistant'],
    )
    assert.deepEqual(then.calls, calls)
    assert.equal((await rig.local.history(ref, { get: 'entries' })).entries.length, 5)
    await assert.rejects(rig.local.history({ ...ref, owner: 'eve' }, { get: 'view', upTo: seq }), {
      code: 'session_not_found',
    })
  })
})

describe('one answer without a session', () => {
  async function once(rig: Rig, deltas: DeltaMode = 'fail') {
    const items = []
    for await (const batch of rig.local.answerOnce({
      owner,
      agent: 'helper',
      clientTools: [clientTool('look')],
      history: [{ role: 'user', parts: [{ type: 'text', text: 'Hi' }] }],
      deltas,
    }))
      items.push(...batch)
    return items
  }

  test('gives deltas, then the answer, and records nothing', async () => {
    const rig = makeRig({ script: [{ text: 'Look:', calls: [{ name: 'look', input: { at: 1 } }] }] })
    const items = await once(rig)
    const last = items.at(-1)
    assert.ok(last?.type === 'answer')
    assert.deepEqual(
      last.answer.parts.map(part => part.type),
      ['text', 'call'],
    )
    assert.equal(last.answer.stop, 'calls')
    const opened = items.find(item => item.type === 'delta' && item.delta.type === 'call.opened')
    const [, call] = last.answer.parts
    assert.ok(opened?.type === 'delta' && opened.delta.type === 'call.opened' && call?.type === 'call')
    assert.equal(opened.delta.callId, call.id)
    assert.deepEqual(await rig.store.owners(), [])
  })

  test('carries what the vendor wants back', async () => {
    const origin = { protocol: 'p', family: 'f' }
    const continuity = { origin, data: { container: 'c1' } }
    const rig = makeRig({
      model: {
        id: 'stateful',
        respond: () => Promise.resolve({ parts: [], stop: 'end', origin, continuity }),
      },
    })
    const last = (await once(rig, 'none')).at(-1)
    assert.ok(last?.type === 'answer')
    assert.deepEqual([last.answer.origin, last.answer.continuity], [origin, continuity])
  })

  test('never offers or runs a tool of the server', async () => {
    let runs = 0
    const hidden = tool({
      name: 'hidden',
      description: 'd',
      input: { type: 'object' },
      trust: 'trusted',
      run: () => String(++runs),
    })
    const rig = makeRig({
      tools: [hidden],
      script: request => ({ text: request.tools.map(({ name }) => name).join() }),
    })
    const items = await once(rig, 'none')
    assert.deepEqual(items.length, 1)
    assert.ok(items[0]?.type === 'answer')
    assert.deepEqual(items[0].answer.parts, [{ type: 'text', text: 'look' }])
    assert.equal(runs, 0)
  })

  test('rejects with model_timeout when the model hangs, and stops the model', async () => {
    let stopped = false
    const model: Model = {
      id: 'hanging',
      respond: (_request, _watch, signal) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            stopped = true
            reject(new Error('stopped'))
          })
        }),
    }
    const { limits } = makeRig().agent
    const rig = makeRig({ model, agent: { limits: { ...limits, time: 20 } } })
    await assert.rejects(
      once(rig),
      (error: unknown) => error instanceof TurnwireError && error.code === 'model_timeout',
    )
    assert.equal(stopped, true)
  })
})
