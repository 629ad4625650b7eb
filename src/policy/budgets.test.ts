import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Budgets } from '../engine/ports/index.ts'
import { checkBudgets, checkTurnBudget } from './budgets.ts'
import { defaultLimits } from './limits.ts'

test('budgets are taken as they are; none at all is undefined', () => {
  const budgets: Budgets = { session: { money: 0.5, then: 'ask' }, ownerMonth: { tokens: 1, calls: 2 } }
  assert.deepEqual(checkBudgets(budgets), budgets)
  assert.equal(checkBudgets({}), undefined)
})

test('approvers are taken in one form, and the limits of a turn bound its budget', () => {
  // A file may give one role as a text.
  const given = { session: { money: 1, then: 'ask', approvers: { roles: 'finance' } } } as unknown as Budgets
  assert.deepEqual(checkBudgets(given), {
    session: { money: 1, then: 'ask', approvers: { roles: ['finance'] } },
  })
  checkTurnBudget({ turn: { money: 20 } }, defaultLimits)
  assert.throws(() => checkTurnBudget({ turn: { money: 21 } }, defaultLimits), {
    code: 'config_invalid',
    message: /the limits end a turn at 20\. Raise limits\.money/,
  })
})

for (const [given, words] of [
  [{ session: { money: 1, approvers: { roles: ['x'] } } }, /budgets\.session\.approvers has a meaning only/],
  [{ turn: { money: 1, then: 'ask', approvers: { role: 'x' } } }, /unknown member "role"/],
  [{ sesion: { money: 1 } }, /no budget named "sesion"\. Did you mean "session"\?/],
  [{ session: { then: 'ask' } }, /limits nothing\. Say one of: tokens, money, calls/],
  [{ session: 5 }, /must be an object such as/],
  [{ session: { money: 0 } }, /"money" of the budget "session" must be a number above 0, not 0/],
  [{ session: { tokens: 1.5 } }, /must be a whole number from 1 up, not 1\.5/],
  [{ session: { calls: 1, then: 'stop' } }, /must be 'ask' or 'end', not "stop"/],
  [{ ownerDay: { steps: 1 } }, /no limit of the budget "ownerDay" named "steps"/],
] as const)
  test(`${JSON.stringify(given)} is refused`, () => {
    // A configuration file can hold anything, whatever the type says.
    assert.throws(() => checkBudgets(given as unknown as Budgets), { code: 'config_invalid', message: words })
  })
