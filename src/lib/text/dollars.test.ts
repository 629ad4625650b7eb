import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dollars } from './dollars.ts'

test('an amount has its unit, cents where they suffice, and is never shown as nothing', () => {
  for (const [amount, words] of [
    [0, '$0.00'],
    [20, '$20.00'],
    [1234.5, '$1,234.50'],
    [1.23456, '$1.23'],
    [0.25, '$0.25'],
    [0.1 + 0.2, '$0.30'],
    [0.0123, '$0.0123'],
    [0.004, '$0.0040'],
    [0.99996, '$1.00'],
    [0.000_012_34, '$0.000012'],
  ] as const)
    assert.equal(dollars(amount), words)
})
