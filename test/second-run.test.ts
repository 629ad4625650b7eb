// scripts/test.mjs, run in a folder of its own with test files that fail once, always or never.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const script = fileURLToPath(new URL('../scripts/test.mjs', import.meta.url))

const passing = `import { test } from 'node:test'
test('holds', () => {})`
const failing = `import { test } from 'node:test'
test('never holds', () => { throw new Error('always wrong') })`
const ending = `import { test } from 'node:test'
test('ends its process', () => { process.exit(3) })`
const failingOnce = `import { existsSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
test('holds the second time', () => {
  if (existsSync('mark')) return
  writeFileSync('mark', '')
  throw new Error('wrong at first')
})`

function runTests(files: Record<string, string>, words: string[] = []) {
  const folder = mkdtempSync(join(tmpdir(), 'second-run-'))
  try {
    mkdirSync(join(folder, 'test'))
    mkdirSync(join(folder, 'src'))
    for (const [name, text] of Object.entries(files))
      writeFileSync(join(folder, name.includes('/') ? '' : 'test', `${name}.test.ts`), text)
    return spawnSync(process.execPath, [script, ...words], { cwd: folder, encoding: 'utf8' })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

test('a file that fails once and passes alone is told as flaky with its first error, and the run succeeds', () => {
  const { status, stdout } = runTests({ passing, once: failingOnce })
  assert.equal(status, 0, stdout)
  assert.match(stdout, /Flaky, passed when run alone: 1\n {2}test\/once\.test\.ts\n.*wrong at first/)
  assert.match(stdout, /\n2 passed, 0 failed, 0 skipped\n$/)
})

test('a file that fails twice, or ends its process, fails the run', () => {
  for (const broken of [failing, ending]) {
    const { status, stdout } = runTests({ passing, broken })
    assert.equal(status, 1, stdout)
    assert.doesNotMatch(stdout, /Flaky/)
    assert.match(stdout, /\n1 passed, 1 failed, 0 skipped\n$/)
  }
})

test('where many files fail, none is run again', () => {
  const files = Array.from({ length: 21 }, (_, n) => [`broken-${n}`, `${failing}\nprocess.title = 'own'`])
  const { status, stdout } = runTests(Object.fromEntries(files))
  assert.equal(status, 1, stdout)
  assert.match(stdout, /\n21 files failed: none is run again\.\n/)
  assert.match(stdout, /\n0 passed, 21 failed, 0 skipped\n$/)
})

test('a narrowed run has no second one, and every run names its slowest files', () => {
  const { status, stdout } = runTests({ once: failingOnce }, ['once'])
  assert.equal(status, 1, stdout)
  assert.match(stdout, /The ten slowest files:\n +[\d.]+ s {2}test\/once\.test\.ts\n/)
})

const sharing = `import { test } from 'node:test'
Array.opened = (Array.opened ?? 0) + 1
test('is the ' + Array.opened, () => {})`

test('unit tests share a process, and one that touches the process has its own', () => {
  const own = sharing.replace('test(', 'if (process.pid) test(')
  const files = { 'src/a': sharing, 'src/b': sharing, 'src/c': own }
  const { status, stdout } = runTests(files)
  assert.equal(status, 0, stdout)
  assert.equal(stdout.match(/✔ is the 1/g)?.length, 2, stdout)
  assert.match(stdout, /✔ is the 2/)
  assert.match(stdout, /src\/a\.test\.ts … src\/b\.test\.ts \(2 files in one process\)/)
  assert.match(stdout, /\n3 passed, 0 failed, 0 skipped\n$/)
  // A narrowed run gives each file a process.
  assert.equal(runTests(files, ['src']).stdout.match(/✔ is the 1/g)?.length, 3)
})

test('when a file fails beside others, all of them are run alone, and the one that failed is named', () => {
  const flaky = runTests({ 'src/a': passing, 'src/b': failingOnce })
  assert.equal(flaky.status, 0, flaky.stdout)
  assert.match(flaky.stdout, /Flaky, passed when run alone: 1\n {2}src\/b\.test\.ts\n.*wrong at first/)
  assert.match(flaky.stdout, /\n2 passed, 0 failed, 0 skipped\n$/)
  for (const broken of [failing, ending]) {
    const { status, stdout } = runTests({ 'src/a': passing, 'src/b': broken })
    assert.equal(status, 1, stdout)
    assert.match(stdout, /\n1 passed, 1 failed, 0 skipped\n$/)
  }
})

test('a file without tests of its own reports itself, and the run succeeds', () => {
  const { status, stdout } = runTests({
    passing,
    helpers: 'export const one = 1',
    more: 'export const two = 2',
  })
  assert.equal(status, 0, stdout)
  assert.doesNotMatch(stdout, /reported nothing/)
  assert.match(stdout, /\n1 passed, 0 failed, 0 skipped\n$/)
})
