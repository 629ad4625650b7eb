import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Question, Verdict } from '../engine/ports/index.ts'
import type { Grant } from '../language/events.ts'
import type { ToolDeclaration } from '../language/tools.ts'
import { type Authoriser, authoriseBy, type RuleFailure } from './authorise.ts'
import { compileRules, type PolicyRule } from './rules.ts'

const shell: ToolDeclaration = {
  name: 'shell.run',
  description: 'Runs a command.',
  input: { form: 'json', schema: {} },
  kind: 'execute',
  readOnly: false,
  idempotent: false,
  destructive: true,
  side: 'server',
}

function question(changes: Partial<Question> = {}): Question {
  return {
    session: 's',
    owner: 'o',
    agent: 'main',
    callId: 'c',
    tool: shell,
    toolHash: 'hash-1',
    input: { command: 'ls' },
    argsHash: 'args-1',
    trust: 'ask',
    grants: [],
    now: 100,
    history: { turn: [], session: [] },
    ...changes,
  }
}

const createAuthoriser = (rules: PolicyRule[], onFailure?: RuleFailure): Authoriser =>
  authoriseBy(compileRules(rules), onFailure)

function decide(rules: PolicyRule[], changes: Partial<Question> = {}): Verdict | Promise<Verdict> {
  return createAuthoriser(rules)(question(changes))
}

const verdictOf = (changes: Partial<Question>): string => (decide([], changes) as Verdict).verdict
const grant: Grant = { id: 'g', tool: 'shell.run', toolHash: 'hash-1', by: 'ann' }
/** A function, because linters mistake an object literal with `then` for a promise. */
const rule = (then: PolicyRule['then'], conditions: Omit<PolicyRule, 'then'> = {}): PolicyRule => ({
  ...conditions,
  then,
})
const allow = (rule: string) => ({ verdict: 'allow', rule })

describe('trust, when no rule matches', () => {
  for (const [trust, clientTrust, expected] of [
    ['trusted', undefined, allow('operator-trust')],
    ['trusted', true, allow('client-trust')],
    ['trusted', false, { verdict: 'ask', rule: 'client-trust' }],
    ['ask', undefined, { verdict: 'ask', rule: 'operator-trust' }],
    ['ask', true, allow('client-trust')],
    ['ask', false, { verdict: 'ask', rule: 'client-trust' }],
  ] as const)
    test(`operator ${trust}, client ${clientTrust ?? 'silent'}: ${expected.verdict}`, () => {
      assert.deepEqual(decide([], { trust, ...(clientTrust !== undefined && { clientTrust }) }), expected)
    })

  for (const clientTrust of [true, false])
    test(`operator deny, client ${clientTrust}: denied by the operator`, () => {
      const verdict = decide([rule('allow')], { trust: 'deny', clientTrust, grants: [grant] })
      assert.deepEqual(verdict, {
        verdict: 'deny',
        rule: 'operator-trust',
        reason: 'The operator does not allow the tool "shell.run" to run.',
      })
    })

  test('a client tool is always allowed', () => {
    assert.deepEqual(
      decide([], { trust: 'trusted', tool: { ...shell, side: 'client' } }),
      allow('client-tool'),
    )
  })
})

