// `turnwire policy backtest`: a draft of the rules, tried on all recorded calls.
import { buildAgents } from '../../config/build-agent.ts'
import { withDraft } from '../../config/draft-policy.ts'
import { present } from '../../lib/json/present.ts'
import { printable } from '../../lib/text/index.ts'
import { plural } from '../../lib/text/plural.ts'
import { backtest, type RecordedLog } from '../../verdicts/backtest.ts'
import { BacktestFold, type BacktestReport, type Conflict } from '../../verdicts/backtest-report.ts'
import { printReport, textValue, UsageError, type Values } from '../command.ts'
import { withProgress } from '../progress.ts'
import { openVault, withRecordedLogs } from '../recorded-logs.ts'
import { setUp } from '../setup.ts'
import { withServers } from '../with-servers.ts'

/** Gives the exit code. */
export async function backtestDraft(values: Values, [draft, ...files]: readonly string[]): Promise<number> {
  if (draft === undefined) throw new UsageError('Name the draft: turnwire policy backtest draft.ts')
  const since = readSince(textValue(values, 'since'), Date.now())
  const { config: given } = await setUp(values)
  const config = await withDraft(given, draft)
  const vault = await openVault(values)
  const fold = new BacktestFold()
  await withServers(config, values['servers'] === true, servers => {
    const agents = buildAgents(config, tellFailures(fold), servers)
    const run = (logs: RecordedLog[]): Promise<void> =>
      withProgress('Judging', 'sessions', progress =>
        backtest(
          logs,
          { agents, since, step: (done, total) => progress.step(done, total), ...present({ vault }) },
          call => fold.take(call),
        ),
      )
    return withRecordedLogs(values, files, run)
  })
  const report = fold.report()
  printReport(values, { file: draft, ...report }, describeBacktest(draft, report))
  return report.ok ? 0 : 1
}

function tellFailures(fold: BacktestFold): (level: string, message: string, more?: object) => void {
  return (level, _message, more) => {
    if (level === 'error' && more && 'rule' in more && 'error' in more)
      fold.fail(String(more.rule), String(more.error))
  }
}

const unitMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 7 * 86_400_000 }

/** A time, or how long ago. Absent: from the beginning. */
function readSince(text: string | undefined, now: number): number {
  if (text === undefined) return 0
  const [, count = '', unit = ''] = /^(\d{1,6})([mhdw])$/.exec(text) ?? []
  const ago = unitMs[unit]
  if (ago !== undefined) return now - Number(count) * ago
  const at = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN
  if (!Number.isNaN(at)) return at
  throw new UsageError(
    `--since is a time such as 2026-01-31 or 2026-01-31T12:00Z, or how long ago: 30m, 12h, 7d, 4w. Not "${printable(text, 40)}".`,
  )
}

const shownPerPerson = 5
const shownChanges = 20

function describeBacktest(draft: string, report: BacktestReport): string[] {
  if (report.calls === 0)
    return [
      ...describeUnjudged(report),
      'No recorded call was judged. Look at --data, --since and the exported files.',
    ]
  const { calls, sessions, then, draft: now, asks, from = 0, to = 0 } = report
  const day = (at: number): string => new Date(at).toISOString().slice(0, 10)
  const row = (name: string, counts: Record<'allow' | 'ask' | 'deny', number>): string =>
    `  ${name.padEnd(6)}${[counts.allow, counts.ask, counts.deny].map(each => count(each).padStart(10)).join('')}`
  return [
    `${printable(draft, 200)}: ${plural(calls, 'call')} of ${plural(sessions, 'session')}, ${day(from)} to ${day(to)}`,
    `  ${''.padEnd(6)}${['allow', 'ask', 'deny'].map(word => word.padStart(10)).join('')}`,
    row('then', then),
    row('draft', now),
    ...(now.invalid > 0 ? [`  ${count(now.invalid)} do not fit their tool any more.`] : []),
    `Asks saved: ${count(asks.saved)} of ${count(asks.then)}. New asks: ${count(asks.added)}.`,
    ...describeConflicts(report.conflicts),
    ...describeChanges(report),
    ...describeUnjudged(report),
    ...report.failures.map(
      ({ rule, error, calls: failed }) =>
        `The rule ${printable(rule, 80)} failed for ${plural(failed, 'call')}, which denies them: ${printable(error, 300)}`,
    ),
  ]
}

