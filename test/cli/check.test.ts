// `turnwire check`, and what `serve` and `.env` do about keys that are not set.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { renameSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { folder, start, turnwire } from './rig.ts'

const asks = (more = ''): string =>
  `import { anthropic, defineConfig, tool } from 'turnwire'
const look = tool({ name: 'look', description: 'Looks.', input: { type: 'object' }, run: () => 'it' })
export default defineConfig({ agents: [{ name: 'clerk', model: anthropic({ model: 'claude-sonnet-4-6' }), tools: [look] }], ${more} })
`

function withConfig(t: TestContext, text: string, env?: string): string {
  const cwd = folder(t)
  writeFileSync(join(cwd, 'turnwire.config.ts'), text)
  if (env !== undefined) writeFileSync(join(cwd, '.env'), env)
  return cwd
}

type Finding = { state: string; part: string; words: string }

function checked(cwd: string, env: Record<string, string> = {}, args: string[] = []) {
  const { code, stdout, stderr } = turnwire(['check', '--json', ...args], { cwd, env: { PORT: '0', ...env } })
  assert.equal(stderr, '')
  const findings = stdout
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as Finding)
  return { code, of: (part: string) => findings.filter(each => each.part === part) }
}

test('a key that is not set is named with what to do; .env gives it, and the environment comes first', t => {
  const cwd = withConfig(t, asks())
  const without = checked(cwd)
  assert.equal(without.code, 1)
  assert.deepEqual(without.of('model'), [
    {
      state: 'wrong',
      part: 'model',
      words:
        'the agent "clerk": anthropic cannot be asked: set ANTHROPIC_API_KEY, or give apiKey to the model.',
    },
  ])
  writeFileSync(join(cwd, '.env'), 'ANTHROPIC_API_KEY=from-the-file\nTURNWIRE_DATA=kept\n')
  const given = checked(cwd)
  assert.deepEqual([given.code, given.of('model')], [0, []])
  assert.match(given.of('data')[0]?.words ?? '', /\/kept$/)
  assert.match(checked(cwd, { TURNWIRE_DATA: 'elsewhere' }).of('data')[0]?.words ?? '', /\/elsewhere$/)
})

test('without a configuration .env is another program’s, and is not read', t => {
  const cwd = folder(t)
  writeFileSync(join(cwd, '.env'), 'DATABASE_URL=postgres://nobody@127.0.0.1:1/none\n')
  const { code, of } = checked(cwd)
  assert.equal(code, 0)
  assert.match(of('config')[0]?.words ?? '', /demonstration.*turnwire init/)
})

test('mistakes of the configuration, idle rules, an unused database and a taken port are found together', async t => {
  const taken = createServer().listen(0, '127.0.0.1')
  t.after(() => taken.close())
  await new Promise(resolve => taken.once('listening', resolve))
  const { port } = taken.address() as AddressInfo
  const cwd = withConfig(
    t,
    asks(`policy: { rules: [{ tool: 'lok', then: 'deny' }] }, data: 'kept', server: { host: '0.0.0.0' }`),
    'ANTHROPIC_API_KEY=some',
  )
  const env = { DATABASE_URL: 'postgres://ann:secret@127.0.0.1:1/none' }
  const { code, of } = checked(cwd, env, ['--port', String(port)])
  assert.equal(code, 1)
  assert.match(of('rule')[0]?.words ?? '', /policy\.rules\[0\] names "lok"/)
  assert.match(of('data')[0]?.words ?? '', /DATABASE_URL is not used/)
  assert.match(of('access')[0]?.words ?? '', /no key exists: serve will refuse/)
  assert.match(of('names')[0]?.words ?? '', /answers to localhost only.*server\.hosts/)
  assert.match(of('port')[0]?.words ?? '', /is taken/)
  writeFileSync(join(cwd, 'turnwire.config.ts'), 'export default { agents: [{ name: 1 }] }\n')
  assert.match(checked(cwd).of('config')[0]?.words ?? '', /agents\[0\]\.name/)
})