describe('rules', () => {
  test('the first rule that matches decides, and the verdict names it by its index', () => {
    const rules: PolicyRule[] = [
      rule('allow', { tool: 'other' }),
      rule('deny', { reason: 'No.' }),
      rule('allow'),
    ]
    assert.deepEqual(decide(rules, { clientTrust: true }), {
      verdict: 'deny',
      rule: 'policy[1]',
      reason: 'No.',
    })
  })

  test('a denial without a reason gets a default reason', () => {
    const verdict = decide([rule('deny')])
    assert.deepEqual(verdict, {
      verdict: 'deny',
      rule: 'policy[0]',
      reason: 'Policy does not allow this call of "shell.run".',
    })
  })

  test('a rule that allows overrides the client’s distrust', () => {
    assert.deepEqual(decide([rule('allow')], { clientTrust: false }), allow('policy[0]'))
  })

  test('a rule that asks passes on its reason and expiry, and overrides the client’s trust', () => {
    assert.deepEqual(
      decide([rule('ask', { reason: 'Costs money.', expiresInMs: 500 })], { clientTrust: true }),
      {
        verdict: 'ask',
        rule: 'policy[0]',
        reason: 'Costs money.',
        expiresInMs: 500,
      },
    )
  })

  for (const [conditions, fits] of [
    [{ tool: 'shell.run' }, true],
    [{ tool: 'shell' }, false],
    [{ tool: 'Shell.run' }, false],
    [{ tool: 'shellxrun' }, false],
    [{ tool: ['x', 'shell.run'] }, true],
    [{ tool: '*' }, true],
    [{ tool: 'shell.*' }, true],
    [{ tool: '*.run' }, true],
    [{ tool: 's*l*n' }, true],
    [{ tool: 'shell.run*' }, true],
    [{ tool: 'shell.r*run' }, false],
    [{ tool: 's*x*n' }, false],
    [{ tool: 'shell.run*run' }, false],
    [{ tool: '*hell' }, false],
    [{ kind: 'execute' }, true],
    [{ kind: ['read', 'execute'] }, true],
    [{ kind: 'read' }, false],
    [{ readOnly: false }, true],
    [{ readOnly: true }, false],
    [{ destructive: true }, true],
    [{ destructive: false }, false],
    [{ agent: 'main' }, true],
    [{ agent: ['m*'] }, true],
    [{ agent: 'other' }, false],
    [{ tool: 'shell.*', kind: 'execute', destructive: true, agent: 'main' }, true],
    [{ tool: 'shell.*', kind: 'execute', destructive: true, agent: 'other' }, false],
    [{ when: ({ argsHash }: Question) => argsHash === 'args-1' }, true],
    [{ when: () => false }, false],
  ] as [Omit<PolicyRule, 'then'>, boolean][])
    test(`${JSON.stringify(conditions)} ${fits ? 'matches' : 'does not match'}`, () => {
      const expected = fits ? 'policy[0]' : 'operator-trust'
      const verdict = decide([rule('allow', conditions)])
      assert.ok('rule' in verdict)
      assert.equal(verdict.rule, expected)
    })

  test('an asynchronous condition is awaited, and the rules after it still count', async () => {
    const rules: PolicyRule[] = [
      rule('allow', { when: async () => false }),
      rule('ask', { when: ({ input }) => JSON.stringify(input).includes('ls') }),
      rule('deny'),
    ]
    assert.deepEqual(await decide(rules), { verdict: 'ask', rule: 'policy[1]' })
    assert.deepEqual(await decide([rule('allow', { when: async () => true })]), allow('policy[0]'))
    assert.deepEqual(
      await decide([rule('deny', { when: async () => false })], { clientTrust: true }),
      allow('client-trust'),
    )
  })

  test('without an asynchronous condition the verdict is synchronous', () => {
    assert.ok(!(decide([rule('allow', { when: () => true })]) instanceof Promise))
  })
})

describe('a rule whose condition fails denies the call', () => {
  // A condition written in JavaScript can return anything.
  const gives = (value: unknown) => (() => value) as () => boolean
  for (const [what, when] of [
    ['throws', () => assert.fail('secret cause')],
    ['rejects', () => Promise.reject(new Error('secret cause'))],
    ['gives nothing', gives(undefined)],
    ['gives a text', gives('yes')],
    ['gives a promise of nothing', gives(Promise.resolve(undefined))],
  ] as [string, NonNullable<PolicyRule['when']>][])
    for (const then of ['allow', 'deny'] as const)
      test(`when its condition ${what} (then: ${then})`, async () => {
        const failures: [string, unknown][] = []
        const authorise = createAuthoriser(
          [rule(then, { tool: 'x' }), rule(then, { when }), rule('allow')],
          (rule, error) => failures.push([rule, error]),
        )
        const verdict = await authorise(question({ clientTrust: true, grants: [grant] }))
        assert.deepEqual(verdict, {
          verdict: 'deny',
          rule: 'policy[1]',
          reason: 'The policy rule policy[1] could not be evaluated, so the call was denied.',
        })
        assert.equal(failures.length, 1)
        assert.equal(failures[0]?.[0], 'policy[1]')
        assert.ok(failures[0]?.[1] instanceof Error)
      })
})

