// Calls that may have taken effect: their tools are asked before they are settled, and again on request; and calls that are undone.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type { ReconcileContext, Session, Tool } from '../../src/engine/index.ts'
import { runCommand } from '../../src/engine/turn/run-command.ts'
import { joinText } from '../../src/language/content.ts'
import { TurnwireError } from '../../src/language/errors.ts'
import { Unanswered } from '../../src/lib/net/unanswered.ts'
import type { Script } from '../../src/models/scripted/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { later, type Reconciled, tool } from '../../src/tools/index.ts'
import { begin, eventsOf, makeRig, owner, type Rig, type RigOptions, say, stopAll, until } from './rig.ts'

after(stopAll)

type Answer = (input: unknown, context: ReconcileContext) => Reconciled | Promise<Reconciled>

/** A tool that pays, and how often it did. */
function shop(
  reconcile: Answer | undefined,
  run: () => unknown,
  more: Partial<Parameters<typeof tool>[0]> = {},
) {
  const seen = { runs: 0, asked: [] as { input: unknown; callId: string; key: string; reference?: string }[] }
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    input: { type: 'object', properties: { sum: { type: 'integer' } } },
    trust: 'trusted',
    ...more,
    run: () => {
      seen.runs += 1
      return run()
    },
    ...(reconcile && {
      reconcile: (input, context) => {
        const { callId, key, reference } = context
        seen.asked.push({ input, callId, key, ...(reference !== undefined && { reference }) })
        return reconcile(input, context)
      },
    }),
  })
  return { pay, seen }
}

const script: Script = [{ calls: [{ name: 'pay', input: { sum: 5 } }] }, { text: 'done' }, { text: 'again' }]
const hang = (): Promise<never> => new Promise(() => {})
const lost = (): never => {
  throw new Unanswered('The connection was lost.')
}

function outcomeOf(session: Session, at = -1) {
  const results = session.state.entries.flatMap(entry => (entry.role === 'tool' ? entry.results : []))
  const { callId, outcome } = results.at(at)!
  return { callId, kind: outcome.kind, text: joinText(outcome.parts), checked: outcome.checked === true }
}

async function ended(rig: Rig, session: Session): Promise<Session> {
  const open = await rig.engine.open(owner, session.id)
  if (open.status === 'running') await until(open, async () => {})
  return open
}

