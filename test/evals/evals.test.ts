// Evaluations: what passes, what fails and with which words; stubs; variants; reports; cases made of sessions.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { TurnwireConfig } from '../../src/config/config.ts'
import { describeEvals, evalsToJunit } from '../../src/evals/describe-evals.ts'
import { checkEvals, type EvalCase, type Evals } from '../../src/evals/evals.ts'
import { caseFromLog, evalTests, runEvals } from '../../src/evals/index.ts'
import type { Event } from '../../src/language/events.ts'
import { Turnwire } from '../../src/library/turnwire.ts'
import { type Script, scripted } from '../../src/models/scripted/index.ts'
import { tool } from '../../src/tools/index.ts'

const declared = { description: 'For an evaluation.', input: { type: 'object' } } as const
const neverRun = (): never => assert.fail('A stub stands in for it.')
const find = tool({ ...declared, name: 'find', readOnly: true, trust: 'trusted', run: neverRun })
const refund = tool({ ...declared, name: 'refund', trust: 'ask', run: neverRun })

const script: Script = [
  { calls: [{ name: 'find', input: { order: 17 } }], usage: { input: 10, output: 2, cost: 0.5 } },
  { calls: [{ name: 'refund', input: { order: 17, note: 'as asked' } }] },
  { text: 'Order 17 is refunded.' },
]

function configOf(steps: Script = script): TurnwireConfig {
  return { agents: [{ name: 'clerk', model: scripted(steps), tools: [find, refund] }] }
}

const good: EvalCase = {
  name: 'a refund',
  prompt: 'Refund order 17.',
  tools: { find: { when: { order: 17 }, returns: 'packed' }, refund: { returns: 'refunded' } },
  expect: {
    calls: [
      { tool: 'find', outcome: 'ok' },
      { tool: 'refund', input: { order: 17 }, outcome: 'ok' },
    ],
    only: true,
    asks: ['refund'],
    never: ['delete'],
    answer: /refunded/,
    steps: 3,
    cost: 1,
  },
}

const failuresOf = async (over: Partial<EvalCase>, steps?: Script): Promise<string[]> =>
  (await runEvals({ cases: [{ ...good, ...over }] }, configOf(steps))).plays[0]?.failures ?? []