describe('remembered refusals', () => {
  const refusal: Grant = { ...grant, id: 'no', deny: true }

  test('come before rules, trust and grants, but after a denial by the operator', async () => {
    for (const rules of [[], [rule('allow')], [rule('ask')]])
      assert.equal((await decide(rules, { clientTrust: true, grants: [grant, refusal] })).verdict, 'deny')
    assert.equal((await decide([], { trust: 'deny', grants: [refusal] })).rule, 'operator-trust')
  })

  test('apply to the tool’s name, also when its definition has changed', async () => {
    assert.equal((await decide([], { toolHash: 'another', grants: [refusal] })).verdict, 'deny')
    assert.equal((await decide([], { grants: [{ ...refusal, tool: 'other' }] })).verdict, 'ask')
  })

  test('end when they expire, and cover only their arguments', async () => {
    assert.equal((await decide([], { grants: [{ ...refusal, expiresAt: 1 }] })).verdict, 'ask')
    assert.equal((await decide([], { grants: [{ ...refusal, argsHash: 'others' }] })).verdict, 'ask')
  })
})

describe('grants', () => {
  test('with patterns cover the arguments that match all of them, and never satisfy a tool that demands a person', () => {
    const pattern: Grant = { ...grant, where: { command: 'git *' } }
    assert.equal(verdictOf({ input: { command: 'git status' }, grants: [pattern] }), 'allow')
    assert.equal(verdictOf({ input: { command: 'git push; rm x' }, grants: [pattern] }), 'ask')
    assert.equal(verdictOf({ input: { command: 'git log', cwd: '/' }, grants: [pattern] }), 'ask')
    assert.equal(verdictOf({ input: { command: 'git log' }, grants: [pattern], toolHash: 'other' }), 'ask')
    const demands = 'This very call needs a person.'
    assert.equal(verdictOf({ input: { command: 'git log' }, grants: [pattern], demands }), 'ask')
  })

  test('turn a question into an allowance that names the grant', () => {
    for (const rules of [[], [rule('ask')]])
      assert.deepEqual(decide(rules, { grants: [grant] }), { verdict: 'allow', rule: 'grant', grantId: 'g' })
    assert.deepEqual(decide([], { clientTrust: false, grants: [grant] }), {
      verdict: 'allow',
      rule: 'grant',
      grantId: 'g',
    })
  })

  test('never override a denial', () => {
    const verdict = decide([rule('deny')], { grants: [grant] })
    assert.ok('verdict' in verdict && verdict.verdict === 'deny')
  })

  test('are not named when the call was allowed without them', () => {
    assert.deepEqual(decide([], { trust: 'trusted', grants: [grant] }), allow('operator-trust'))
  })

  test('without a count of uses are used before those with one', () => {
    const counted: Grant = { ...grant, id: 'counted', usesLeft: 1 }
    assert.deepEqual(decide([], { grants: [counted, grant] }), {
      verdict: 'allow',
      rule: 'grant',
      grantId: 'g',
    })
    assert.deepEqual(decide([], { grants: [counted] }), {
      verdict: 'allow',
      rule: 'grant',
      grantId: 'counted',
    })
  })
})

