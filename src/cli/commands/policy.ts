// Looks at the policy: explains a verdict of the log, and judges a table of cases.
import { printable } from '../../lib/text/index.ts'
import { findSession, readLog, visitSessions } from '../../library/visit.ts'
import { type CliCommand, knownWord, UsageError, type Values } from '../command.ts'
import { explainCall } from '../policy/explain.ts'
import { testCases } from '../policy/test-cases.ts'
import { configOption, dataOption, noSuchSession, sessionPlace } from '../setup.ts'

const actions = ['explain', 'test'] as const

export const command: CliCommand = {
  name: 'policy',
  usage: 'explain <session> <call> | test <file>',
  about: `explain  says which rule decided about a call of a session, who was asked, and where its arguments came from.
         <call> is the id of the call, or its number: 3 is the third call of the session.
test     judges the calls of a table (YAML or JSON) by the configured rules, and compares the verdicts with those that the
         table expects. No tool runs and nobody is asked. It exits with 1 if a verdict is another.`,
  options: {
    draft: {
      type: 'string',
      value: '<file>',
      help: 'test: with these rules in place of the configured ones',
    },
    servers: { type: 'boolean', help: 'test: start the MCP servers, to have their tools. None is called' },
    json: { type: 'boolean', help: 'test: print the report as JSON' },
    junit: { type: 'string', value: '<file>', help: 'test: also write the report for a build server' },
    data: dataOption,
    config: configOption,
  },
  words: 3,
  async run({ values, words: [given, ...words] }) {
    if (given === undefined)
      throw new UsageError('Say what to do, such as: turnwire policy explain <session> <call>')
    const action = knownWord(given, actions, `turnwire policy does one of: ${actions.join(', ')}.`)
    return action === 'test' ? testCases(values, words) : explain(values, words)
  },
}

async function explain(values: Values, [id, call]: readonly string[]): Promise<number> {
  if (id === undefined || call === undefined)
    throw new UsageError('Say which call: turnwire policy explain <session> <call>')
  const events = await visitSessions(await sessionPlace(values), undefined, async engine => {
    const session = await findSession(engine, id)
    if (!session) throw noSuchSession(id)
    const log = await readLog(engine, { owner: session.owner, session: id })
    return log.map(({ event }) => event)
  })
  const lines = explainCall(events, call)
  if (!lines) throw new UsageError(`The session has no call "${printable(call, 80)}".`)
  process.stdout.write(`${lines.join('\n')}\n`)
  return 0
}