test('what tools can do together with nobody asked is said with what closes it, and a role that no key has', t => {
  const tools = `[
    { ...look, name: 'read_page', trust: 'trusted', readOnly: true },
    { ...look, name: 'post', trust: 'trusted' },
  ]`
  const text = (more: string): string =>
    asks(`policy: { rules: [{ tool: 'look', then: 'ask', approvers: { roles: ['finance', 'legal'] } }] },
      budgets: { session: { money: 5, then: 'ask', approvers: { roles: ['board'] } } }`)
      .replace('tools: [look]', `tools: [look, ...${tools}], ${more}`)
      .replace("input: { type: 'object' }", "input: { type: 'object' }, flow: { output: 'trusted' }")
      .replaceAll('{ ...look, ', '{ ...look, flow: undefined, ')
  const cwd = withConfig(t, text(''), 'ANTHROPIC_API_KEY=a')
  const open = checked(cwd)
  assert.equal(open.code, 0)
  const [flow] = open.of('flow')
  assert.equal(flow?.state, 'look')
  assert.match(
    flow?.words ?? '',
    /^clerk: read_page → post can send private data .*Set flow: 'warrants' for this agent/,
  )
  assert.deepEqual(
    open.of('rule').map(({ words }) => words.split(':')[0]),
    [...['finance', 'legal'].map(role => ['policy.rules[0]', role]), ['budgets.session', 'board']].map(
      ([asking, role]) => `${asking} asks people with the role "${role}", which no key has`,
    ),
  )
  turnwire(['keys', 'add', 'ann', '--roles', 'legal,board'], { cwd })
  writeFileSync(join(cwd, 'turnwire.config.ts'), text(`flow: 'warrants'`))
  const closed = checked(cwd)
  assert.deepEqual(closed.of('rule'), [], 'one of the roles is enough')
  assert.deepEqual(closed.of('flow'), [
    { state: 'ok', part: 'flow', words: 'clerk: warrants, no path with nobody asked' },
  ])
})

test('a database that cannot be reached and an MCP server that does not start are wrong', t => {
  const cwd = withConfig(
    t,
    asks(`mcp: { broken: { command: 'no-such-program-here' } }`),
    'ANTHROPIC_API_KEY=a',
  )
  const { code, of } = checked(cwd)
  assert.equal(code, 1)
  assert.match(of('mcp')[0]?.words ?? '', /^broken: unavailable/)
  assert.deepEqual(of('tools'), [], 'it is said once')
  const away = checked(cwd, {
    DATABASE_URL: 'postgres://ann:secret@127.0.0.1:1/none',
    TURNWIRE_VAULT_KEY: 'k'.repeat(32),
  })
  assert.equal(away.of('data')[0]?.state, 'wrong')
  assert.doesNotMatch(away.of('data')[0]?.words ?? '', /secret/)
})

test('an identity provider that does not answer is wrong, and the address to register there is said', async t => {
  const said = (issuer: string): string => {
    const endpoints = ['authorization_endpoint', 'token_endpoint', 'jwks_uri'].map(name => [
      name,
      `${issuer}/x`,
    ])
    return JSON.stringify({ issuer, ...Object.fromEntries(endpoints) })
  }
  const provider = createServer((request, answer) => {
    const issuer = `http://${request.headers.host}`
    answer.end(said(request.url?.startsWith('/other') ? 'https://other.example' : issuer))
  }).listen(0, '127.0.0.1')
  t.after(() => provider.close())
  await once(provider, 'listening')
  const host = `127.0.0.1:${(provider.address() as AddressInfo).port}`
  const signIn = async (issuer: string, more = `publicUrl: 'https://agent.example',`) => {
    const oidc = `oidc: { label: 'Acme', issuer: '${issuer}', clientId: 'console' }`
    const cwd = withConfig(
      t,
      asks(`egress: { privateHosts: ['${host}'] }, server: { ${more} ${oidc} }`),
      'ANTHROPIC_API_KEY=a',
    )
    const { exit, stdout } = start(t, ['check', '--json'], { cwd, env: { PORT: '0' } })
    await exit
    return (
      stdout()
        .split('\n')
        .find(line => line.includes('"sign-in"')) ?? stdout()
    )
  }
  assert.match(await signIn(`http://${host}`), /"ok".*redirect address: https:\/\/agent\.example\/sign-in/)
  assert.match(await signIn(`http://${host}/other`), /"wrong".*calls itself .*other\.example/)
  assert.match(await signIn('http://127.0.0.1:1'), /"wrong".*egress\.privateHosts/)
  assert.match(await signIn(`http://${host}`, `host: '0.0.0.0',`), /"wrong".*needs server\.publicUrl/)
})

