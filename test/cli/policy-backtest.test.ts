// turnwire policy backtest: a draft of the rules on recorded calls, with what people had decided, from a folder, exported files and a
// database.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { Turnwire } from '../../src/library/turnwire.ts'
import { scripted } from '../../src/models/scripted/scripted.ts'
import { tool } from '../../src/tools/index.ts'
import type { BacktestReport } from '../../src/verdicts/backtest-report.ts'
import { databaseUrl } from '../stores/postgres/server.ts'
import { folder, turnwire } from './rig.ts'

const place = pathToFileURL(join(import.meta.dirname, '../../src/index.ts')).href
const input = { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] }
const config = `
import { defineConfig, scripted, tool } from '${place}'
const run = () => { throw new Error('A backtest ran it.') }
const refund = tool({ name: 'refund', description: 'Pays back.', input: ${JSON.stringify(input)}, run })
export default defineConfig({ agents: [{ name: 'clerk', model: scripted([]), tools: [refund] }] })
`

type Decide = { by?: string; granted: boolean; reason?: string; input?: { amount: number } }

/** One session for each list: refunds that were asked about, and what a person said to each. */
async function record(
  t: TestContext,
  sessions: [amount: number, Decide][][],
  data?: string,
): Promise<string> {
  const cwd = folder(t)
  const put = (name: string, text: string): void => writeFileSync(join(cwd, name), text)
  put('turnwire.config.ts', config)
  const calls = sessions.flatMap(each => each.map(([amount]) => ({ name: 'refund', input: { amount } })))
  const script = calls.flatMap(call => [{ calls: [call] }, { text: 'Done.' }])
  const run = (): string => 'paid'
  const runtime = await Turnwire.open({
    agents: [
      {
        name: 'clerk',
        model: scripted(script, { position: 'counter' }),
        tools: [
          tool({ name: 'refund', description: 'Pays back.', input, run }),
          tool({ name: 'gone', description: 'Is not there any more.', input, run }),
        ],
      },
    ],
    data: data ?? join(cwd, '.turnwire'),
  })
  try {
    for (const each of sessions) {
      const session = await runtime.session('clerk')
      for (const [, { granted, ...options }] of each) {
        await session.send('Refund it.')
        const [{ callId } = assert.fail('Nobody was asked.')] = await session.pending()
        await (granted ? session.approve(callId, options) : session.deny(callId, options))
      }
    }
  } finally {
    await runtime.close()
  }
  return cwd
}

const people: [number, Decide][][] = [
  [
    [20, { by: 'maria', granted: false, reason: 'No receipt.' }],
    [30, { by: 'maria', granted: false }],
    [500, { by: 'ana', granted: true }],
  ],
  [
    [40, { by: 'maria', granted: false }],
    [10, { by: 'ana', granted: true }],
    [60, { by: 'ana', granted: true, input: { amount: 6 } }],
  ],
]
const bold = `export default [
  { name: 'small', tool: 'refund', args: { amount: { below: 100 } }, then: 'allow' },
  { name: 'large', tool: 'refund', then: 'deny' },
]\n`

function readJson(stdout: string): BacktestReport {
  return JSON.parse(stdout) as BacktestReport
}

