// Conditions of rules as data: read narrowly where they let a call through, widely where they hold one back.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EarlierCall } from '../language/policy.ts'
import type { Json } from '../lib/json/index.ts'
import {
  type ArgumentConditions,
  argumentsMatcher,
  checkArguments,
  checkEarlier,
  earlierMatcher,
} from './conditions.ts'

const narrow = (conditions: ArgumentConditions, input: Json): boolean =>
  argumentsMatcher(conditions, 'narrow')({ input })
const wide = (conditions: ArgumentConditions, input: Json): boolean =>
  argumentsMatcher(conditions, 'wide')({ input })

test('a rule that allows must name every argument; one that holds back need not', () => {
  assert.equal(narrow({ to: 'ana' }, { to: 'ana' }), true)
  assert.equal(narrow({ to: 'ana' }, { to: 'ana', bcc: 'eve' }), false)
  assert.equal(wide({ to: 'ana' }, { to: 'ana', bcc: 'eve' }), true)
})

test('of a list, all elements must match to be let through, and one is enough to be held back', () => {
  const to = { to: ['ana', 'ben'] }
  assert.equal(narrow(to, { to: ['ana', 'ben'] }), true)
  assert.equal(narrow(to, { to: ['ana', 'eve'] }), false)
  assert.equal(narrow(to, { to: [] }), false)
  assert.equal(wide(to, { to: ['eve', 'ana'] }), true)
  assert.equal(wide(to, { to: ['eve'] }), false)
})

test('case, and numbers written as texts, help no call past a rule that holds back', () => {
  assert.equal(wide({ to: '*@press.example' }, { to: 'Ana@PRESS.example' }), true)
  assert.equal(narrow({ to: 'ana' }, { to: 'ANA' }), false)
  assert.equal(wide({ amount: { above: 100 } }, { amount: '500' }), true)
  assert.equal(narrow({ amount: { below: 100 } }, { amount: '5' }), false)
  assert.equal(narrow({ amount: { below: 100 } }, { amount: 5 }), true)
  assert.equal(narrow({ amount: { below: 100 } }, {}), false)
})

test('"not" turns the width round, so that doubt never lets a call through', () => {
  const outside = { to: { not: '*@house.example' } }
  assert.equal(wide(outside, { to: ['a@house.example', 'eve@else.example'] }), true)
  assert.equal(wide(outside, { to: 'a@house.example' }), false)
  const notPress = { to: { not: '*@press.example' } }
  assert.equal(narrow(notPress, { to: 'ana@PRESS.example' }), false)
  assert.equal(narrow(notPress, { to: 'ana@house.example' }), true)
})

test('members of objects, absent arguments and inherited names are read as what they are', () => {
  assert.equal(wide({ 'card.number': '4*' }, { card: { number: '41' } }), true)
  assert.equal(wide({ 'card.number': { exists: true } }, { card: 'none' }), false)
  assert.equal(wide({ constructor: { exists: true } }, {}), false)
  assert.equal(wide({ input: 'rm *' }, 'rm -rf'), true)
  assert.equal(narrow({ force: { exists: false } }, {}), true)
  assert.equal(narrow({ list: { is: [1, 2] } }, { list: [1, 2] }), true)
  assert.equal(narrow({ list: { is: [1, 2] } }, { list: [2, 1] }), false)
})

test('earlier calls are counted by tool, outcome and place', () => {
  const turn: EarlierCall[] = [{ id: 'b', tool: 'web_read', outcome: 'ok' }]
  const session: EarlierCall[] = [{ id: 'a', tool: 'web_find', outcome: 'error' }, ...turn]
  const holds = (...[condition]: Parameters<typeof earlierMatcher>): boolean =>
    earlierMatcher(condition)({ history: { turn, session } })
  assert.equal(holds({ tool: 'web_*' }), true)
  assert.equal(holds({ tool: 'web_find' }), false)
  assert.equal(holds({ tool: 'web_find', in: 'session' }), true)
  assert.equal(holds({ tool: 'web_find', in: 'session', outcome: 'ok' }), false)
  assert.equal(holds({ atLeast: 2 }), false)
  assert.equal(holds({ in: 'session', atLeast: 2, outcome: ['ok', 'error'] }), true)
})

test('conditions that are written wrong are refused', () => {
  const refused: [unknown, RegExp][] = [
    [{}, /must be an object such as/],
    [{ to: '' }, /args\.to must be a pattern that is not empty/],
    [{ to: [] }, /must list at least one/],
    [{ to: { over: 5 } }, /unknown member "over"/],
    [{ to: { above: '5' } }, /args\.to\.above must be a number/],
    [{ to: { not: {} } }, /args\.to\.not must hold at least one/],
  ]
  for (const [conditions, words] of refused) assert.throws(() => checkArguments(conditions, 'args'), words)
  assert.throws(() => checkEarlier({ outcome: 'fine' }, 'after'), /after\.outcome must be one of/)
  assert.throws(() => checkEarlier({ atLeast: 0 }, 'after'), /after\.atLeast must be a whole number/)
  assert.throws(() => checkEarlier({ tools: 'x' }, 'after'), /unknown member "tools"/)
})