test('for people it is one line a part', t => {
  const cwd = withConfig(t, asks(), 'ANTHROPIC_API_KEY=a')
  const env = { PORT: '0', DATABASE_URL: 'mysql://127.0.0.1/other' }
  const { stdout, code } = turnwire(['check'], { cwd, env })
  assert.equal(code, 0)
  assert.match(stdout, /^ok {5}config {2}turnwire\.config\.ts$/m)
  assert.match(stdout, /^ok {5}agent {3}clerk: 1 tool of its own$/m)
  assert.match(stdout, /^look {3}data .*DATABASE_URL is not used: it does not begin with postgres:/m)
})

test('serve says at its start that a key is not set', async t => {
  const cwd = withConfig(t, asks())
  const served = start(t, ['serve', '--port', '0'], { cwd })
  await served.until(/Ctrl-C stops it/)
  assert.match(served.stderr(), /A model cannot be asked yet\..*set ANTHROPIC_API_KEY/)
})

test('dev starts again when the configuration or a file that it imports changes, and sessions stay', async t => {
  const cwd = withConfig(
    t,
    `import { defineConfig, rehearsal } from 'turnwire'
import { name } from './name.ts'
export default defineConfig({ agents: [{ name, model: rehearsal() }] })
`,
  )
  writeFileSync(join(cwd, 'name.ts'), `export const name = 'first'\n`)
  const dev = start(t, ['dev', '--port', '0'], { cwd })
  const [, url] = await dev.until(/listens on (http:\/\/\S+)[\s\S]*agents {4}first/)
  const made = await fetch(`${url}/session`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ agent: { name: 'first' }, messages: [{ role: 'user', content: 'Hello' }] }),
  })
  assert.equal(made.status, 201)
  // Twice, since a watch of the file itself would be lost with the first.
  for (const name of ['second', 'renamed']) {
    writeFileSync(join(cwd, 'name.new'), `export const name = '${name}'\n`)
    renameSync(join(cwd, 'name.new'), join(cwd, 'name.ts'))
    await dev.until(new RegExp(`name\\.ts has changed\\.[\\s\\S]*agents {4}${name}`))
  }
  writeFileSync(join(cwd, 'turnwire.config.ts'), 'export default {}\n')
  while (!/agents: must list/.test(dev.stderr())) await pause(20)
  writeFileSync(
    join(cwd, 'turnwire.config.ts'),
    `import { defineConfig, rehearsal } from 'turnwire'
export default defineConfig({ agents: [{ name: process.env.AGENT ?? 'third', model: rehearsal() }] })
`,
  )
  await dev.until(/agents {4}third/)
  writeFileSync(join(cwd, '.env'), 'AGENT=fourth\n')
  await dev.until(/agents {4}fourth/)
  writeFileSync(join(cwd, '.env'), 'AGENT=fifth\n')
  await dev.until(/agents {4}fifth/)
  assert.match(turnwire(['sessions', 'list'], { cwd }).stdout, /first/)
  dev.child.kill('SIGTERM')
  assert.equal(await dev.exit, 0)
  const addresses = [...dev.stdout().matchAll(/listens on (\S+)/g)].map(([, address]) => address)
  assert.deepEqual([addresses.length, new Set(addresses)], [6, new Set([url])])
  await assert.rejects(fetch(`${url}/health`), 'the server is gone too')
})
