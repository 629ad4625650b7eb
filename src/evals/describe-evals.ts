// The report of evaluations: a table for people, JUnit's XML for build servers.
import { dollars } from '../lib/text/dollars.ts'
import { toJunit } from '../lib/text/junit.ts'
import type { Played } from './play.ts'
import type { EvalReport } from './run-evals.ts'

function describeVariant({ variant: { model, policy } }: Pick<Played, 'variant'>): string {
  return [model, policy].filter(each => each !== undefined).join(', ')
}

/** One row for each case and variant, then what failed, then the sum. */
export function describeEvals(report: EvalReport): string[] {
  const groups = Map.groupBy(report.plays, play => JSON.stringify([play.name, describeVariant(play)]))
  const rows = [...groups.values()].map(describeGroup)
  const widths = [0, 1, 2, 3].map(column => Math.max(...rows.map(row => row[column]?.length ?? 0)))
  const lines = rows.map(row =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
  const failures = report.plays.flatMap(play =>
    play.failures.map(failure => `  ${titlePlay(play)}: ${failure}`),
  )
  const cost = report.cost === undefined ? '' : `, ${dollars(report.cost)} spent`
  const mark = report.passMark === 1 ? '' : `, ${Math.round(report.passMark * 100)} % wanted`
  const sum = `${report.passed} of ${report.plays.length} passed${mark}, ${report.tokens.toLocaleString('en')} tokens${cost}`
  return [...lines, ...failures, sum]
}

/** With its variant, if it has one. */
export function titlePlay(play: Pick<Played, 'name' | 'variant'>): string {
  const variant = describeVariant(play)
  return variant === '' ? play.name : `${play.name} (${variant})`
}

function describeGroup(plays: readonly Played[]): string[] {
  const [first] = plays
  const passed = plays.filter(({ failures }) => failures.length === 0).length
  const mark = passed === plays.length ? 'pass' : passed === 0 ? 'FAIL' : 'part'
  const steps = Math.max(...plays.map(play => play.steps))
  const count = plays.length === 1 ? '' : ` ${passed}/${plays.length}`
  return [`${mark}${count}`, first?.name ?? '', first ? describeVariant(first) : '', `${steps} steps`]
}

export function evalsToJunit({ plays }: EvalReport): string {
  const cases = plays.map(play => ({ ...play, name: titlePlay(play) }))
  return toJunit('turnwire evals', 'turnwire.evals', cases)
}
