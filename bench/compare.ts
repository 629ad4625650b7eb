// Compares this tree with another commit: `npm run bench -- --compare main cycle-memory`. The commit gets a worktree of its own, and both
// run the same trials in turns, each time in a new process, so that what the machine does meanwhile hits both alike. What
// counts is a bar's ratio, or the median of a variant that has no bar. A change is told with the spread of both sides; it is a
// regression if the sides do not overlap and the median grew by more than a twentieth.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { median, type Result } from './harness.ts'

const here = fileURLToPath(new URL('..', import.meta.url))
const leastChange = 1.05

/** The values of one measurement, by side. */
export type Compared = { name: string; here: number[]; there: number[] }

/** `root`: the tree that is compared. `print`: takes what is found, line by line. */
export type CompareOptions = { rounds?: number; root?: string; print?: (line: string) => void }

/** Runs the trials whose names contain one of the words. Gives 1 if one of them became slower, else 0. */
export function compareWith(
  ref: string,
  words: readonly string[],
  { rounds = 5, root = here, print = line => console.log(line) }: CompareOptions = {},
): 0 | 1 {
  const git = (...args: string[]): string => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
  const commit = git('rev-parse', '--short', `${ref}^{commit}`)
  const folder = mkdtempSync(join(tmpdir(), 'turnwire-compare-'))
  const there = join(folder, 'tree')
  git('worktree', 'add', '--quiet', '--detach', there, commit)
  try {
    for (const modules of ['node_modules', 'bench/peers/node_modules'])
      if (existsSync(join(root, modules))) symlinkSync(join(root, modules), join(there, modules))
    const found = new Map<string, Compared>()
    for (let round = 0; round < rounds; round += 1) {
      for (const [side, tree] of [
        ['here', root],
        ['there', there],
      ] as const)
        note(found, side, runTrials(tree, words, join(folder, 'results.json')))
      print(`round ${round + 1} of ${rounds}`)
    }
    print(`\n${'here'.padStart(84)}${commit.padStart(24)}`)
    const lines = [...found.values()].map(compared => describeChange(compared))
    for (const { text } of lines) print(text)
    return lines.some(({ isRegression }) => isRegression) ? 1 : 0
  } finally {
    git('worktree', 'remove', '--force', there)
    rmSync(folder, { recursive: true, force: true })
  }
}

function runTrials(tree: string, words: readonly string[], out: string): Result[] {
  rmSync(out, { force: true })
  const args = ['--expose-gc', join(tree, 'bench/run.ts'), ...words]
  // A bar that is missed is no failure here.
  const { stderr } = spawnSync(process.execPath, args, {
    cwd: tree,
    env: { ...process.env, BENCH_OUT: out },
    encoding: 'utf8',
  })
  if (!existsSync(out)) throw new Error(`The trials did not run in ${tree}: ${stderr.slice(-2_000)}`)
  return JSON.parse(readFileSync(out, 'utf8'))
}

/** Adds what one run measured. A bar's ratio counts for the variants that it compares. */
export function note(found: Map<string, Compared>, side: 'here' | 'there', results: readonly Result[]): void {
  const add = (name: string, value: number): void => {
    const compared = found.get(name) ?? { name, here: [], there: [] }
    found.set(name, compared)
    compared[side].push(value)
  }
  for (const { trial, medians, bars } of results) {
    for (const { id, ours, floor, ratio } of bars) add(`${trial}, ${id}: ${ours} / ${floor}`, ratio)
    const inBars = new Set(bars.flatMap(({ ours, floor }) => [ours, floor]))
    for (const [name, value] of Object.entries(medians))
      if (!inBars.has(name)) add(`${trial}: ${name}`, value)
  }
}

export function describeChange({ name, here, there }: Compared): { text: string; isRegression: boolean } {
  const sides = `${spread(here)}${spread(there)}`
  const shown = name.length > 60 ? `${name.slice(0, 59)}…` : name
  if (here.length === 0 || there.length === 0)
    return {
      text: `${shown.padEnd(60)}${sides}  only ${here.length > 0 ? 'here' : 'there'}`,
      isRegression: false,
    }
  const change = median(here) / median(there)
  const isSlower = change > leastChange && Math.min(...here) > Math.max(...there)
  const isQuicker = change < 1 / leastChange && Math.max(...here) < Math.min(...there)
  const verdict = isSlower ? 'SLOWER' : isQuicker ? 'quicker' : 'no change that stands out'
  return { text: `${shown.padEnd(60)}${sides}  ${change.toFixed(2)}x ${verdict}`, isRegression: isSlower }
}

function spread(values: readonly number[]): string {
  if (values.length === 0) return '–'.padStart(24)
  const [least, most] = [Math.min(...values), Math.max(...values)]
  return `${brief(median(values))} (${brief(least)}–${brief(most)})`.padStart(24)
}

function brief(value: number): string {
  return value.toLocaleString('en', { maximumSignificantDigits: 3, useGrouping: false })
}
