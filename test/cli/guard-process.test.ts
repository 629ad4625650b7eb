// An error that nobody caught: it is logged, no new work is taken, what runs may finish, and the process ends and says why.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { AapClient } from '../../src/client/index.ts'
import { environment, folder, serve, turnwire } from './rig.ts'

const program = join(import.meta.dirname, 'guarded-process.ts')

function run(place: string): { status: number | null; stdout: string; stderr: string } {
  const env = environment({ API_TOKEN: 'a-token-of-the-operator' })
  return spawnSync(process.execPath, [program, place], { encoding: 'utf8', env })
}

for (const place of JSON.parse(run('--list').stdout) as string[]) // It prints a list of texts.
  test(`an error thrown from ${place} is logged without secrets, and the process ends after its work`, () => {
    const { status, stdout, stderr } = run(place)
    assert.equal(stdout, 'drained\n', stderr)
    assert.equal(status, 70)
    const [first = ''] = stderr.split('\n')
    const line = JSON.parse(first) as Record<string, string> // A line of the log.
    assert.match(line['message'] ?? '', /An error was not caught\. No new work is taken/)
    assert.equal(line['error'], `thrown from ${place} with ***`)
    assert.match(line['stack'] ?? '', /at .*fail .*guarded-process/)
    assert.doesNotMatch(stderr, /a-token-of-the-operator|in-the-arguments/)
  })

const breaking = `import { defineConfig, scripted, tool } from 'turnwire'
const input = { type: 'object' }
const shared = { input, trust: 'trusted' }
let finish
const slow = tool({ name: 'slow', description: 'Takes long.', ...shared, run: () => new Promise(resolve => { finish = resolve }) })
const broken = tool({ name: 'broken', description: 'Throws later.', ...shared, run: () => {
  setTimeout(() => { throw new Error('nobody catches this') }, 0)
  return 'later'
} })
// It finishes once the server refuses new work.
process.on('SIGUSR2', () => finish('it finished'))
const agent = name => ({ name, model: scripted([{ calls: [{ name, input: {} }] }, { text: 'done' }], { repeat: true }), tools: [slow, broken] })
export default defineConfig({ agents: [agent('slow'), agent('broken')], server: { graceMs: 600_000 } })
`

test('a server in which an error is not caught refuses new work, lets calls finish and keeps everything', async t => {
  const cwd = folder(t)
  writeFileSync(join(cwd, 'turnwire.config.mjs'), breaking)
  const { url, child, exit, stderr } = await serve(t, { cwd })
  const client = new AapClient({ baseUrl: url })
  const begin = async (name: string): Promise<string> => {
    const id = await client.createSession({ agent: { name, tools: [{ name, trust: true }] } })
    void client.sendTurn(id, { messages: [{ role: 'user', content: 'Go' }] }).catch(() => {})
    for await (const watched of client.watch(id, { attempts: 0 }))
      if ('seq' in watched && watched.event.type === 'call.started') break
    return id
  }
  const slow = await begin('slow')
  await begin('broken').catch(() => {})
  // A new connection is refused while the process still lives.
  for (;;) {
    const answer = await fetch(`${url}/health/live`, { headers: { connection: 'close' } }).catch(
      () => undefined,
    )
    if (!answer) break
  }
  assert.equal(child.exitCode, null)
  child.kill('SIGUSR2')
  assert.equal(await exit, 70)
  const messages = stderr()
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as { message: string; error?: string }) // The log has one object a line.
  assert.ok(
    messages.some(({ error }) => error === 'nobody catches this'),
    stderr(),
  )
  assert.match(messages.at(-1)?.message ?? '', /Stopped, because an error was not caught/)
  const events = turnwire(['sessions', 'events', slow], { cwd })
  assert.match(events.stdout, /it finished/)
})

test('a server whose log nobody reads any more goes on', async t => {
  const cwd = folder(t)
  const { url, child, exit } = await serve(t, { cwd })
  child.stderr?.destroy()
  for (let count = 0; count < 3; count++) {
    // A refused origin is logged.
    const refused = await fetch(url, { headers: { origin: 'https://elsewhere.example' } })
    assert.equal(refused.status, 403)
  }
  assert.equal((await fetch(`${url}/health`)).status, 200)
  child.kill('SIGTERM')
  assert.equal(await exit, 0)
})
