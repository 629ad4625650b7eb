// `--write`: the table of docs/operations/performance.md, made from what was measured. The numbers are kept in measured.json, by
// trial, so that a run of a few trials replaces only their rows. The text around the table is written by hand.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { formatMedian, type Result } from './harness.ts'
import { here } from './served.ts'

/** `order`: where the trial stands among all. `failed`: why it could not be measured. */
export type MeasuredTrial = { order: number; at: string; commit: string; results?: Result[]; failed?: string }
export type Measured = Record<string, MeasuredTrial>

const file = here('measured.json')
const page = here('../docs/operations/performance.md')
const marks = { from: '<!-- measured: from -->', to: '<!-- measured: to -->' }

function readMeasured(): Measured {
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Measured) : {}
}

/** Keeps what a trial gave, and writes the page anew. */
export function keepMeasured(
  name: string,
  order: number,
  given: Pick<MeasuredTrial, 'results' | 'failed'>,
): void {
  const measured = readMeasured()
  measured[name] = { order, at: new Date().toISOString().slice(0, 16), commit: currentCommit(), ...given }
  writeFileSync(file, `${JSON.stringify(measured, null, 2)}\n`)
  writeFileSync(page, withTable(readFileSync(page, 'utf8'), describeRun(measured) + measuredTable(measured)))
}

function currentCommit(): string {
  return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: here('..'), encoding: 'utf8' }).trim()
}

/** The text of the page with `table` in place of the one that it has. */
export function withTable(text: string, table: string): string {
  const [from, to] = [text.indexOf(marks.from), text.indexOf(marks.to)]
  if (from < 0 || to < from) throw new Error(`The page needs the marks ${marks.from} and ${marks.to}.`)
  return `${text.slice(0, from + marks.from.length)}\n\n${table}\n${text.slice(to)}`
}

function describeRun(measured: Measured): string {
  const trials = Object.values(measured)
  const times = trials.map(({ at }) => at).sort()
  const commits = [...new Set(trials.map(({ commit }) => commit))]
  const versions = peerVersions()
  return [
    `Node ${process.versions.node}, ${cpus().length} cores, ${times[0]} to ${times.at(-1)} UTC, commit ${commits.join(', ')}.`,
    versions.length === 0 ? 'No peers were installed.' : `Peers: ${versions.join(', ')}.`,
    '\n\n',
  ].join(' ')
}

function peerVersions(): string[] {
  const folder = here('peers/package.json')
  const { dependencies = {} } = JSON.parse(readFileSync(folder, 'utf8')) as {
    dependencies?: Record<string, string>
  }
  return Object.keys(dependencies).flatMap(name => {
    const installed = here(`peers/node_modules/${name}/package.json`)
    if (!existsSync(installed)) return []
    return `${name} ${(JSON.parse(readFileSync(installed, 'utf8')) as { version: string }).version}`
  })
}

const heading = `| bar | trial | floor | ours | ratio | at most | |
|---|---|---|---|---|---|---|`

/** One row for each bar. */
export function measuredTable(measured: Measured): string {
  const trials = Object.entries(measured).sort(([, one], [, other]) => one.order - other.order)
  const rows = trials.flatMap(([name, { results = [], failed }]) =>
    failed === undefined
      ? results.flatMap(result => result.bars.map(bar => barRow(result, bar)))
      : [`| | ${cell(name)} | | | | | not measured: ${cell(failed)} |`],
  )
  return `${[heading, ...rows].join('\n')}\n`
}

function barRow({ trial, unit, medians }: Result, bar: Result['bars'][0]): string {
  const { id, ours, floor, most, ratio, met } = bar
  const show = (name: string): string =>
    medians[name] === undefined ? '' : ` ${formatMedian(medians[name], unit)}`
  const verdict = met ? 'met' : ratio <= most * 1.25 ? 'missed, within a quarter' : '**missed**'
  const bound = Number(most.toFixed(2))
  const cells = [
    id,
    trial,
    `${floor}${show(floor)}`,
    `${ours}${show(ours)}`,
    ratio.toFixed(2),
    bound,
    verdict,
  ]
  return `| ${cells.map(each => cell(String(each))).join(' | ')} |`
}

function cell(text: string): string {
  return text.replace(/\s+/g, ' ').replaceAll('|', '\\|').slice(0, 200)
}
