import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { beforeEach, test } from 'node:test'
import { checkGrammar, grammarProblem, judgeGrammar, schemaChecker } from './index.ts'

// The loop gives checks new time when it turns.
beforeEach(() => new Promise(resolve => setImmediate(resolve)))

/** Milliseconds of CPU on this thread before the call gives its promise or value. */
function cpuOf(run: () => unknown): { ms: number; given: unknown } {
  const before = process.threadCpuUsage()
  const given = run()
  const { user, system } = process.threadCpuUsage(before)
  return { ms: (user + system) / 1000, given }
}

/** A text of a and b without a pattern. */
function scattered(length: number): string {
  let text = ''
  for (let n = 0, seed = 1; n < length; n++) {
    seed = (seed * 1_103_515_245 + 12_345) & 0x7fffffff
    text += seed & 0x10000 ? 'a' : 'b'
  }
  return text
}

const rules = (count: number): string =>
  [
    `start: ${Array.from({ length: count }, (_, n) => `r${n}`).join(' | ')}`,
    ...Array.from({ length: count }, (_, n) => `r${n}: "k${n}" /[a-z]+/ r${(n + 1) % count}?`),
  ].join('\n')

test('a small check is done at once', () => {
  const checker = schemaChecker({ type: 'object', required: ['a'] })
  assert.equal(checker.check({ a: 1 }, '{"a":1}', 'ann'), null)
  assert.deepEqual(checker.check({}, '{}', 'ann'), [
    { path: '', message: 'is missing the required property "a"' },
  ])
  assert.equal(checkGrammar('lark', 'start: "a"+', 'aaa', 'ann'), null)
})

test('a large honest text is checked, in a thread where it costs much', async () => {
  const patch = readFileSync(new URL('../grammar/fixtures/apply-patch.lark', import.meta.url), 'utf8')
  const lines = `+${'x'.repeat(80)}\n`.repeat(2_000)
  const text = `*** Begin Patch\n*** Add File: a.txt\n${lines}*** End Patch\n`
  assert.equal(await checkGrammar('lark', patch, text, 'ann'), null)
  const broken = await checkGrammar('lark', patch, text.replace('*** End', '*** Fin'), 'ann')
  assert.ok(broken !== null && 'line' in broken && broken.line === 2_003)
  assert.equal(await checkGrammar('regex', '[\\s\\S]{0,1000}', 'a'.repeat(900), 'ann'), null)
})

for (const [what, syntax, definition, text] of [
  ['an ambiguous grammar', 'lark', 'start: s\ns: s s | "a" | s s s', 'a'.repeat(20_000)],
  ['an expression with a large automaton', 'regex', '.*a.{18}', scattered(20_000)],
  ['an expression that is large once it is written out', 'regex', '(a{30}){30}', 'a'],
  ['a grammar of 1,500 rules', 'lark', rules(1_500), 'k1abc'],
] as const)
  test(`${what} does not hold the thread that asks`, async () => {
    const spent: number[] = []
    // The first time, code is compiled while it runs. Whatever else the machine does only adds: the best counts.
    for (let attempt = 0; attempt < 5 && !spent.some(ms => ms < 50); attempt += 1) {
      await new Promise(resolve => setImmediate(resolve))
      const { ms, given } = cpuOf(() => checkGrammar(syntax, definition, text, 'ann'))
      assert.ok(given instanceof Promise)
      spent.push(ms)
      await given
    }
    assert.ok(Math.min(...spent) < 50, `${spent.join(', ')} ms`)
  })

test('the schema or grammar that a thread finds unusable is named as one that is found so here', async () => {
  const properties = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`p${n}`, { type: 'string' }]))
  const bad = schemaChecker({ type: 'object', properties, minProperties: 'x' })
  await assert.rejects(async () => bad.check({}, '{}', 'ann'), {
    name: 'SchemaError',
    message: /not valid JSON Schema/,
  })
  const broken = `${rules(300)}\nlast: missing`
  await assert.rejects(async () => checkGrammar('lark', broken, 'k1a', 'ann'), {
    name: 'GrammarError',
    message: /the rule missing is not defined/,
  })
})

test('whether a large grammar can be used is known once it has been judged', async () => {
  const [sound, broken] = [`${rules(400)}\n`, `${rules(400)}\nlast: missing`]
  for (const definition of [sound, broken]) {
    assert.equal(grammarProblem('lark', definition), undefined)
    await judgeGrammar('lark', definition, 'ann')
  }
  assert.equal(grammarProblem('lark', sound), null)
  assert.match(grammarProblem('lark', broken) ?? '', /the rule missing is not defined/)
  assert.equal(judgeGrammar('lark', sound, 'ann'), undefined)
  assert.match(grammarProblem('lark', 'begin: "a"') ?? '', /no rule named start/)
})
