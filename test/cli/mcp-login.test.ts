// `turnwire mcp login`, `list` and `logout` as commands, against a strict authorization server. The browser is a fetch.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { type AuthRig, startAuthRig } from '../tools/mcp/authorization-server.ts'
import { folder, start } from './rig.ts'

const library = new URL('../../src/index.ts', import.meta.url).href

function configured(t: TestContext, rig: AuthRig, more = ''): string {
  const cwd = folder(t)
  const { host } = new URL(rig.issuer)
  writeFileSync(
    join(cwd, 'turnwire.config.ts'),
    `import { defineConfig, scripted } from '${library}'
export default defineConfig({
  agents: [{ name: 'desk', model: scripted([]) }],
  mcp: {
    notes: { url: '${rig.url}' },
    ${more}
  },
  egress: { privateHosts: ['${host}'] },
})`,
  )
  return cwd
}

/** The command without waiting in this thread, since the servers of the test live in it. */
async function mcp(t: TestContext, cwd: string, ...words: string[]) {
  const started = start(t, ['mcp', ...words], { cwd })
  return { code: await started.exit, said: started.stdout() + started.stderr() }
}

/** What a server on this machine answers to these bytes. */
async function sendBytes(port: number, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.end(bytes)
  let answer = ''
  for await (const piece of socket.setEncoding('latin1')) answer += String(piece)
  return answer
}

test('a person logs in with a command, the token is sealed and used, and logout deletes it', async t => {
  const rig = await startAuthRig(t)
  const cwd = configured(t, rig)
  assert.match((await mcp(t, cwd, 'list')).said, /notes {2}login {2}/)
  const login = start(t, ['mcp', 'login', 'notes'], { cwd })
  const [address] = await login.until(/http:\/\/\S+code_challenge=\S+/)
  // Whatever else comes to the page of the login ends nothing.
  const back = new URL(new URL(address).searchParams.get('redirect_uri') ?? '')
  assert.match(await sendBytes(Number(back.port), 'GET // HTTP/1.1\r\nHost: x\r\n\r\n'), / 404 /)
  const page = await fetch(address)
  assert.match(await page.text(), /go back to the terminal/)
  assert.equal(await login.exit, 0)
  assert.match(login.stdout(), /Logged in to "notes": \d+ tools, protocol 20/)
  assert.deepEqual(rig.refused, [])
  const kept = join(cwd, '.turnwire', 'mcp')
  const [file = ''] = readdirSync(kept)
  assert.equal(statSync(join(kept, file)).mode & 0o777, 0o600)
  const [token = ''] = rig.tokens.keys()
  assert.ok(token.length > 10)
  assert.ok(!readFileSync(join(kept, file), 'utf8').includes(token))
  assert.match((await mcp(t, cwd, 'list')).said, /notes {2}connected {2}http, protocol 20/)
  assert.match((await mcp(t, cwd, 'logout', 'notes')).said, /The tokens of "notes" are deleted here\./)
  assert.match((await mcp(t, cwd, 'logout', 'notes')).said, /There are no tokens of "notes" here\./)
  assert.match((await mcp(t, cwd, 'list')).said, /notes {2}login {2}/)
})

test('what cannot be logged in to is told', async t => {
  const rig = await startAuthRig(t)
  const cwd = configured(
    t,
    rig,
    `robot: { url: '${rig.url}', auth: { grant: 'client_credentials', clientId: 'x', clientSecret: 'y', issuer: '${rig.issuer}' } },
    local: { command: 'true' },`,
  )
  for (const [words, told] of [
    [['login'], /Say which server/],
    [['login', 'none'], /no MCP server "none" with a url\. There are: notes, robot/],
    [['login', 'local'], /no MCP server "local" with a url/],
    [['login', 'robot'], /nobody has to log in/],
    [['enter'], /knows list, login and logout/],
  ] as const) {
    const { code, said } = await mcp(t, cwd, ...words)
    assert.match(said, told)
    assert.notEqual(code, 0)
  }
})