suite('evaluations', () => {
  test('a case passes when calls, questions, answer, steps and cost are as expected', async () => {
    const report = await runEvals({ cases: [good] }, configOf())
    assert.deepEqual(report.plays[0]?.failures, [])
    assert.deepEqual([report.ok, report.passed, report.tokens, report.cost], [true, 1, 12, 0.5])
  })

  test('each expectation that does not hold is a sentence', async () => {
    const expect = {
      calls: [{ tool: 'refund', input: { order: 18 } }],
      never: ['find'],
      asks: [],
      answer: 'not possible',
      steps: 2,
      cost: 0.1,
    }
    const failures = await failuresOf({ expect })
    assert.deepEqual(failures, [
      'The call refund with {"order":18} is missing. Calls: find {"order":17} (ok), refund {"order":17,"note":"as asked"} (ok)',
      'find was called, which must not be.',
      'A person was asked about refund, not about nothing.',
      'The answer is not "not possible": "Order 17 is refunded."',
      'It cost $0.50, more than $0.10.',
      'It took 3 steps, more than 2.',
    ])
  })

  test('a person who rejects leaves the call denied', async () => {
    const calls = [{ tool: 'refund', outcome: 'denied' as const }]
    assert.deepEqual(await failuresOf({ people: 'reject', expect: { calls } }), [])
    const people = ({ tool: name }: { tool: string }) => name !== 'refund'
    assert.deepEqual(await failuresOf({ people, expect: { calls } }), [])
  })

  test('a call without a stub runs nothing and fails the case', async () => {
    const [first] = await failuresOf({ tools: { refund: { returns: '' } }, expect: { answer: 'refunded' } })
    assert.equal(first, 'find was called with {"order":17}, and there is no stub for that.')
  })

  test('stubs answer by arguments, in sequence, with errors, after a while, and by functions', async () => {
    const calls = [1, 1, 2, 3].map(order => ({ calls: [{ name: 'find', input: { order } }] }))
    const seen: unknown[] = []
    const config = configOf([...calls, { text: 'Done.' }])
    const tools = {
      find: [
        { when: { order: 1 }, times: 1, throws: 'busy' },
        { when: { order: 1 }, returns: { state: 'packed' } },
        { when: { order: (value: unknown) => value === 2 }, returns: 'sent', afterMs: 1 },
        { returns: 'unknown order' },
      ],
    }
    const outcomes = ['error', 'ok', 'ok', 'ok'] as const
    const expect = { calls: outcomes.map(outcome => ({ tool: 'find', outcome })) }
    const report = await runEvals({ cases: [{ name: 'several', prompt: 'go', tools, expect }] }, config)
    assert.deepEqual(report.plays[0]?.failures, [])
    const find = (input: unknown, before: number) => void seen.push([input, before])
    await runEvals({ cases: [{ name: 'all', prompt: 'go', tools: { find }, expect }] }, config)
    assert.deepEqual(seen.at(-1), [{ order: 3 }, 3])
  })

  test('a turn that fails fails its case', async () => {
    const fail = { code: 'model_rejected' as const, message: 'No such model.' }
    const failures = await failuresOf({ expect: { never: ['x'] } }, [{ fail }])
    assert.match(failures[0] ?? '', /^The turn ended with error: .*No such model/)
  })

  test('a judge is a model that says yes or no', async () => {
    const judge = (text: string) => ({ model: scripted([{ text }]), question: 'Is it polite?' })
    assert.deepEqual(await failuresOf({ expect: { judge: judge('Yes, it is.') } }), [])
    assert.deepEqual(await failuresOf({ expect: { judge: judge('No: it is curt.') } }), [
      'The judge says: No: it is curt.',
    ])
    const unknown = { model: 'nobody', question: 'Is it polite?' }
    await assert.rejects(failuresOf({ expect: { judge: unknown } }), /has no model "nobody"/)
  })

  test('each case is played with each model and policy, as often as it says, and the pass mark decides', async () => {
    const config = {
      ...configOf(),
      models: { good: scripted(script), bad: scripted([{ text: 'I would rather not.' }]) },
    }
    const evals: Evals = {
      models: ['good', 'bad'],
      policies: { today: [], open: [{ tool: 'refund', then: 'allow' }] },
      repeat: 2,
      passMark: 0.25,
      cases: [good],
    }
    const report = await runEvals(evals, config)
    assert.equal(report.plays.length, 8)
    assert.deepEqual([report.passed, report.ok], [2, true])
    const lines = describeEvals(report)
    assert.equal(lines[0], 'pass 2/2  a refund  good, today  3 steps')
    assert.equal(lines[1], 'FAIL 0/2  a refund  good, open   3 steps')
    assert.equal(lines.at(-1), '2 of 8 passed, 25 % wanted, 48 tokens, $2.00 spent')
    const xml = evalsToJunit(report)
    assert.match(xml, /<testsuite name="turnwire evals" tests="8" failures="6">/)
    assert.match(xml, /<failure message="A person was asked about nothing, not about refund\.">/)
    assert.equal((await runEvals({ ...evals, passMark: 1 }, config)).ok, false)
  })

  test('evalTests registers a test for each play, which throws what failed', async () => {
    const registered: [string, () => Promise<void>][] = []
    const bad = { ...good, name: 'impossible', expect: { answer: 'never' } }
    const evals = { config: configOf(), cases: [good, bad] }
    evalTests(evals, (name, run) => registered.push([name, run]))
    assert.deepEqual(
      registered.map(([name]) => name),
      ['a refund', 'impossible'],
    )
    await registered[0]?.[1]()
    await assert.rejects(registered[1]?.[1]() ?? Promise.resolve(), /The answer is not "never"/)
  })

  test('a case that is made of a session passes with the same model, and fails with another', async () => {
    const real = [
      tool({ ...declared, name: 'find', readOnly: true, trust: 'trusted', run: () => ({ state: 'packed' }) }),
      tool({ ...declared, name: 'refund', trust: 'ask', run: () => 'refunded' }),
    ]
    const turnwire = await Turnwire.open({
      agents: [{ name: 'clerk', model: scripted(script), tools: real }],
      data: 'memory',
    })
    const session = await turnwire.session('clerk')
    const reply = await session.send('Refund order 17.')
    if (reply.status === 'waiting') await session.approve(reply.pending[0]?.callId ?? '')
    const events: Event[] = []
    for await (const item of session.watch({ until: 'stop' }))
      if (item.type === 'event') events.push(item.event)
    await turnwire.close()
    const made = caseFromLog('friday', events)
    assert.deepEqual(made.tools['find'], [{ when: { order: 17 }, returns: { state: 'packed' } }])
    assert.deepEqual((await runEvals({ cases: [made] }, configOf())).plays[0]?.failures, [])
    const other = await runEvals({ cases: [made] }, configOf([{ text: 'No.' }]))
    assert.equal(other.ok, false)
  })

  test('mistakes in a file are refused with what is wrong', () => {
    const refusal = (given: unknown): string => {
      try {
        checkEvals(given, 'x.ts')
        return ''
      } catch (error) {
        return (error as Error).message
      }
    }
    assert.match(refusal(undefined), /defineEvals\({ cases: \[ … \] }\) is missing/)
    assert.match(refusal({ cases: [] }), /`cases` has no case/)
    assert.match(refusal({ cases: [good], models_: [] }), /"models_" is no member/)
    assert.match(refusal({ cases: [{ ...good, expect: {} }] }), /the case "a refund": it expects nothing/)
    const cases = (more: object): unknown => ({ cases: [{ ...good, ...more }] })
    for (const [given, words] of [
      [cases({ peple: 'allow' }), /the case "a refund": `peple` is no member\. There are: name, prompt,/],
      [cases({ people: 'alow' }), /`people` is "allow", "reject" or a function/],
      [cases({ expect: { call: [] } }), /`expect\.call` is no member\. There are: calls, only,/],
      [cases({ expect: { calls: [{ tool: 'pay', args: {} }] } }), /`expect\.calls\[0\]\.args` is no member/],
      [cases({ expect: { calls: ['pay'] } }), /`expect\.calls\[0\]` is an object with the name of a `tool`/],
      [cases({ expect: { never: 'pay' } }), /`expect\.never` and `expect\.asks` are lists/],
      [cases({ expect: { judge: { modle: 'x' } } }), /`expect\.judge\.modle` is no member/],
      [cases({ tools: { pay: { fails: 'boom' } } }), /`tools\.pay\.fails` is no member\. There are: when,/],
      [
        cases({ tools: { pay: [{ returns: 1 }, 'packed'] } }),
        /`tools\.pay` is a function, an answer such as/,
      ],
      [{ cases: [good], tools: { pay: 5 } }, /x\.ts: `tools\.pay` is a function/],
      [{ cases: [5] }, /each case has a `name`/],
    ] as const)
      assert.match(refusal(given), words)
    assert.equal(refusal(cases({ tools: { pay: () => 1, look: [{ times: 1, throws: 'x' }] } })), '')
    assert.match(refusal({ cases: [good], repeat: 0 }), /`repeat` is a whole number/)
    assert.match(refusal({ cases: [good], passMark: 90 }), /`passMark` is a share/)
  })
})
