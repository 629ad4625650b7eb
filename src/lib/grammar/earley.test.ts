// The recogniser on recursion, ambiguity, empty symbols and large texts: it is right, or reports a spent budget.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recognise } from './earley.ts'
import { compileGrammar } from './index.ts'
import { parseLark } from './lark-parser.ts'
import { toProductions } from './productions.ts'

const LONG = 100_000
const STEPS = 10_000_000

function run(definition: string, text: string, maxSteps = STEPS): ReturnType<typeof recognise> {
  return recognise(toProductions(parseLark(definition), 100_000), text, maxSteps)
}

function accepts(definition: string, text: string, maxSteps = STEPS): boolean {
  return run(definition, text, maxSteps).kind === 'accepted'
}

test('left, right and nested recursion takes linear time', () => {
  const shapes = [
    'start: start "x" | "x"',
    'start: "x" start | "x"',
    'start: "x" start |',
    'start: start "x" |',
    'start: a\na: "x" b\nb: a |',
    'start: "x"+',
    'start: ("x"?)+',
    'start: (("x"*)*)*',
    'start: /x*/ /x*/ /x*/',
    'start: X\nX: (("x"*)*)*',
  ]
  for (const shape of shapes) {
    assert.equal(run(shape, 'x'.repeat(LONG), 30 * LONG).kind, 'accepted', shape)
    assert.deepEqual(
      { ...run(shape, `${'x'.repeat(1_000)}y`), terminals: [], steps: 0 },
      { kind: 'refused', offset: 1_000, terminals: [], mayEnd: true, steps: 0 },
      shape,
    )
  }
})

test('deep nesting does not use the stack', () => {
  const depth = LONG / 2
  const definition = 'start: "(" start ")" | "[" start "]" | '
  assert.ok(accepts(definition, `${'(['.repeat(depth)}${'])'.repeat(depth)}`))
  assert.ok(!accepts(definition, `${'('.repeat(depth)}]`))
})

test('ambiguous and cyclic rules are recognised', () => {
  const ambiguous = 'start: a\na: a a | "x" |'
  assert.ok(accepts(ambiguous, ''))
  assert.ok(accepts(ambiguous, 'x'.repeat(50)))
  assert.ok(!accepts(ambiguous, 'xxy'))
  assert.ok(accepts('start: a\na: a | a | "x"', 'x'))
  assert.ok(!accepts('start: a\na: a | a | "x"', 'xx'))
  assert.ok(accepts('start: a b\na: b | "x"\nb: a | ', 'xx'))
  assert.ok(accepts('start: a*\na: b*\nb: a? "y"?', 'yyy'))
  assert.ok(accepts('start: e\ne: e e e | "a" | ', 'aaaaaaa'))
})

test('an empty symbol advances items that wait for it before and after it is found', () => {
  assert.ok(accepts('start: a b a\na: b\nb: c c\nc: ', ''))
  assert.ok(accepts('start: a "x" a\na: b b\nb: | "y"', 'x'))
  assert.ok(accepts('start: a "x" a\na: b b\nb: | "y"', 'yyxy'))
  assert.ok(!accepts('start: a "x" a\na: b b\nb: | "y"', 'yyyx'))
})

test('recognition stops when the budget is spent, and the mismatch says so', () => {
  const spent = run('start: a\na: a a | "x" |', 'x'.repeat(LONG))
  assert.equal(spent.kind, 'spent')
  const mismatch = compileGrammar('lark', 'start: a\na: a a | "x"', { maxSteps: 1_000 }).match(
    'x'.repeat(100),
  )
  assert.ok(mismatch && mismatch.offset > 0 && mismatch.offset < 100)
  assert.deepEqual(mismatch.expected, [])
  assert.match(mismatch.message, /more than 1000 steps/)
})

test('the budget also limits the states of a terminal', () => {
  let seed = 1
  const text = Array.from({ length: LONG }, () => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0
    return (seed >>> 16) % 2 === 0 ? 'a' : 'b'
  }).join('')
  assert.equal(run('start: /(a|b)*a(a|b){300}c/', text).kind, 'spent')
})
