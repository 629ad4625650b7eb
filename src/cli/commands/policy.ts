// Looks at the policy: explains a verdict of the log, judges a table of cases, and tries a draft on recorded calls.
import { printable } from '../../lib/text/index.ts'
import { type CliCommand, knownAction, UsageError, type Values } from '../command.ts'
import { backtestDraft } from '../policy/backtest.ts'
import { explainCall } from '../policy/explain.ts'
import { testCases } from '../policy/test-cases.ts'
import { readSession } from '../recorded-logs.ts'
import { configOption, dataOption } from '../setup.ts'

export const command: CliCommand = {
  name: 'policy',
  usage: 'explain <session> <call> | test <file> | backtest <draft> [<exported file> …]',
  about: `explain   says which rule decided about a call of a session, who was asked, and where its arguments came from.
          <call> is the id of the call, or its number: 3 is the third call of the session.
test      judges the calls of a table (YAML or JSON) by the configured rules, and compares the verdicts with those that the
          table expects. No tool runs and nobody is asked. It exits with 1 if a verdict is another.
backtest  judges all recorded calls by the rules of a draft, as their sessions stood then, and says how many it would allow,
          ask about and deny, how many questions it saves, and where a person had decided otherwise. It reads the data folder or
          the database, or the exported files. It exits with 1 if a person had decided otherwise, if a rule failed, or if
          there was no call to judge.`,
  options: {
    draft: {
      type: 'string',
      value: '<file>',
      help: 'test: with these rules in place of the configured ones',
    },
    since: {
      type: 'string',
      value: '<time>',
      help: 'backtest: only calls from then on, such as 30d, 12h or 2026-01-31',
    },
    servers: {
      type: 'boolean',
      help: 'test, backtest: start the MCP servers, to have their tools. None is called',
    },
    json: { type: 'boolean', help: 'test, backtest: print the report as JSON' },
    junit: { type: 'string', value: '<file>', help: 'test: also write the report for a build server' },
    data: dataOption,
    config: configOption,
  },
  words: 1000,
  async run({ values, words: [given, ...words] }) {
    if (given === undefined)
      throw new UsageError('Say what to do, such as: turnwire policy explain <session> <call>')
    return knownAction('policy', { explain, test: testCases, backtest: backtestDraft }, given)(values, words)
  },
}

async function explain(values: Values, [id, call, more]: readonly string[]): Promise<number> {
  if (id === undefined || call === undefined || more !== undefined)
    throw new UsageError('Say which call: turnwire policy explain <session> <call>')
  const { log } = await readSession(values, id)
  const lines = explainCall(
    log.map(({ event }) => event),
    call,
  )
  if (!lines) throw new UsageError(`The session has no call "${printable(call, 80)}".`)
  process.stdout.write(`${lines.join('\n')}\n`)
  return 0
}
