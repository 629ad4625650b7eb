// Plays evaluations of agents: cases with stubs for tools, and what is expected of calls, questions and answers.
import { resolve } from 'node:path'
import { loadDefault } from '../../config/load-config.ts'
import { describeEvals, evalsToJunit } from '../../evals/describe-evals.ts'
import { checkEvals } from '../../evals/evals.ts'
import { caseFromLog, evalFile } from '../../evals/from-session.ts'
import { addPlays, type EvalReport, runEvals } from '../../evals/run-evals.ts'
import { present } from '../../lib/json/present.ts'
import { printable } from '../../lib/text/index.ts'
import { type CliCommand, printReport, textValue, UsageError, type Values } from '../command.ts'
import { withProgress } from '../progress.ts'
import { readSession } from '../recorded-logs.ts'
import { configOption, dataOption, setUp } from '../setup.ts'
import { writeReport } from '../write-report.ts'

export const command: CliCommand = {
  name: 'eval',
  usage: '<file> … [--json] [--junit <file>]',
  about: `Plays the cases of each file, with each of its models and policies, and says which passed. The engine, the gate and the
rules are the real ones; tools are stubs. Scripted models need no key; others are asked for real.
With --from <session> it prints a file with one case, made of a recorded session.

It exits with 0 if each file reached its pass mark, and with 1 otherwise.`,
  options: {
    from: { type: 'string', value: '<session>', help: 'Print a case that is made of this session' },
    json: { type: 'boolean', help: 'Print the report as JSON' },
    junit: { type: 'string', value: '<file>', help: 'Also write the report for a build server' },
    config: configOption,
    data: dataOption,
  },
  words: 1000,
  async run({ values, words }) {
    const from = textValue(values, 'from')
    if (from !== undefined) {
      process.stdout.write(await fileFromSession(values, from))
      return 0
    }
    if (words.length === 0) throw new UsageError('Say which files: turnwire eval evals/*.ts')
    const reports: EvalReport[] = []
    for (const file of words) reports.push(await runFile(values, file))
    const all: EvalReport = {
      ...addPlays(
        reports.flatMap(({ plays }) => plays),
        1,
      ),
      ok: reports.every(({ ok }) => ok),
    }
    for (const [index, report] of reports.entries()) printEvals(values, words[index] ?? '', report)
    const junit = textValue(values, 'junit')
    if (junit !== undefined) writeReport(junit, evalsToJunit(all))
    return all.ok ? 0 : 1
  },
}

async function runFile(values: Values, file: string): Promise<EvalReport> {
  const evals = checkEvals(
    await loadDefault(resolve(file), 'export default defineEvals({ cases: [ … ] })'),
    file,
  )
  const config = evals.config ?? (await setUp(values)).config
  return withProgress('Evaluating', 'plays', progress =>
    runEvals(evals, config, (done, total) => progress.step(done, total)),
  )
}

async function fileFromSession(values: Values, id: string): Promise<string> {
  const { session, log } = await readSession(values, id)
  const made = caseFromLog(
    id,
    log.map(({ event }) => event),
  )
  return evalFile(session.agent, [made])
}

function printEvals(values: Values, file: string, report: EvalReport): void {
  const plays = report.plays.map(({ variant: { model, policy }, ...play }) => ({
    ...play,
    variant: present({ model, policy }),
  }))
  const lines = describeEvals(report).map(line => printable(line, 2000))
  printReport(values, { file, ...report, plays }, [printable(file, 500), ...lines])
}
