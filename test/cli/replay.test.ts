// turnwire replay: a session of the data folder and an exported file, as they were and with one thing changed.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { Turnwire } from '../../src/library/turnwire.ts'
import { openaiChat } from '../../src/models/index.ts'
import { startDouble } from '../../src/testing/doubles/index.ts'
import { tool } from '../../src/tools/index.ts'
import { folder, turnwire } from './rig.ts'

const index = pathToFileURL(join(import.meta.dirname, '../../src/index.ts')).href
const declaration = `{ name: 'pay', description: 'Pays.', input: { type: 'object' }, trust: 'trusted', run }`
const config = `
import { defineConfig, openaiChat, scripted, tool } from '${index}'
const run = () => { throw new Error('A replay ran it.') }
const pay = tool(${declaration})
const model = openaiChat({ model: 'gpt-5.2', apiKey: 'k', baseUrl: 'http://127.0.0.1:1/v1' })
export default defineConfig({
  agents: [{ name: 'clerk', system: 'Be brief.', model, tools: [pay] }],
  models: { other: scripted([{ calls: [{ name: 'pay', input: { amount: 9 } }] }, { text: 'Nine.' }]) },
})
`

/** A folder with a configuration and a session of one paid call. */
async function record(t: Parameters<typeof folder>[0]): Promise<{ cwd: string; id: string }> {
  const cwd = folder(t)
  writeFileSync(join(cwd, 'turnwire.config.ts'), config)
  const calls = [{ name: 'pay', input: { amount: 5 } }]
  const double = await startDouble({ vendor: 'openai-chat', script: [{ calls }, { text: 'Paid.' }] })
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    input: { type: 'object' },
    trust: 'trusted',
    run: () => 'paid',
  })
  const model = openaiChat({ model: 'gpt-5.2', apiKey: 'k', baseUrl: `${double.url}/v1` })
  const runtime = await Turnwire.open({
    agents: [{ name: 'clerk', system: 'Be brief.', model, tools: [pay] }],
    data: join(cwd, '.turnwire'),
  })
  const session = await runtime.session('clerk')
  await session.send('Pay five.')
  await runtime.close()
  await double.close()
  return { cwd, id: session.id }
}

suite('turnwire replay', () => {
  test('a session and its export come to the same, byte for byte', async t => {
    const { cwd, id } = await record(t)
    const { stdout, code, stderr } = turnwire(['replay', id], { cwd })
    assert.equal(code, 0, stderr)
    assert.equal(
      stdout,
      `${id}: 2 requests to models compared, 2 of them byte for byte.\n  Everything came to the same.\n`,
    )
    turnwire(['export', 'all.jsonl'], { cwd })
    assert.equal(turnwire(['replay', 'all.jsonl'], { cwd }).stdout, stdout)
  })

  test('other instructions are shown as a difference of the body', async t => {
    const { cwd, id } = await record(t)
    const { stdout, code } = turnwire(['replay', id, '--with', 'prompt=Be long.'], { cwd })
    assert.equal(code, 1)
    assert.match(stdout, /request at event \d+: The model is asked otherwise\./)
    assert.match(stdout, /- +"content": "Be brief\."\n +\+ +"content": "Be long\."/)
    assert.doesNotMatch(stdout, /went another way/)
  })

  test('rules, tools and models of a draft are tried, and the report says where it leads', async t => {
    const { cwd, id } = await record(t)
    const put = (name: string, text: string): void => writeFileSync(join(cwd, name), text)
    put('draft.ts', `export default [{ tool: 'pay', then: 'deny', reason: 'Not today.' }]`)
    const denied = turnwire(['replay', id, '--with', 'policy=draft.ts'], { cwd })
    assert.match(
      denied.stdout,
      /verdict at event \d+: pay ran unasked \(operator-trust\)\. Now: denied \(policy\[0\]\)\./,
    )
    assert.match(denied.stdout, /went another way at event/)

    put(
      'tools.ts',
      `import { tool } from '${index}'\nconst run = () => ''\nexport default [tool({ ...${declaration}, description: 'Pays twice.' })]`,
    )
    const other = turnwire(['replay', id, '--with', 'tools=tools.ts'], { cwd })
    assert.match(other.stdout, /- +"description": "Pays\.",\n +\+ +"description": "Pays twice\.",/)

    put('simulate.ts', `export default { pay: ({ amount }) => 'simulated ' + amount }`)
    const text = turnwire(['replay', id, '--with', 'model=other'], { cwd }).stdout
    assert.match(text, /Calls that were not recorded, of which no tool ran:\n {4}pay \{.*\}: ran unasked/)
    const live = turnwire(['replay', id, '--with', 'model=other', '--simulate', 'simulate.ts', '--json'], {
      cwd,
    })
    assert.equal(live.code, 1, live.stderr)
    const report = JSON.parse(live.stdout) as { left: { why: string }; now: { steps: number } }
    assert.equal(report.left.why, 'The model made other calls: pay.')
    assert.equal(report.now.steps, 2)
  })

  test('mistakes are refused with what to do', async t => {
    const { cwd, id } = await record(t)
    const stderr = (...args: string[]): string => turnwire(['replay', ...args], { cwd }).stderr
    assert.match(stderr(), /Say which session: .*turnwire replay <id>/)
    assert.match(stderr('sess_none'), /There is no session sess_none here/)
    assert.match(
      stderr(id, '--with', 'speed=11'),
      /--with takes one change, as model=…, policy=…, tools=…, prompt=…/,
    )
    assert.match(
      stderr(id, '--with', 'model=none'),
      /has neither a model nor a file named "none"\. Models: other/,
    )
    assert.match(stderr(id, '--with', 'policy=none.ts'), /^There is no file \S+none\.ts\.$/m)
    assert.match(stderr(id, '--people', 'maybe'), /--people is allow or reject/)
  })
})