describe('before a call is settled as unknown, its tool is asked', () => {
  test('after a lost connection: the call gets the result that the tool found', async () => {
    const { pay, seen } = shop(() => ({ ran: 'receipt 7' }), lost)
    const session = await begin(makeRig({ tools: [pay], script }))
    await say(session, 'go')
    const { callId, ...outcome } = outcomeOf(session)
    assert.deepEqual(outcome, { kind: 'ok', text: 'receipt 7', checked: true })
    assert.deepEqual(seen, { runs: 1, asked: [{ input: { sum: 5 }, callId, key: callId }] })
    assert.equal(session.state.doubts, undefined)
  })

  test('the tool may say that it did not run: the model may call it again', async () => {
    const { pay } = shop(() => 'did-not-run', lost)
    const session = await begin(makeRig({ tools: [pay], script }))
    await say(session, 'go')
    const { kind, text } = outcomeOf(session)
    assert.equal(kind, 'error')
    assert.match(text, /did not take effect/)
    assert.equal(session.state.doubts, undefined)
  })

  test('if it does not know, throws or takes too long, the call is unknown, and stays in doubt', async () => {
    const waits: (() => void)[] = []
    const slow = {
      timer: (_ms: number, run: () => void) => {
        waits.push(run)
        return () => {}
      },
    }
    const cases: [Answer, Partial<RigOptions>][] = [
      [() => 'unknown', {}],
      [() => Promise.reject(new Error('the bank is closed')), {}],
      [() => 'perhaps' as 'unknown', {}],
      [hang, { world: slow }],
    ]
    for (const [reconcile, options] of cases) {
      const { pay, seen } = shop(reconcile, lost)
      const rig = makeRig({ tools: [pay], script, ...options })
      const session = await begin(rig)
      const saying = say(session, 'go')
      if (options.world) {
        while (seen.asked.length === 0) await new Promise(setImmediate)
        waits.at(-1)?.()
      }
      await saying
      const { kind, text, callId } = outcomeOf(session)
      assert.equal(kind, 'unknown')
      assert.match(text, /not known whether the tool took effect/)
      assert.deepEqual(session.state.doubts, { [callId]: 'pay' })
    }
  })

  test('after its deadline', async () => {
    for (const [found, expected] of [
      [{ ran: 'receipt 8' }, { kind: 'ok', text: /^receipt 8$/ }],
      ['did-not-run', { kind: 'timeout', text: /did not finish within 5 ms .* it did not take effect/ }],
      ['unknown', { kind: 'timeout', text: /may have taken effect/ }],
    ] as const) {
      const { pay, seen } = shop(() => found, hang, { timeoutMs: 5 })
      const session = await begin(makeRig({ tools: [pay], script }))
      await say(session, 'go')
      const { kind, text } = outcomeOf(session)
      assert.equal(kind, expected.kind)
      assert.match(text, expected.text)
      assert.equal(seen.asked.length, 1)
      assert.equal(session.state.doubts !== undefined, found === 'unknown')
    }
  })

  test('the tool returns while it is asked: the call gets that result, and gets it once', async () => {
    const answer = Promise.withResolvers<Reconciled>()
    const run = Promise.withResolvers<string>()
    const { pay, seen } = shop(
      () => answer.promise,
      () => run.promise,
      { timeoutMs: 5 },
    )
    const rig = makeRig({ tools: [pay], script })
    const session = await begin(rig)
    const saying = say(session, 'go')
    while (seen.asked.length === 0) await new Promise(setImmediate)
    run.resolve('receipt 9')
    await saying
    answer.resolve({ ran: 'receipt 10' })
    await new Promise(setImmediate)
    assert.equal(outcomeOf(session).text, 'receipt 9')
    const types = (await eventsOf(rig, session)).map(({ type }) => type)
    assert.equal(types.filter(type => type === 'call.settled').length, 1)
    assert.ok(!types.includes('call.late'))
  })

  test('after a crash: it is asked once the session is opened again, and nothing runs twice', async () => {
    for (const [found, kind] of [
      [{ ran: 'receipt 7' }, 'ok'],
      ['did-not-run', 'error'],
      ['unknown', 'unknown'],
    ] as const) {
      const store = memoryStore()
      const { pay, seen } = shop(() => found, hang)
      const first = makeRig({ store, tools: [pay], script })
      const session = await begin(first)
      await session.say({ parts: [{ type: 'text', text: 'go' }], wire: 'test' })
      while (seen.runs === 0) await new Promise(setImmediate)
      session.lose(new Error('the process ends'))
      const second = makeRig({ store, tools: [pay], script })
      await second.engine.recover()
      const again = await ended(second, session)
      assert.equal(outcomeOf(again).kind, kind)
      assert.deepEqual([seen.runs, seen.asked.length], [1, 1])
      const starts = (await eventsOf(second, session)).filter(({ type }) => type === 'call.started')
      assert.equal(starts.length, 1)
    }
  })

  test('a tool whose answer ends the process again and again is not asked for ever', async () => {
    const store = memoryStore()
    const { pay, seen } = shop(hang, hang)
    const first = makeRig({ store, tools: [pay], script })
    let session = await begin(first)
    await session.say({ parts: [{ type: 'text', text: 'go' }], wire: 'test' })
    while (seen.runs === 0) await new Promise(setImmediate)
    session.lose(new Error('the process ends'))
    for (let crash = 1; crash <= 5; crash++) {
      const rig = makeRig({ store, tools: [pay], script })
      await rig.engine.recover()
      session = await rig.engine.open(owner, session.id)
      if (session.status !== 'running' || session.driver.callsRunning === 0) break
      session.lose(new Error('the process ends'))
    }
    if (session.status === 'running') await until(session, async () => {})
    assert.equal(outcomeOf(session).kind, 'unknown')
    assert.deepEqual([seen.runs, seen.asked.length], [1, 2])
  })

  test('under manual control too: the action of the loop never runs the call again', async () => {
    const store = memoryStore()
    const answer = Promise.withResolvers<Reconciled>()
    const { pay, seen } = shop(() => answer.promise, hang)
    const first = makeRig({ store, tools: [pay], script })
    const session = await begin(first)
    await session.say({ parts: [{ type: 'text', text: 'go' }], wire: 'test' })
    while (seen.runs === 0) await new Promise(setImmediate)
    await session.save([{ v: 1, at: 1, type: 'control.taken', by: 'olga' }])
    session.lose(new Error('the process ends'))
    const second = makeRig({ store, tools: [pay], script })
    const again = await second.engine.open(owner, session.id)
    const performing = runCommand(again, { do: 'perform', by: 'olga' })
    answer.resolve({ ran: 'receipt' })
    await performing
    assert.equal(outcomeOf(again).text, 'receipt')
    assert.equal(seen.runs, 1)
  })

  test('a result that was left for later and never came', async () => {
    const { pay, seen } = shop(
      () => ({ ran: 'receipt 11' }),
      () => later({ expires: 5 }),
    )
    const session = await begin(makeRig({ tools: [pay], script }))
    await say(session, 'go')
    while (session.status !== 'idle') await until(session, async () => {})
    assert.deepEqual([outcomeOf(session).text, seen.asked.length], ['receipt 11', 1])
  })

  test('a reference that the run recorded is given to it', async () => {
    const asked: (string | undefined)[] = []
    const pay = tool({
      name: 'pay',
      description: 'Pays.',
      input: { type: 'object' },
      trust: 'trusted',
      run: async (_input, { refer }) => {
        await refer('payment-1')
        return lost()
      },
      reconcile: (_input, { reference }) => {
        asked.push(reference)
        return { ran: { paid: true } }
      },
    })
    const session = await begin(makeRig({ tools: [pay], script }))
    await say(session, 'go')
    assert.deepEqual(asked, ['payment-1'])
    assert.equal(outcomeOf(session).kind, 'ok')
  })
})

