// A report of the suite as lines for a terminal.
import type { Finding } from './check.ts'
import { type ConformReport, conformWires, type WireReport } from './run.ts'

export function describeConform(report: ConformReport): string[] {
  const lines = report.wires.flatMap(describeWire)
  if (report.notServed.length > 0) lines.push(`Not served: ${report.notServed.join(', ')}`)
  if (report.wires.length === 0) return [...lines, `Nothing was tried.${hint(report)}`]
  return [...lines, `In all: ${counts(report.held, report.broken, report.notTried)}`]
}

function hint({ notServed }: ConformReport): string {
  const isSilent = notServed.length === conformWires.length
  return isSilent ? ' See that the server runs at this address, and that --key is one of its keys.' : ''
}

function describeWire({ title, at, findings }: WireReport): string[] {
  const width = Math.max(...findings.map(({ id }) => id.length))
  const count = (verdict: Finding['verdict']): number =>
    findings.filter(finding => finding.verdict === verdict).length
  return [
    `${title} at ${at}`,
    ...findings.flatMap(finding => describeFinding(finding, width)),
    `  ${counts(count('held'), count('broken'), count('not tried'))}`,
    '',
  ]
}

function describeFinding(finding: Finding, width: number): string[] {
  const { id, clause, verdict, sent, expected, got, reason } = finding
  const row = `  ${verdict.padEnd(9)}  ${id.padEnd(width)}  ${clause}`
  const details: [string, string | undefined][] = [
    ['reason', reason],
    ['sent', sent],
    ['expected', expected],
    ['got', got],
  ]
  const shown = details.flatMap(([name, value]) =>
    value === undefined ? [] : [`${' '.repeat(13)}${name.padEnd(9)} ${value}`],
  )
  return [row, ...shown]
}

function counts(held: number, broken: number, notTried: number): string {
  return `${held} held, ${broken} broken, ${notTried} not tried`
}
