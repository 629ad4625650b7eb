// turnwire eval: files of evaluations, their reports and exit codes.
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { folder, turnwire } from './rig.ts'

const place = (file: string): string => pathToFileURL(join(import.meta.dirname, '../../src', file)).href
const config = `
import { defineConfig, scripted, tool } from '${place('index.ts')}'
const pay = tool({ name: 'pay', description: 'Pays.', input: { type: 'object' }, trust: 'ask', run: () => 'paid' })
export default defineConfig({
  agents: [{ name: 'clerk', model: scripted([{ calls: [{ name: 'pay', input: { amount: 5 } }] }, { text: 'Paid.' }]), tools: [pay] }],
})
`
const evals = (answer: string): string => `
import { defineEvals } from '${place('testing/index.ts')}'
export default defineEvals({
  cases: [{ name: 'pays', prompt: 'Pay.', tools: { pay: { returns: 'ok' } }, expect: { asks: ['pay'], answer: '${answer}' } }],
})
`

test('files are played, with a table, JUnit, JSON and an exit code', t => {
  const cwd = folder(t)
  mkdirSync(join(cwd, 'evals'))
  const put = (name: string, text: string): void => writeFileSync(join(cwd, name), text)
  put('turnwire.config.ts', config)
  put('evals/a.ts', evals('Paid'))
  put('evals/b.ts', evals('Refused'))
  const good = turnwire(['eval', 'evals/a.ts'], { cwd })
  assert.equal(good.stdout, 'evals/a.ts\npass  pays    2 steps\n1 of 1 passed, 0 tokens\n', good.stderr)
  assert.equal(good.code, 0)
  const both = turnwire(['eval', 'evals/a.ts', 'evals/b.ts', '--junit', 'out.xml', '--json'], { cwd })
  assert.equal(both.code, 1)
  assert.deepEqual(
    both.stdout
      .trim()
      .split('\n')
      .map(line => (JSON.parse(line) as { ok: boolean }).ok),
    [true, false],
  )
  assert.match(readFileSync(join(cwd, 'out.xml'), 'utf8'), /tests="2" failures="1"/)
  const unwritten = turnwire(['eval', 'evals/a.ts', '--junit', 'missing/out.xml'], { cwd })
  assert.deepEqual([unwritten.code, unwritten.stdout], [2, good.stdout])
  assert.match(unwritten.stderr, /^missing\/out\.xml cannot be written: [^\n]*ENOENT[^\n]*\n$/)
  assert.match(turnwire(['eval'], { cwd }).stderr, /Say which files: .*turnwire eval evals\/\*\.ts/)
})