describe('an invalid rule is refused when the gate is made', () => {
  for (const [then, conditions, message] of [
    [undefined, {}, /policy\[0\]\.then must be "allow", "ask" or "deny"/],
    ['maybe', {}, /policy\[0\]\.then/],
    ['deny', { tools: 'x' }, /unknown member "tools"; known are: tool/],
    ['deny', { tool: [] }, /policy\[0\]\.tool must hold at least one name/],
    ['deny', { tool: '' }, /policy\[0\]\.tool/],
    ['deny', { agent: [3] }, /policy\[0\]\.agent/],
    ['deny', { kind: 'write' }, /policy\[0\]\.kind must be one of: read/],
    ['deny', { kind: [] }, /policy\[0\]\.kind must name/],
    ['deny', { readOnly: 'no' }, /policy\[0\]\.readOnly must be true or false/],
    ['deny', { when: 'x' }, /policy\[0\]\.when must be a function/],
    ['deny', { reason: '' }, /policy\[0\]\.reason/],
    ['deny', { expiresInMs: 5 }, /only with then: "ask"/],
    ['ask', { expiresInMs: 0 }, /policy\[0\]\.expiresInMs/],
    [null, null, /policy\[0\] must be an object/],
  ] as const)
    test(`${then} ${JSON.stringify(conditions)}`, () => {
      const written = conditions === null ? null : { ...conditions, ...(then && { then }) }
      // A configuration file can hold any value.
      const rules = [written] as unknown as PolicyRule[]
      assert.throws(() => createAuthoriser(rules), { code: 'config_invalid', message })
    })
})

describe('a rule with a rate', () => {
  const rate = { calls: 2, perMs: 60_000 }
  const verdicts = (decide: Authoriser, ...asked: Partial<Question>[]) =>
    asked.map(each => (decide(question({ trust: 'trusted', ...each })) as Verdict).verdict)

  test('applies to calls beyond it, and no longer once the time has passed', () => {
    const decide = createAuthoriser([rule('deny', { tool: 'shell.*', rate })])
    assert.deepEqual(verdicts(decide, { now: 0 }, { now: 1000 }), ['allow', 'allow'])
    assert.deepEqual(decide(question({ trust: 'trusted', now: 2000 })), {
      verdict: 'deny',
      rule: 'policy[0]',
      reason: '"shell.run" may be called 2 times in 60 seconds. Try again in 58 seconds.',
    })
    assert.deepEqual(verdicts(decide, { now: 60_000 }, { now: 60_001 }), ['allow', 'deny'])
  })

  test('counts each owner and each tool by itself, or a session, or all together', () => {
    const other = { ...shell, name: 'shell.other' }
    const byOwner = createAuthoriser([rule('deny', { rate: { calls: 1, perMs: 1000 } })])
    assert.deepEqual(
      verdicts(byOwner, {}, { session: 't' }, { owner: 'p' }, { tool: other }, { tool: other }),
      ['allow', 'deny', 'allow', 'allow', 'deny'],
    )
    const bySession = createAuthoriser([rule('deny', { rate: { calls: 1, perMs: 1000, per: 'session' } })])
    assert.deepEqual(verdicts(bySession, {}, { session: 't' }, {}), ['allow', 'allow', 'deny'])
    const together = createAuthoriser([rule('deny', { rate: { calls: 1, perMs: 1000, per: 'all' } })])
    assert.deepEqual(verdicts(together, {}, { owner: 'p', session: 't' }), ['allow', 'deny'])
  })

  test('counts the calls that its condition holds for, and lets a person decide with ask', async () => {
    const when = async ({ input }: Question): Promise<boolean> => (input as { big?: true }).big === true
    const decide = createAuthoriser([rule('ask', { when, rate: { calls: 1, perMs: 1000 } })])
    const asked = async (input: { big?: true }) =>
      (await decide(question({ trust: 'trusted', input }))).verdict
    assert.equal(await asked({}), 'allow')
    assert.equal(await asked({ big: true }), 'allow')
    assert.equal(await asked({}), 'allow')
    assert.equal(await asked({ big: true }), 'ask')
  })

  test('is refused when it is no rate', () => {
    for (const wrong of [
      7,
      {},
      { calls: 0, perMs: 1 },
      { calls: 1 },
      { ...rate, per: 'day' },
      { ...rate, burst: 1 },
    ])
      assert.throws(
        () => createAuthoriser([rule('deny', { rate: wrong as typeof rate })]),
        /policy\[0\]\.rate/,
      )
  })
})
