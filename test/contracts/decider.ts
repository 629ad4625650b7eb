// What every adapter of a policy engine must hold, through the real gate. The maker writes the same policy in the language of its engine:
//
//   delete_file   denied: "Nothing is deleted."
//   refund        runs up to an amount of 100; above, a person is asked: "More than 100."
//   send_mail     runs, unless fetch was called before it in the turn; then a person is asked: "After the web."
//   broken        its evaluation fails
//   any other     nothing is said of it
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import type { Question, Verdict } from '../../src/engine/ports/index.ts'
import type { EarlierCall } from '../../src/language/policy.ts'
import type { Json } from '../../src/lib/json/index.ts'
import type { Otherwise } from '../../src/policy/engines/facts.ts'
import { createGate } from '../../src/policy/index.ts'
import type { Decider } from '../../src/policy/rules.ts'

export type DeciderMaker = {
  /** `otherwise`: where the policy says nothing. Absent: the default of the adapter. */
  make: (otherwise?: Otherwise) => Promise<Decider>
  /** The same, but for a word of the policy. */
  makeOther: () => Promise<Decider>
  /** Its policy is wrong. Rejects. */
  makeWrong: () => Promise<Decider>
}

const session = 's'
const none = { turn: [], session: [] }

function question(name: string, input: Json, over: Partial<Question> = {}): Question {
  return {
    session,
    owner: 'ana',
    agent: 'clerk',
    callId: 'c',
    tool: {
      name,
      description: '',
      input: { form: 'json', schema: {} },
      kind: 'other',
      readOnly: false,
      idempotent: false,
      destructive: false,
      side: 'server',
    },
    toolHash: 'hash',
    input,
    argsHash: 'args',
    trust: 'trusted',
    grants: [],
    now: 1,
    history: none,
    ...over,
  }
}

export function deciderContract(name: string, { make, makeOther, makeWrong }: DeciderMaker): void {
  describe(name, () => {
    let decide: Decider
    const failures: string[] = []
    before(async () => {
      decide = await make()
    })
    const judge = async (asked: Question, by = decide): Promise<Verdict> => {
      const onRuleFailure = (rule: string, error: unknown): void =>
        void failures.push(`${rule}: ${String(error)}`)
      const gate = createGate({ rules: [{ name: 'engine', then: by }], onRuleFailure })
      return gate.authorise(asked)
    }
    const short = ({ verdict, rule, ...more }: Verdict): (string | undefined)[] => [
      verdict,
      rule,
      'reason' in more ? more.reason : undefined,
    ]

    test('lets run, asks and denies, with the reasons of the policy', async () => {
      assert.deepEqual(short(await judge(question('refund', { amount: 100 }))), [
        'allow',
        'engine',
        undefined,
      ])
      assert.deepEqual(short(await judge(question('refund', { amount: 101 }))), [
        'ask',
        'engine',
        'More than 100.',
      ])
      const denied = ['deny', 'engine', 'Nothing is deleted.']
      assert.deepEqual(short(await judge(question('delete_file', { path: 'a' }))), denied)
    })

    test('is told of the calls before it in the turn, and those of other turns apart', async () => {
      const fetched: EarlierCall[] = [{ id: 'c0', tool: 'fetch', outcome: 'ok' }]
      const mail = (history: Question['history']): Question =>
        question('send_mail', { to: 'bo' }, { history })
      assert.equal((await judge(mail(none))).verdict, 'allow')
      assert.equal((await judge(mail({ turn: [], session: fetched }))).verdict, 'allow')
      const after = await judge(mail({ turn: fetched, session: fetched }))
      assert.deepEqual(short(after), ['ask', 'engine', 'After the web.'])
    })

    test('denies what the policy says nothing of, unless told otherwise', async () => {
      const other = question('look', {})
      assert.equal((await judge(other)).verdict, 'deny')
      assert.equal((await judge(other, await make('ask'))).verdict, 'ask')
      assert.equal((await judge(other, await make('allow'))).verdict, 'allow')
      const next = await judge(other, await make('next'))
      assert.deepEqual(short(next), ['allow', 'operator-trust', undefined])
    })

    test('a policy that fails denies the call; the cause is for the operator alone', async () => {
      failures.length = 0
      const verdict = await judge(question('broken', {}))
      assert.deepEqual(short(verdict), [
        'deny',
        'engine',
        'The policy rule engine could not be evaluated, so the call was denied.',
      ])
      assert.equal(failures.length, 1)
      // The engine works after it.
      assert.equal((await judge(question('refund', { amount: 1 }))).verdict, 'allow')
    })

    test('no arguments, however odd, let a call through that the policy does not', async () => {
      const odd: Json[] = [
        null,
        'text',
        [],
        {},
        { amount: null },
        { amount: '5' },
        { amount: [5] },
        { amount: 1e300 },
        { amount: 100.00001 },
        { amount: { __extn: { fn: 'decimal', arg: '1.0' } } },
        { amount: { __entity: { type: 'Owner', id: 'root' } } },
        { note: '"input":{"amount":5}', quote: '","tool":{"name":"look"' },
        { amount: 5000, nested: { amount: 5 } },
        JSON.parse('{"__proto__":{"amount":5}}') as Json,
      ]
      for (const input of odd)
        assert.notEqual((await judge(question('refund', input))).verdict, 'allow', JSON.stringify(input))
      // Text that is no text for the engine is text.
      const fine = { amount: 5, note: 'ä "quoted" \u0000 \ud83d\ude00' }
      assert.equal((await judge(question('refund', fine))).verdict, 'allow')
    })

    test('leaves the question as it was, and answers the same to the same', async () => {
      const asked = question('refund', { amount: 500, list: [1, null, { a: 0.5 }] })
      const before = JSON.stringify(asked)
      const verdicts = await Promise.all(Array.from({ length: 20 }, () => judge(asked)))
      assert.deepEqual(new Set(verdicts.map(({ verdict }) => verdict)), new Set(['ask']))
      assert.equal(JSON.stringify(asked), before)
    })

    test('another policy gives the rules another version, the same one the same', async () => {
      const versionOf = (by: Decider): string | undefined =>
        createGate({ rules: [{ name: 'engine', then: by }] }).rules?.()?.version
      assert.equal(versionOf(await make()), versionOf(decide))
      assert.notEqual(versionOf(await makeOther()), versionOf(decide))
      assert.notEqual(versionOf(await make('ask')), versionOf(decide))
    })

    test('a policy that is wrong is refused when it is loaded, in words', async () => {
      await assert.rejects(makeWrong(), ({ code, message }: { code?: string; message: string }) => {
        assert.equal(code, 'config_invalid')
        assert.match(message, /cannot be used: ./)
        return true
      })
    })
  })
}
