// `turnwire policy test`: a table of calls with the verdicts that are expected.
import { readDataText } from '../../config/data-file.ts'
import { withDraft } from '../../config/draft-policy.ts'
import { printable } from '../../lib/text/index.ts'
import { toJunit } from '../../lib/text/junit.ts'
import { parseCases } from '../../verdicts/cases.ts'
import { type JudgedCase, judgeCases } from '../../verdicts/judge-cases.ts'
import { printReport, textValue, UsageError, type Values } from '../command.ts'
import { setUp } from '../setup.ts'
import { withServers } from '../with-servers.ts'
import { writeReport } from '../write-report.ts'

/** Gives the exit code. */
export async function testCases(values: Values, [file, more]: readonly string[]): Promise<number> {
  if (file === undefined || more !== undefined)
    throw new UsageError('Name one file: turnwire policy test cases.yaml')
  const cases = parseCases(readDataText(file, 'The file of cases'), file)
  const { config: given } = await setUp(values)
  const draft = textValue(values, 'draft')
  const config = draft === undefined ? given : await withDraft(given, draft)
  const judged = await withServers(config, values['servers'] === true, servers =>
    judgeCases(cases, config, { now: Date.now(), servers }),
  )
  const ok = judged.every(({ failures }) => failures.length === 0)
  printReport(values, { file, ok, cases: judged }, describeCases(judged))
  const junit = textValue(values, 'junit')
  if (junit !== undefined) writeReport(junit, toJunit('turnwire policy', 'turnwire.policy', judged))
  return ok ? 0 : 1
}

function describeCases(judged: readonly JudgedCase[]): string[] {
  const lines = judged.flatMap(({ name, got, isAssumed, failures }) => {
    const by = got?.rule === undefined ? '' : ` by ${printable(got.rule, 80)}`
    const note = isAssumed ? ' (the tool is not known here: judged by its name)' : ''
    const words = got ? `: ${got.verdict}${by}${note}` : ''
    const mark = failures.length === 0 ? 'pass' : 'FAIL'
    return [
      `${mark}  ${printable(name, 200)}${words}`,
      ...failures.map(failure => `      ${printable(failure, 1000)}`),
    ]
  })
  const passed = judged.filter(({ failures }) => failures.length === 0).length
  return [...lines, `${passed} of ${judged.length} passed`]
}