const reconcile = (session: Session, callId: string) =>
  runCommand(session, { do: 'reconcile', callId, by: 'olga' })
const undo = (session: Session, callId: string) =>
  until(session, () => runCommand(session, { do: 'undo', callId, by: 'olga', wire: 'test' }))

/** A session with a call that is unknown, whose tool answers next with what `answers` gives. */
async function inDoubt(answers: Reconciled[], options: Partial<RigOptions> = {}) {
  const { pay, seen } = shop(() => answers.shift() ?? 'unknown', lost)
  const rig = makeRig({ tools: [pay], script, ...options })
  const session = await begin(rig)
  answers.unshift('unknown')
  await say(session, 'go')
  return { rig, session, seen, callId: outcomeOf(session).callId }
}

function code(expected: string) {
  return (error: unknown) => error instanceof TurnwireError && error.code === expected
}

describe('a call that is unknown is checked on request', () => {
  test('a person is told what was found, and the model by a message that holds nothing of the tool', async () => {
    const { rig, session, seen, callId } = await inDoubt([{ ran: 'receipt <script>' }])
    assert.equal((await reconcile(session, callId)).found, 'ran')
    const [event] = (await eventsOf(rig, session)).filter(({ type }) => type === 'call.reconciled')
    assert.ok(event?.type === 'call.reconciled')
    assert.deepEqual(
      [event.by, event.found, event.tool, joinText(event.outcome.parts)],
      ['olga', 'ran', 'pay', 'receipt <script>'],
    )
    const last = session.state.entries.at(-1)
    assert.ok(last?.role === 'user')
    assert.match(joinText(last.parts), /it took effect\. Do not repeat it/)
    assert.doesNotMatch(joinText(last.parts), /receipt/)
    assert.deepEqual([session.state.doubts, seen.runs], [undefined, 1])
    const summary = await rig.local.summary({ owner, session: session.id })
    assert.deepEqual(summary.reconciled, [{ callId, tool: 'pay', found: 'ran' }])
    await say(session, 'and now?')
  })

  test('what was found out is not asked again, and is recorded once, also if two ask at the same time', async () => {
    const { rig, session, seen, callId } = await inDoubt(['did-not-run'])
    const both = await Promise.all([reconcile(session, callId), reconcile(session, callId)])
    assert.deepEqual(
      both.map(({ found }) => found),
      ['did-not-run', 'did-not-run'],
    )
    assert.equal((await reconcile(session, callId)).found, 'did-not-run')
    assert.equal(seen.asked.length, 2)
    const events = await eventsOf(rig, session)
    assert.equal(events.filter(({ type }) => type === 'call.reconciled').length, 1)
  })

  test('if it is still unknown, nothing is recorded, and it can be asked again', async () => {
    const { session, callId } = await inDoubt(['unknown', { ran: 'receipt' }])
    const before = session.state.seq
    assert.deepEqual((await reconcile(session, callId)).found, 'unknown')
    assert.equal(session.state.seq, before)
    assert.equal((await reconcile(session, callId)).found, 'ran')
  })

  test('the model asks with a tool that it is offered from then on', async () => {
    const answers: Reconciled[] = []
    let callId = ''
    const { rig, session, seen } = await inDoubt(answers, {
      script: request => {
        const names = request.tools.map(({ name }) => name)
        const results = request.history.flatMap(entry => (entry.role === 'tool' ? entry.results : []))
        if (results.length === 0) return { calls: [{ name: 'pay', input: { sum: 5 } }] }
        assert.ok(names.includes('check_call'), names.join())
        callId = results[0]!.callId
        answers[0] ??= { ran: 'receipt 7' }
        if (results.length === 1) return { calls: [{ name: 'check_call', input: { call: callId } }] }
        return { text: joinText(results[1]!.outcome.parts) }
      },
    })
    const last = session.state.entries.at(-1)
    assert.ok(last?.role === 'assistant')
    const [text] = last.parts
    assert.ok(text?.type === 'text')
    assert.match(text.text, /took effect\. Its result:\s*receipt 7/)
    // It was told by its call: no message repeats it.
    assert.equal(session.state.entries.filter(({ role }) => role === 'user').length, 1)
    assert.equal(seen.asked.length, 2)
    const [event] = (await eventsOf(rig, session)).filter(({ type }) => type === 'call.reconciled')
    assert.ok(event?.type === 'call.reconciled' && event.by === 'model' && event.told !== undefined)
  })

  test('a session without such a call is not offered that tool', async () => {
    const tools: string[][] = []
    const ok = shop(
      () => 'unknown',
      () => 'paid',
    ).pay
    const plain = shop(undefined, lost).pay
    for (const pay of [ok, plain]) {
      const session = await begin(
        makeRig({
          tools: [pay],
          script: (request, at) => {
            tools.push(request.tools.map(({ name }) => name))
            return at === 0 ? { calls: [{ name: 'pay', input: {} }] } : { text: 'done' }
          },
        }),
      )
      await say(session, 'go')
    }
    assert.deepEqual(new Set(tools.flat()), new Set(['pay']))
  })

  test('what cannot be checked is refused with a reason', async () => {
    const { session, callId } = await inDoubt([])
    await assert.rejects(reconcile(session, 'call_none'), code('unknown_call'))
    const fine = shop(
      () => 'unknown',
      () => 'paid',
    )
    const other = await begin(makeRig({ tools: [fine.pay], script }))
    await say(other, 'go')
    await assert.rejects(reconcile(other, outcomeOf(other).callId), code('call_settled'))
    const mute = await begin(makeRig({ tools: [shop(undefined, lost).pay], script }))
    await say(mute, 'go')
    await assert.rejects(reconcile(mute, outcomeOf(mute).callId), /has no "reconcile"|cannot say/)
    assert.ok(callId)
  })

  test('while calls are open, the model is told after their results, and never between', async () => {
    const { pay } = shop(
      (() => {
        let times = 0
        return () => (times++ === 0 ? 'unknown' : { ran: 'receipt' })
      })(),
      lost,
    )
    const held = Promise.withResolvers<string>()
    const slow = tool({
      name: 'slow',
      description: 'Slow.',
      input: { type: 'object' },
      trust: 'trusted',
      run: () => held.promise,
    })
    const rig = makeRig({
      tools: [pay, slow],
      script: [
        { calls: [{ name: 'pay', input: {} }] },
        { calls: [{ name: 'slow', input: {} }] },
        { text: 'done' },
      ],
    })
    const session = await begin(rig)
    const saying = say(session, 'go')
    while (session.state.batch[0]?.part.name !== 'slow') await new Promise(setImmediate)
    const { callId } = outcomeOf(session)
    await reconcile(session, callId)
    assert.equal(session.state.entries.at(-1)?.role, 'assistant')
    held.resolve('ok')
    await saying
    assert.deepEqual(
      session.state.entries.map(({ role }) => role),
      ['user', 'assistant', 'tool', 'assistant', 'tool', 'user', 'assistant'],
    )
  })
})