suite('turnwire policy backtest', () => {
  test('it says what the draft does with every recorded call, and where people had decided otherwise', async t => {
    const cwd = await record(t, people)
    writeFileSync(join(cwd, 'draft.ts'), bold)
    const { stdout, code, stderr } = turnwire(['policy', 'backtest', 'draft.ts'], { cwd })
    assert.equal(code, 1, stderr)
    const lines = stdout.split('\n')
    assert.match(lines[0]!, /^draft\.ts: 6 calls of 2 sessions, \d{4}-\d\d-\d\d to \d{4}-\d\d-\d\d$/)
    assert.deepEqual(lines.slice(1, 5), [
      '             allow       ask      deny',
      '  then           0         6         0',
      '  draft          5         0         1',
      'Asks saved: 6 of 6. New asks: 0.',
    ])
    assert.match(
      stdout,
      /\nWould have run unasked: 3 that maria rejected\n {2}refund, by small: sess_\S+ call_\S+/,
    )
    assert.match(stdout, /\(“No receipt\.”\)\n/)
    assert.match(stdout, /\nWould have run unasked: 1 that ana allowed only with other arguments\n/)
    assert.match(stdout, /\nWould have been denied: 1 that ana allowed\n {2}refund, by large: /)
    assert.match(stdout, /\n {8}5 {2}refund: ask by operator-trust → allow by small\n/)
  })

  test('a draft that goes against nobody ends with 0, and JSON has every number', async t => {
    const cwd = await record(t, people)
    writeFileSync(
      join(cwd, 'draft.yaml'),
      '- { name: tiny, tool: refund, args: { amount: { below: 15 } }, then: allow }\n- { tool: refund, then: ask }\n',
    )
    const { stdout, code, stderr } = turnwire(['policy', 'backtest', 'draft.yaml', '--json'], { cwd })
    assert.equal(code, 0, stderr)
    const { ok, calls, sessions, then, draft, asks, conflicts, changes } = readJson(stdout)
    assert.deepEqual(
      { ok, calls, sessions, then, draft, asks, conflicts },
      {
        ok: true,
        calls: 6,
        sessions: 2,
        then: { allow: 0, ask: 6, deny: 0 },
        draft: { allow: 1, ask: 5, deny: 0, invalid: 0 },
        asks: { then: 6, draft: 5, saved: 1, added: 0 },
        conflicts: [],
      },
    )
    assert.deepEqual(
      changes.map(({ tool: name, calls: many, draft: now }) => [name, many, now]),
      [['refund', 1, { verdict: 'allow', rule: 'tiny' }]],
    )
  })

  test('exported files are read in place of the folder, and each session counts once', async t => {
    const cwd = await record(t, people)
    writeFileSync(join(cwd, 'draft.ts'), bold)
    turnwire(['export', 'all.jsonl'], { cwd })
    const line = ['policy', 'backtest', 'draft.ts', '--json']
    const ofFolder = readJson(turnwire(line, { cwd }).stdout)
    const ofFiles = readJson(turnwire([...line, 'all.jsonl', 'all.jsonl'], { cwd }).stdout)
    const ids = ({ conflicts }: BacktestReport): string[] => conflicts.map(({ call }) => call.callId)
    assert.equal(ofFiles.conflicts.length, 5)
    assert.deepEqual(ids(ofFiles), ids(ofFolder))
    assert.deepEqual({ ...ofFiles, changes: [] }, { ...ofFolder, changes: [] })
  })

  test('a rate counts the calls of all sessions in the order of their times', async t => {
    const cwd = await record(t, people)
    writeFileSync(
      join(cwd, 'draft.ts'),
      `export default [
        { name: 'fast', tool: 'refund', rate: { calls: 4, perMs: 3600000 }, then: 'deny' },
        { tool: 'refund', then: 'ask' },
      ]\n`,
    )
    const { draft, conflicts } = readJson(
      turnwire(['policy', 'backtest', 'draft.ts', '--json'], { cwd }).stdout,
    )
    assert.deepEqual(draft, { allow: 0, ask: 4, deny: 2, invalid: 0 })
    assert.deepEqual(
      conflicts.map(({ is, by, call }) => [is, by, call.decision?.changed]),
      [
        ['denied', 'ana', undefined],
        ['denied', 'ana', true],
      ],
    )
  })

  test('nothing to judge, a rule that throws and an agent that is gone are told, and end with 1', async t => {
    const cwd = await record(t, people)
    const put = (name: string, text: string): void => writeFileSync(join(cwd, name), text)
    put('draft.ts', bold)
    const late = turnwire(['policy', 'backtest', 'draft.ts', '--since', '2999-01-01'], { cwd })
    assert.deepEqual(
      [late.code, late.stdout],
      [1, 'No recorded call was judged. Look at --data, --since and the exported files.\n'],
    )
    const recent = turnwire(['policy', 'backtest', 'draft.ts', '--since', '1d', '--json'], { cwd })
    assert.equal(readJson(recent.stdout).calls, 6)
    put(
      'throws.ts',
      `export default [{ name: 'odd', when: () => { throw new Error('no luck') }, then: 'ask' }]\n`,
    )
    const broken = turnwire(['policy', 'backtest', 'throws.ts'], { cwd })
    assert.equal(broken.code, 1)
    assert.match(broken.stdout, /The rule odd failed for 6 calls, which denies them: no luck\n/)
    put('turnwire.config.ts', config.replace("name: 'clerk'", "name: 'other'"))
    const gone = turnwire(['policy', 'backtest', 'draft.ts'], { cwd })
    assert.equal(gone.code, 1)
    assert.match(gone.stdout, /^Not judged: 6 calls, because their agent is not in the configuration\.\n/)
    put('turnwire.config.ts', config.replace('tools: [refund]', 'tools: []'))
    const assumed = turnwire(['policy', 'backtest', 'draft.ts'], { cwd })
    assert.match(assumed.stdout, /\nNot known here, so judged by their names: refund \(6\)\./)
  })

  test('mistakes are refused with what to do', async t => {
    const cwd = await record(t, [])
    const put = (name: string, text: string): void => writeFileSync(join(cwd, name), text)
    put('draft.ts', bold)
    put('half.jsonl', '{"turnwire":"export","version":1}\n')
    const stderr = (...args: string[]): string => turnwire(['policy', 'backtest', ...args], { cwd }).stderr
    assert.match(stderr(), /Name the draft: .*turnwire policy backtest draft\.ts/)
    assert.match(stderr('none.ts'), /^There is no file \S+none\.ts\.$/m)
    assert.match(
      stderr('draft.ts', '--since', 'monday'),
      /--since is a time such as 2026-01-31.*Not "monday"/,
    )
    assert.match(stderr('draft.ts', 'half.jsonl'), /half\.jsonl cannot be imported: line \d+/)
    assert.match(stderr('draft.ts', '--data', 'nowhere'), /There are no sessions in nowhere/)
  })

  test('a database is read beside the nodes that use it', async t => {
    const url = await databaseUrl()
    const cwd = await record(t, people, url)
    writeFileSync(join(cwd, 'draft.ts'), bold)
    const done = turnwire(['policy', 'backtest', 'draft.ts', '--data', url, '--json'], { cwd })
    const { calls, conflicts } = readJson(done.stdout)
    assert.ok(calls >= 6, done.stderr)
    assert.ok(conflicts.some(({ by, person }) => by === 'maria' && person === 'rejected'))
  })
})
