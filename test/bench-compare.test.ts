import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type Compared, compareWith, describeChange, note } from '../bench/compare.ts'

const compared = (here: number[], there: number[]): Compared => ({ name: 'a cycle', here, there })

test('a trial is slower only if its spread does not overlap with that of the other commit', () => {
  assert.ok(describeChange(compared([12, 13, 14], [9, 10, 11])).isRegression)
  assert.match(describeChange(compared([12, 13, 14], [9, 10, 11])).text, /13 \(12–14\).*1\.30x SLOWER/)
  assert.equal(describeChange(compared([10, 13, 14], [9, 10, 11])).isRegression, false)
  // Less than a twentieth is not told apart from noise.
  assert.equal(describeChange(compared([10.4, 10.4, 10.4], [10, 10, 10])).isRegression, false)
})

test('a trial that became quicker, or is in one commit alone, is no regression', () => {
  assert.match(describeChange(compared([5, 6, 5], [9, 10, 11])).text, /0\.50x quicker/)
  const added = describeChange(compared([5, 6, 5], []))
  assert.match(added.text, /only here/)
  assert.equal(added.isRegression, false)
})

test('what a bar compares counts as its ratio, everything else as its median', () => {
  const found = new Map<string, Compared>()
  const bar = { id: 'P1', ours: 'turnwire', floor: 'bare loop', most: 5, ratio: 4, met: true }
  for (const side of ['here', 'there'] as const)
    note(found, side, [{ trial: 'cycle', medians: { 'bare loop': 10, turnwire: 40, pi: 100 }, bars: [bar] }])
  assert.deepEqual(
    [...found.values()],
    [
      { name: 'cycle, P1: turnwire / bare loop', here: [4], there: [4] },
      { name: 'cycle: pi', here: [100], there: [100] },
    ],
  )
})

/** A repository whose trials cost what its one file says. The commit says 10. */
function repository(t: TestContext): {
  root: string
  cost: (now: string) => void
  worktrees: () => string[]
} {
  const root = mkdtempSync(join(tmpdir(), 'turnwire-compared-'))
  t.after(() => rmSync(root, { recursive: true }))
  const git = (...args: string[]): string => execFileSync('git', args, { cwd: root, encoding: 'utf8' })
  const cost = (now: string): void => {
    // Word by word, as the trials are told which of them to run.
    const program = `import { writeFileSync } from 'node:fs'
const results = process.argv.slice(2).map(trial => ({ trial, medians: { turnwire: ${now} }, bars: [] }))
writeFileSync(process.env.BENCH_OUT, JSON.stringify(results))
process.exit(1)`
    writeFileSync(join(root, 'bench/run.ts'), program)
  }
  mkdirSync(join(root, 'bench'))
  cost('10')
  git('init', '--quiet')
  git('add', '.')
  const author = ['-c', 'user.name=Ann', '-c', 'user.email=ann@example.org']
  git(...author, 'commit', '--quiet', '--message', 'Trials that cost 10')
  return { root, cost, worktrees: () => git('worktree', 'list').trim().split('\n') }
}

test('a tree is compared with a commit in a worktree, which is gone afterwards', t => {
  const { root, cost, worktrees } = repository(t)
  const compare = (): { code: number; lines: string[] } => {
    const lines: string[] = []
    const print = (line: string): void => void lines.push(line)
    return { code: compareWith('HEAD', ['one', 'two'], { rounds: 2, root, print }), lines }
  }
  const same = compare()
  assert.equal(same.code, 0)
  assert.equal(same.lines.filter(line => line.includes('no change that stands out')).length, 2)

  cost("trial === 'two' ? 20 : 10")
  const slower = compare()
  assert.equal(slower.code, 1)
  assert.deepEqual(
    slower.lines.filter(line => line.includes('SLOWER')).map(line => line.slice(0, 14)),
    ['two: turnwire '],
  )
  assert.equal(worktrees().length, 1)
})

test('trials that do not run are no comparison', t => {
  const { root, cost, worktrees } = repository(t)
  cost('nowhere')
  assert.throws(() => compareWith('HEAD', ['one'], { rounds: 1, root }), /did not run in .*nowhere/s)
  assert.equal(worktrees().length, 1)
})
