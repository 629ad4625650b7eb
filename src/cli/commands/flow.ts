// Shows, for each agent, what its tools can do together: where untrusted text, private data and a tool that acts meet.
import { reportFlow } from '../../config/flow-report.ts'
import type { AgentFlowReport } from '../../language/flow.ts'
import { printable } from '../../lib/text/index.ts'
import type { CliCommand } from '../command.ts'
import { configOption, setUp } from '../setup.ts'

export const command: CliCommand = {
  name: 'flow',
  usage: '[agent] [--json]',
  about: `Shows which tools of each agent bring text that outsiders wrote, which read private data, which send or change
something, and every path on which all three meet with nobody asked. A tool that nobody labelled counts as all of it.`,
  options: { config: configOption, json: { type: 'boolean', help: 'Print JSON' } },
  words: 1,
  async run({ values, words: [name] }) {
    const { config } = await setUp(values)
    const reports = reportFlow(config).filter(({ agent }) => name === undefined || agent === name)
    if (values['json'] === true) process.stdout.write(`${JSON.stringify(reports, null, 2)}\n`)
    else if (reports.length === 0) process.stdout.write(`There is no agent "${printable(name ?? '', 80)}".\n`)
    else process.stdout.write(reports.map(describeReport).join('\n'))
    return reports.length === 0 ? 1 : 0
  },
}

function describeReport(report: AgentFlowReport): string {
  const list = (names: readonly string[]): string =>
    names.map(each => printable(each, 80)).join(', ') || 'none'
  const lines = [
    `${printable(report.agent, 80)}: flow ${report.mode}`,
    `  bring untrusted text  ${list(report.untrusted)}`,
    `  read private data     ${list(report.private)}`,
    `  send or change        ${list(report.acting)}`,
    ...(report.unlabelled.length > 0 ? [`  without labels        ${list(report.unlabelled)}`] : []),
    ...(report.servers.length > 0
      ? [`  not looked at         tools of the MCP servers ${list(report.servers)}`]
      : []),
  ]
  if (report.pathCount === 0) return `${[...lines, '  no path with nobody asked'].join('\n')}\n`
  lines.push(`  ${report.pathCount} paths with nobody asked:`)
  for (const path of report.paths) lines.push(`    ${path.map(each => printable(each, 80)).join(' → ')}`)
  if (report.pathCount > report.paths.length) lines.push('    …')
  lines.push(`  close them with       ${report.closedBy}`)
  return `${lines.join('\n')}\n`
}
