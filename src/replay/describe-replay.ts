// The report of a replay as lines for a terminal.
import { dollars } from '../lib/text/dollars.ts'
import { printable } from '../lib/text/index.ts'
import { plural } from '../lib/text/plural.ts'
import type { Difference, NewCall, ReplayTotals } from './compare.ts'
import type { ReplayReport } from './replay.ts'

export function isSame({ differences, left }: ReplayReport): boolean {
  return differences.length === 0 && !left
}

export function describeReplay(report: ReplayReport): string[] {
  const { session, requests, differences, left, newCalls, then, now } = report
  const { compared, byBytes } = requests
  const head = `${printable(session, 80)}: ${plural(compared, 'request')} to models compared, ${byBytes} of them byte for byte.`
  if (isSame(report)) return [head, '  Everything came to the same.']
  return [
    head,
    ...differences.flatMap(describeDifference),
    ...(left ? [`  The session went another way at event ${left.seq}. ${printable(left.why, 500)}`] : []),
    ...describeNewCalls(newCalls),
    `  Recorded: ${describeTotals(then)}`,
    `  Now:      ${describeTotals(now)}`,
  ]
}

function describeDifference({ seq, about, text, diff = [] }: Difference): string[] {
  const lines = diff.map(line => `      ${line.mark}${'text' in line ? ` ${printable(line.text, 400)}` : ''}`)
  return [`  ${about} at event ${seq}: ${printable(text, 1000)}`, ...lines]
}

const mostShown = 20

function describeNewCalls(calls: readonly NewCall[]): string[] {
  const shown = calls
    .slice(0, mostShown)
    .map(({ tool, arguments: text, verdict }) => `    ${tool} ${printable(text, 200)}: ${verdict}`)
  if (calls.length > mostShown) shown.push(`    and ${calls.length - mostShown} more`)
  return shown.length > 0 ? ['  Calls that were not recorded, of which no tool ran:', ...shown] : []
}

function describeTotals({ steps, unasked, asked, denied, tokens, cost }: ReplayTotals): string {
  const spent = cost === undefined ? '' : `, ${dollars(cost)} spent`
  return `${plural(steps, 'step')}, ${unasked} ran unasked, ${asked} asked, ${denied} denied, ${plural(tokens, 'token')}${spent}`
}
