// Evaluations under vitest, the real one: each play is a test of it, and one that fails says why.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'

type VitestReport = {
  testResults: { assertionResults: { title: string; status: string; failureMessages: string[] }[] }[]
}

const door = (file: string): string => JSON.stringify(pathToFileURL(resolve(file)).href)

const spec = `
import { test } from 'vitest'
import { scripted, tool } from ${door('src/index.ts')}
import { evalTests } from ${door('src/testing/index.ts')}

const look = tool({ name: 'look', description: 'Looks.', input: { type: 'object' }, trust: 'trusted', run: () => 'never' })
const model = scripted([{ calls: [{ name: 'look', input: { order: 17 } }] }, { text: 'It is packed.' }])
const asked = { prompt: 'Where is 17?', tools: { look: { returns: 'packed' } } }
evalTests(
  {
    config: { agents: [{ name: 'clerk', model, tools: [look] }] },
    cases: [
      { name: 'holds', ...asked, expect: { calls: [{ tool: 'look' }], answer: 'packed' } },
      { name: 'does not hold', ...asked, expect: { answer: 'lost' } },
    ],
  },
  test,
)
`

test('each play is a test of vitest, and one that fails says why', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'evals-vitest-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'clerk.spec.ts'), spec)
  const file = join(folder, 'report.json')
  const program = resolve('node_modules/vitest/vitest.mjs')
  const args = [program, 'run', '--root', folder, '--reporter=json', `--outputFile=${file}`]
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const code = await new Promise(done => {
    execFile(process.execPath, args, { env, cwd: folder }, error => done(error?.code ?? 0))
  })
  assert.equal(code, 1)
  const { testResults } = JSON.parse(readFileSync(file, 'utf8')) as VitestReport
  const [good, bad, more] = testResults.flatMap(({ assertionResults }) => assertionResults)
  assert.deepEqual(
    [good?.title, good?.status, bad?.title, bad?.status, more],
    ['holds', 'passed', 'does not hold', 'failed', undefined],
  )
  assert.match(bad?.failureMessages[0] ?? '', /The answer is not "lost": "It is packed\."/)
})
