// Random small grammars and texts, checked by us and by the reference implementation of Lark, if it is installed.
// Zero-width terminals are left out, because Lark refuses them and we accept them. So are grammars on which Lark takes
// too long (cycles of empty rules).

import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import { compileGrammar } from './index.ts'

const PYTHON = '/usr/bin/python3'
const SEED = 20_251_115
const GRAMMARS = 100

const JUDGE = `
import json, signal, sys
from lark import Lark
from lark.exceptions import LarkError, UnexpectedInput

class Slow(BaseException):
    pass

def give_up(*_):
    raise Slow()

def soon(work, otherwise):
    signal.setitimer(signal.ITIMER_REAL, 0.25)
    try:
        return work()
    except Slow:
        return otherwise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)

def build(grammar):
    try:
        return Lark(grammar, parser="earley", lexer="dynamic_complete", ambiguity="forest")
    except LarkError:
        return None

def judge(parser, text):
    try:
        parser.parse(text)
        return True
    except UnexpectedInput:
        return False

signal.signal(signal.SIGALRM, give_up)
out = []
for case in json.load(sys.stdin):
    parser = soon(lambda: build(case["grammar"]), None)
    out.append([None if parser is None else soon(lambda: judge(parser, text), None) for text in case["texts"]])
json.dump(out, sys.stdout)
`

const RULES = ['start', 'one', 'two', 'three']
const LEAVES = ['"a"', '"b"', '"ab"', '"c"i', '/[ab]+/', '/a?b/', '/b+c?/', '"a".."c"', 'WORDS', 'PAIR']
const SUFFIXES = ['', '', '', '?', '*', '+', '~2', '~1..2']

const expression = fc.letrec<{ node: string; group: string; leaf: string }>(tie => ({
  leaf: fc
    .tuple(
      fc.oneof(fc.constantFrom(...LEAVES), fc.constantFrom(...RULES.slice(1))),
      fc.constantFrom(...SUFFIXES),
    )
    .map(([leaf, suffix]) => leaf + suffix),
  group: fc
    .tuple(tie('node'), tie('node'), fc.constantFrom(...SUFFIXES, 'optional'))
    .map(([a, b, suffix]) => (suffix === 'optional' ? `[${a} | ${b}]` : `(${a} | ${b})${suffix}`)),
  node: fc
    .array(fc.oneof({ maxDepth: 1 }, tie('leaf'), tie('leaf'), tie('group')), {
      minLength: 1,
      maxLength: 2,
    })
    .map(parts => parts.join(' ')),
})).node

const rule = fc
  .tuple(fc.array(expression, { minLength: 1, maxLength: 2 }), fc.boolean())
  .map(([alternatives, empty]) => [...alternatives, ...(empty ? [''] : [])].join(' | '))

const grammar = fc
  .tuple(fc.tuple(rule, rule, rule, rule), fc.boolean())
  .map(([bodies, ignores]) =>
    [
      ...bodies.map((body, index) => `${RULES[index]}: ${body}`),
      'WORDS: PAIR+ | "c" "c"',
      'PAIR: ("a" | /b/) "c"',
      ...(ignores ? ['%ignore " "'] : []),
      '',
    ].join('\n'),
  )

const text = fc
  .array(fc.constantFrom('a', 'b', 'c', 'C', 'ab', 'bc', ' '), { maxLength: 6 })
  .map(parts => parts.join(''))
const cases = fc.record({ grammar, texts: fc.array(text, { minLength: 12, maxLength: 12 }) })

function missing(): string | false {
  if (!existsSync(PYTHON)) return `${PYTHON} is not there`
  const found = spawnSync(PYTHON, ['-c', 'import lark'])
  return found.status === 0 ? false : `${PYTHON} cannot import lark (Debian package python3-lark)`
}

test('our verdicts equal those of the reference implementation of Lark', { skip: missing() }, () => {
  const samples = fc.sample(cases, { seed: SEED, numRuns: GRAMMARS })
  const output = execFileSync(PYTHON, ['-c', JUDGE], {
    input: JSON.stringify(samples),
    maxBuffer: 64 * 1024 * 1024,
  })
  const verdicts: (boolean | null)[][] = JSON.parse(output.toString())
  let accepted = 0
  let refused = 0
  samples.forEach((sample, index) => {
    const recogniser = compileGrammar('lark', sample.grammar)
    sample.texts.forEach((candidate, at) => {
      const theirs = verdicts[index]?.[at] ?? null
      if (theirs === null) return
      const ours = recogniser.match(candidate) === null
      if (ours) accepted += 1
      else refused += 1
      assert.equal(ours, theirs, `${JSON.stringify(candidate)} against\n${sample.grammar}`)
    })
  })
  assert.ok(accepted > 200 && refused > 200, `both verdicts are common: ${accepted} and ${refused}`)
})