describe('undo', () => {
  function undoable(trust: Tool['trust'] = 'trusted', run = (): unknown => 'refunded') {
    const undone: unknown[] = []
    const pay = tool({
      name: 'pay',
      description: 'Pays.',
      input: { type: 'object', properties: { sum: { type: 'integer' } } },
      trust,
      run: () => ({ receipt: 7 }),
      undo: (input, outcome, { undoes, callId, idempotencyKey }) => {
        assert.equal(callId, idempotencyKey)
        undone.push({ input, outcome: outcome.structured, undoes })
        return run()
      },
    })
    return { pay, undone }
  }

  test('it is a call of its own, with the arguments and the outcome of the other, and the model reads it', async () => {
    const { pay, undone } = undoable()
    const rig = makeRig({ tools: [pay], script })
    const session = await begin(rig)
    await say(session, 'go')
    const { callId } = outcomeOf(session)
    await undo(session, callId)
    assert.deepEqual(undone, [{ input: { sum: 5 }, outcome: { receipt: 7 }, undoes: callId }])
    assert.deepEqual(outcomeOf(session).text, 'refunded')
    const roles = session.state.entries.map(({ role }) => role)
    assert.deepEqual(roles.slice(-3), ['user', 'assistant', 'tool'])
    const { undone: shown } = await rig.local.summary({ owner, session: session.id })
    assert.deepEqual(shown, [{ callId, state: 'done' }])
    await say(session, 'and now?')
  })

  test('a call is undone once', async () => {
    const { pay, undone } = undoable()
    const session = await begin(makeRig({ tools: [pay], script }))
    await say(session, 'go')
    const { callId } = outcomeOf(session)
    await undo(session, callId)
    await assert.rejects(undo(session, callId), code('call_undone'))
    assert.equal(undone.length, 1)
  })

  test('a person is asked where the tool asks, is shown the arguments, and may refuse it; then it can be asked for again', async () => {
    const { pay, undone } = undoable('ask')
    const session = await begin(makeRig({ tools: [pay], script }))
    await say(session, 'go')
    const [first] = session.state.batch
    await until(session, () =>
      session.respond({ results: [], decisions: [{ callId: first!.part.id, granted: true, by: 'olga' }] }),
    )
    const { callId } = outcomeOf(session)
    await undo(session, callId)
    const [asked] = session.state.batch
    assert.equal(asked?.stage, 'asking')
    assert.deepEqual(
      [asked?.part.name, JSON.parse(asked?.text ?? '')],
      ['undo_pay', { call: callId, input: { sum: 5 } }],
    )
    await until(session, () =>
      session.respond({ results: [], decisions: [{ callId: asked!.part.id, granted: false, by: 'olga' }] }),
    )
    assert.deepEqual(undone, [])
    assert.equal(session.state.undone, undefined)
    await undo(session, callId)
    const [again] = session.state.batch
    await until(session, () =>
      session.respond({
        results: [],
        decisions: [
          {
            callId: again!.part.id,
            granted: true,
            by: 'olga',
            edit: JSON.stringify({ call: callId, input: { sum: 9 } }),
          },
        ],
      }),
    )
    // Other arguments than those of the call are refused: nothing ran.
    assert.deepEqual([undone, outcomeOf(session).kind], [[], 'invalid'])
  })

  test('policy may deny it by its name', async () => {
    const { pay, undone } = undoable()
    const rules = [{ tool: 'undo_*', then: 'deny' as const, reason: 'we never refund' }]
    const session = await begin(makeRig({ tools: [pay], script, gate: { rules } }))
    await say(session, 'go')
    await undo(session, outcomeOf(session).callId)
    assert.deepEqual([undone, outcomeOf(session).kind], [[], 'denied'])
  })

  test('neither a model nor a program may call its tool', async () => {
    const { pay, undone } = undoable()
    const session = await begin(
      makeRig({
        tools: [pay],
        script: ({ history }) => {
          const last = history.at(-1)
          if (last?.role !== 'user') return { text: 'done' }
          const isFirst = history.length === 1
          return isFirst
            ? { calls: [{ name: 'pay', input: { sum: 5 } }] }
            : { calls: [{ name: 'undo_pay', input: { call: 'call_1', input: {} } }] }
        },
      }),
    )
    await say(session, 'go')
    await undo(session, outcomeOf(session).callId)
    await say(session, 'once more')
    assert.equal(outcomeOf(session).kind, 'invalid')
    assert.equal(undone.length, 1)
  })

  test('a call that took no effect, is unclear, runs or cannot be undone is refused', async () => {
    const { session, callId } = await inDoubt([])
    await assert.rejects(undo(session, callId), /cannot be undone/)
    const unclear = tool({
      name: 'pay',
      description: 'Pays.',
      input: { type: 'object' },
      trust: 'trusted',
      run: lost,
      undo: () => 'x',
    })
    const second = await begin(makeRig({ tools: [unclear], script }))
    await say(second, 'go')
    await assert.rejects(undo(second, outcomeOf(second).callId), /not known whether .* Have it checked/)
    const denied = await begin(makeRig({ tools: [undoable('ask').pay], script }))
    await say(denied, 'go')
    const [waiting] = denied.state.batch
    await assert.rejects(undo(denied, waiting!.part.id), code('busy'))
    await until(denied, () =>
      denied.respond({ results: [], decisions: [{ callId: waiting!.part.id, granted: false, by: 'olga' }] }),
    )
    await assert.rejects(undo(denied, waiting!.part.id), /took no effect/)
    await assert.rejects(undo(denied, 'call_none'), code('unknown_call'))
  })

  test('while something waits it is refused, and nothing is abandoned', async () => {
    const { pay } = undoable()
    const ask = tool({
      name: 'ask',
      description: 'Asks.',
      input: { type: 'object' },
      trust: 'ask',
      run: () => 'x',
    })
    const session = await begin(
      makeRig({
        tools: [pay, ask],
        script: [{ calls: [{ name: 'pay', input: {} }] }, { calls: [{ name: 'ask', input: {} }] }],
      }),
    )
    await say(session, 'go')
    assert.equal(session.status, 'waiting')
    await assert.rejects(undo(session, outcomeOf(session).callId), code('busy'))
    assert.equal(session.state.batch[0]?.stage, 'asking')
  })

  test('a call that was found to have run can be undone, with the outcome that was found', async () => {
    const outcomes: unknown[] = []
    const pay = tool({
      name: 'pay',
      description: 'Pays.',
      input: { type: 'object' },
      trust: 'trusted',
      run: lost,
      reconcile: () => ({ ran: { receipt: 3 } }),
      undo: (_input, outcome) => void outcomes.push(outcome.structured),
    })
    const session = await begin(makeRig({ tools: [pay], script }))
    await say(session, 'go')
    await undo(session, outcomeOf(session).callId)
    assert.deepEqual(outcomes, [{ receipt: 3 }])
  })

  test('the process ends while it is undone: it is not run again, unless it may be', async () => {
    for (const idempotent of [false, true]) {
      const store = memoryStore()
      let runs = 0
      const pay = tool({
        name: 'pay',
        description: 'Pays.',
        input: { type: 'object' },
        trust: 'trusted',
        run: () => 'paid',
        undo: { run: () => (++runs === 1 ? hang() : 'refunded'), idempotent },
      })
      const first = makeRig({ store, tools: [pay], script })
      const session = await begin(first)
      await say(session, 'go')
      const { callId } = outcomeOf(session)
      await runCommand(session, { do: 'undo', callId, by: 'olga', wire: 'test' })
      while (runs === 0) await new Promise(setImmediate)
      session.lose(new Error('the process ends'))
      const second = makeRig({ store, tools: [pay], script })
      await second.engine.recover()
      const again = await ended(second, session)
      assert.deepEqual([outcomeOf(again).kind, runs], idempotent ? ['ok', 2] : ['unknown', 1])
      assert.deepEqual(again.state.undone, { [callId]: idempotent ? 'done' : 'unknown' })
      await assert.rejects(undo(again, callId), code('call_undone'))
    }
  })
})
