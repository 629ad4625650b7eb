// The version of rules is a hash of what they say.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rulesVersion } from './version.ts'

test('the version is the same for the same rules and another for any change, order and flow control included', () => {
  const ask = { tool: 'a', then: 'ask' } as const
  const deny = { tool: 'b', then: 'deny' } as const
  const base = rulesVersion([ask, deny], undefined)
  assert.equal(rulesVersion([{ then: 'ask', tool: 'a' }, deny], undefined), base)
  const others = [
    rulesVersion([deny, ask], undefined),
    rulesVersion([{ ...ask, reason: 'x' }, deny], undefined),
    rulesVersion([ask, deny], {}),
  ]
  assert.equal(new Set([base, ...others]).size, 4)
})

test('a function counts with its text and with the version that it carries', () => {
  const make = (version: string) => Object.assign(() => 'ask' as const, { version })
  const version = (then: ReturnType<typeof make>): string => rulesVersion([{ then }], undefined)
  assert.equal(version(make('1')), version(make('1')))
  assert.notEqual(version(make('1')), version(make('2')))
  const whenOne = rulesVersion([{ when: () => true, then: 'deny' }], undefined)
  assert.notEqual(whenOne, rulesVersion([{ when: () => false, then: 'deny' }], undefined))
})
