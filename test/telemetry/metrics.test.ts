// GET /metrics of a real server process, the page that documents it, and the dashboard.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { folder, root, type Served, serve, turnwire } from '../cli/rig.ts'

const config = `
import { defineConfig, tool } from '${join(root, 'src/index.ts')}'
import { scripted } from '${join(root, 'src/index.ts')}'
const input = { type: 'object' }
export default defineConfig({
  agents: [{
    name: 'helper',
    model: scripted([
      { calls: [{ name: 'look', input: {} }], usage: { input: 11, output: 7, cost: 0.5 } },
      { calls: [{ name: 'wipe', input: {} }] },
      { text: 'Done.' },
    ]),
    tools: [
      tool({ name: 'look', description: 'Looks.', trust: 'trusted', readOnly: true, input, run: () => 'seen' }),
      tool({ name: 'wipe', description: 'Wipes.', trust: 'ask', input, run: () => 'wiped' }),
    ],
  }],
})
`

async function scrape(url: string, key?: string): Promise<Map<string, number>> {
  const response = await fetch(`${url}/metrics`, key ? { headers: { authorization: `Bearer ${key}` } } : {})
  assert.equal(response.status, 200)
  assert.match(response.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/)
  return parse(await response.text())
}

/** Refuses what Prometheus would refuse: a sample without its help and type, or one that has no number. */
function parse(text: string): Map<string, number> {
  const samples = new Map<string, number>()
  let known = ''
  for (const line of text.trimEnd().split('\n')) {
    const [, kind, name] = /^# (HELP|TYPE) (\w+) /.exec(line) ?? []
    if (kind === 'HELP') known = name ?? ''
    if (kind) {
      assert.equal(name, known, line)
      continue
    }
    const sample = /^(\w+)(\{(?:\w+="(?:[^"\\\n]|\\.)*",?)*\})? (\S+)$/.exec(line)
    assert.ok(sample, line)
    assert.equal(
      sample[1]?.replace(/_(bucket|sum|count)$/, ''),
      known.replace(/_(bucket|sum|count)$/, ''),
      line,
    )
    assert.ok(Number.isFinite(Number(sample[3])), line)
    assert.ok(!samples.has(`${sample[1]}${sample[2] ?? ''}`), `twice: ${line}`)
    samples.set(`${sample[1]}${sample[2] ?? ''}`, Number(sample[3]))
  }
  return samples
}

async function served(t: TestContext): Promise<Served> {
  const cwd = folder(t)
  writeFileSync(join(cwd, 'turnwire.config.ts'), config)
  return serve(t, { cwd })
}

async function begin({ url }: Served): Promise<void> {
  const response = await fetch(`${url}/session`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      agent: { name: 'helper', tools: [{ name: 'look', trust: true }, { name: 'wipe' }] },
      messages: [{ role: 'user', content: 'Go.' }],
    }),
  })
  assert.equal(response.status, 201)
}

describe('GET /metrics', () => {
  it('counts turns, calls, approvals, tokens and money, and shows what waits', async t => {
    const server = await served(t)
    const before = await scrape(server.url)
    assert.equal(before.get('turnwire_store_up'), 1)
    assert.equal(before.get('turnwire_waiting_approvals'), 0)
    assert.equal(before.get('turnwire_running_turns'), 0)
    const other = await served(t)
    await begin(other)
    const after = await scrape(other.url)
    const expected = {
      'turnwire_turns_started_total{agent="helper",wire="aap"}': 1,
      'turnwire_calls_total{agent="helper",outcome="ok"}': 1,
      'turnwire_call_seconds_count{agent="helper"}': 1,
      'turnwire_approvals_total{agent="helper",event="asked"}': 1,
      'turnwire_model_requests_total{model="scripted",result="ok"}': 2,
      'turnwire_tokens_total{model="scripted",direction="input"}': 11,
      'turnwire_cost_total{model="scripted"}': 0.5,
      turnwire_waiting_sessions: 1,
      turnwire_waiting_approvals: 1,
      turnwire_running_turns: 0,
    }
    for (const [sample, value] of Object.entries(expected))
      assert.equal(after.get(sample), value, `${sample} in ${JSON.stringify([...after.keys()])}`)
    assert.ok((after.get('turnwire_store_write_seconds_count') ?? 0) >= 2)
  })

  it('with keys, only one of an operator reads it', async t => {
    const cwd = folder(t)
    writeFileSync(join(cwd, 'turnwire.config.ts'), config)
    const keyOf = (...args: string[]): string =>
      turnwire(['keys', 'add', ...args], { cwd }).stdout.match(/tw_\S+/)?.[0] ?? ''
    const [plain, operator] = [keyOf('app'), keyOf('ops', '--operator')]
    const { url } = await serve(t, { cwd })
    const status = async (key?: string): Promise<number> =>
      (await fetch(`${url}/metrics`, key ? { headers: { authorization: `Bearer ${key}` } } : {})).status
    assert.deepEqual([await status(), await status(plain), await status(operator)], [401, 403, 200])
  })

  it('the page names every metric, and the dashboard asks only for those that exist', async t => {
    const { url } = await served(t)
    const text = await (await fetch(`${url}/metrics`)).text()
    const names = [...text.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name ?? '')
    const page = readFileSync(join(root, 'docs/operations/telemetry.md'), 'utf8')
    for (const name of names) assert.ok(page.includes(`\`${name}\``), `${name} is not in telemetry.md`)
    const dashboard = readFileSync(join(root, 'docs/operations/grafana-dashboard.json'), 'utf8')
    const { panels } = JSON.parse(dashboard) as { panels: { title: string; targets: { expr: string }[] }[] }
    assert.ok(panels.length >= 8)
    for (const { title, targets } of panels)
      for (const { expr } of targets) {
        const asked = [...expr.matchAll(/\b(?:turnwire|process|nodejs)_\w+/g)].map(([name]) => name)
        assert.ok(asked.length > 0, title)
        for (const name of asked)
          assert.ok(names.includes(name.replace(/_(bucket|sum|count)$/, '')) || names.includes(name), name)
      }
  })
})
