import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toolVerdict } from './tool-verdict.ts'

test('a rule that denies or allows counts before trust, and trust where no rule decides', () => {
  assert.deepEqual(toolVerdict({ verdict: 'deny', rule: 'no-pay' }, true), {
    verdict: 'deny',
    isCertain: true,
  })
  assert.deepEqual(toolVerdict({ verdict: 'allow', rule: 'free' }, false), {
    verdict: 'allow',
    isCertain: true,
  })
  for (const [isTrusted, verdict] of [
    [true, 'allow'],
    [false, 'ask'],
  ] as const) {
    assert.equal(toolVerdict({ verdict: 'ask', rule: 'operator-trust' }, isTrusted).verdict, verdict)
    assert.equal(toolVerdict(undefined, isTrusted).verdict, verdict)
  }
  assert.deepEqual(toolVerdict({ verdict: 'deny', rule: 'operator-trust' }, true).verdict, 'deny')
})

test('a rule with a condition makes it uncertain', () => {
  const unless = [{ rule: 'big', verdict: 'ask' as const }]
  assert.deepEqual(toolVerdict({ verdict: 'allow', rule: 'free', unless }, false), {
    verdict: 'allow',
    isCertain: false,
  })
})
