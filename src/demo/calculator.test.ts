import assert from 'node:assert/strict'
import { test } from 'node:test'
import { calculate } from './calculator.ts'

test('arithmetic as at school', () => {
  const cases: [string, number][] = [
    ['1 + 2 * 3', 7],
    ['(1 + 2) × 3', 9],
    ['2 ^ 3 ^ 2', 512],
    ['-2 ^ 2', -4],
    ['7 % 4 - 10 ÷ 4', 0.5],
    ['sqrt(16) + abs(-3) + round(2.6)', 10],
    ['0.1 + 0.2', 0.3],
    ['1.5e3 / .5', 3000],
    ['2 * pi', 6.28318530718],
  ]
  for (const [expression, value] of cases) assert.equal(calculate(expression), value, expression)
})

test('what is no arithmetic is refused, and nothing is run', () => {
  for (const expression of [
    '',
    '1 +',
    '(1',
    '1 2',
    '1 / 0',
    'process.exit(1)',
    'constructor(1)',
    'sqrt 4',
    '1..2',
    `${'('.repeat(500)}1`,
    `${'-'.repeat(500)}1`,
  ])
    assert.throws(() => calculate(expression), Error, expression)
})