function describeConflicts(conflicts: readonly Conflict[]): string[] {
  if (conflicts.length === 0) return ['No person had decided otherwise.']
  return [
    ...describeAgainst(
      'Would have run unasked',
      conflicts.filter(({ is }) => is === 'unasked'),
    ),
    ...describeAgainst(
      'Would have been denied',
      conflicts.filter(({ is }) => is === 'denied'),
    ),
  ]
}

const personWords = {
  rejected: (by: string) => `that ${by} rejected`,
  changed: (by: string) => `that ${by} allowed only with other arguments`,
  allowed: (by: string) => `that ${by} allowed`,
} as const

/** By person, in the order in which they decided first. */
function describeAgainst(title: string, conflicts: readonly Conflict[]): string[] {
  const groups = new Map<string, Conflict[]>()
  for (const conflict of conflicts) {
    const words = personWords[conflict.person](printable(conflict.by, 80))
    groups.set(words, [...(groups.get(words) ?? []), conflict])
  }
  return [...groups].flatMap(([words, group]) => [
    `${title}: ${count(group.length)} ${words}`,
    ...group.slice(0, shownPerPerson).map(({ call: { session, callId, tool, draft, decision } }) => {
      const by = draft.rule === undefined ? '' : `, by ${printable(draft.rule, 80)}`
      const why = decision?.reason === undefined ? '' : ` (“${printable(decision.reason, 160)}”)`
      return `  ${printable(tool, 80)}${by}: ${printable(session, 80)} ${printable(callId, 80)}${why}`
    }),
    ...(group.length > shownPerPerson
      ? [`  … and ${count(group.length - shownPerPerson)} more; --json lists all.`]
      : []),
  ])
}

function describeChanges({ changes }: BacktestReport): string[] {
  if (changes.length === 0) return ['No verdict changes.']
  const by = (rule: string | undefined): string => (rule ? ` by ${printable(rule, 80)}` : '')
  return [
    'Verdicts that change:',
    ...changes
      .slice(0, shownChanges)
      .map(
        ({ tool, then, draft, calls }) =>
          `  ${count(calls).padStart(7)}  ${printable(tool, 80)}: ${then.verdict}${by(then.rule)} → ${draft.verdict}${by(draft.rule)}`,
      ),
    ...(changes.length > shownChanges
      ? [`  … and ${count(changes.length - shownChanges)} more kinds; --json lists all.`]
      : []),
  ]
}

const causeWords = {
  sealed: 'their arguments are sealed, and the key of the vault is not here',
  client: 'the application runs them now, and no policy stands between',
  'no-agent': 'their agent is not in the configuration',
  'no-tool': 'their tool is not known',
} as const

function describeUnjudged({ unjudged, assumed }: BacktestReport): string[] {
  const lines = Object.entries(causeWords).flatMap(([why, words]) => {
    const calls = unjudged[why as keyof typeof causeWords] ?? 0 // Its own keys.
    return calls > 0 ? [`Not judged: ${plural(calls, 'call')}, because ${words}.`] : []
  })
  const tools = Object.entries(assumed)
  if (tools.length === 0) return lines
  const list = tools.map(([tool, calls]) => `${printable(tool, 80)} (${count(calls)})`).join(', ')
  return [...lines, `Not known here, so judged by their names: ${list}. --servers starts MCP servers.`]
}

function count(value: number): string {
  return value.toLocaleString('en')
}
