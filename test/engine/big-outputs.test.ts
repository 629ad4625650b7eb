// A result of 50 MB through a server process with a small heap: on the disk, out of the model, out of memory. And a process
// that is killed in the middle of one.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { AapClient, textOfContent } from '../../src/client/index.ts'
import { folder, type Served, serve } from '../cli/rig.ts'

const size = 50 * 1024 * 1024
const block = 64 * 1024

/** The n-th block of the output. */
const text = `'block ' + n + ' ' + 'x'.repeat(${block})`
const config = `import { defineConfig, scripted, tool } from 'turnwire'
const blockOf = n => (${text}).slice(0, ${block - 1}) + '\\n'
const big = tool({
  name: 'big', description: 'Writes much.', trust: 'trusted',
  input: { type: 'object', properties: { bytes: { type: 'number' }, dies: { type: 'boolean' } } },
  async *run({ bytes, dies }) {
    for (let n = 0; n * ${block} < bytes; n += 1) {
      if (dies && n === 100) process.kill(process.pid, 'SIGKILL')
      yield blockOf(n)
      await new Promise(resolve => setImmediate(resolve))
    }
  },
})
const ask = input => ({ calls: [{ name: 'big', input }] })
const models = {
  large: scripted([ask({ bytes: ${size} }), { text: 'Done.' }]),
  small: scripted([ask({ bytes: ${4 * 1024 * 1024} }), { text: 'Done.' }]),
  dying: scripted([ask({ bytes: ${size}, dies: true }), { text: 'Done.' }]),
}
export default defineConfig({ models, agents: [{ name: 'a', model: 'small', tools: [big] }] })
`

const served = async (t: TestContext, cwd: string): Promise<Served> =>
  serve(t, { cwd, env: { NODE_OPTIONS: '--max-old-space-size=64 --max-semi-space-size=2' } })

/** The most memory that the process has had, in MB. */
function peakOf({ child }: Served): number {
  const [, kilobytes] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) / 1024
}

async function played(
  client: AapClient,
  model: string,
): Promise<{ id: string; result: string; callId: string }> {
  const id = await client.createSession({ agent: { name: 'a', tools: [{ name: 'big', trust: true }] } })
  await client.setModel(id, model)
  const turn = await client.sendTurn(id, { messages: [{ role: 'user', content: 'Go.' }], stream: 'none' })
  assert.equal((await turn.answer()).stopReason, 'end_turn')
  const tool = (await client.getHistory(id)).find(message => message.role === 'tool')
  assert.ok(tool?.role === 'tool')
  return { id, result: textOfContent(tool.content), callId: tool.toolCallId }
}

function configured(t: TestContext): string {
  const cwd = folder(t)
  writeFileSync(join(cwd, 'turnwire.config.mjs'), config)
  return cwd
}

test('50 MB: the model gets the ends, the disk the whole, and memory neither', {
  skip: process.platform !== 'linux',
}, async t => {
  const server = await served(t, configured(t))
  const client = new AapClient({ baseUrl: server.url })
  await played(client, 'small')
  const before = peakOf(server)
  const { id, result, callId } = await played(client, 'large')
  assert.ok(result.length <= block, String(result.length))
  assert.match(result, /^block 0 x+/)
  assert.match(result, new RegExp(`of ${size} bytes left out here`))
  const whole = createHash('sha256')
  for (let n = 0; n < size / block; n += 1)
    whole.update(`${`block ${n} ${'x'.repeat(block)}`.slice(0, block - 1)}\n`)
  const expected = whole.digest('hex')
  for await (const item of client.watch(id))
    if ('seq' in item && item.event.type === 'call.settled') {
      assert.deepEqual(item.event.outcome.kept, { blob: `${callId}.output`, bytes: size, sha256: expected })
      break
    }
  await readWhole(server, id, callId)
  const first = peakOf(server)
  // Garbage may lie about until the heap's limit. A second and a third output take no more.
  for (let again = 0; again < 2; again += 1) {
    const next = await played(client, 'large')
    await readWhole(server, next.id, next.callId)
  }
  const more = peakOf(server) - first
  t.diagnostic(
    `peak memory: ${before.toFixed(1)} MB after 4 MB, ${first.toFixed(1)} MB after 50 MB, ${more.toFixed(1)} MB more after 150 MB`,
  )
  assert.ok(first - before < 110, `${first - before} MB more for 50 MB`)
  assert.ok(more < 60, `${more} MB more for 100 MB more`)
})

/** The whole result, as it is given out piece by piece. */
async function readWhole({ url }: Served, id: string, callId: string): Promise<void> {
  const answer = await fetch(`${url}/sessions/${id}/results/${callId}`)
  const decoder = new TextDecoder()
  let [json, head] = [0, '']
  for await (const chunk of answer.body!) {
    json += chunk.length
    if (head.length < 200) head += decoder.decode(chunk)
  }
  assert.ok(head.startsWith(`{"role":"tool","toolCallId":"${callId}","content":"block 0 xxx`))
  assert.ok(json > size && json < size * 1.01, String(json))
}

test('a process that is killed in the middle leaves no half of it', async t => {
  const cwd = configured(t)
  const server = await served(t, cwd)
  const client = new AapClient({ baseUrl: server.url })
  const id = await client.createSession({ agent: { name: 'a', tools: [{ name: 'big', trust: true }] } })
  await client.setModel(id, 'dying')
  await assert.rejects(
    client
      .sendTurn(id, { messages: [{ role: 'user', content: 'Go.' }], stream: 'none' })
      .then(turn => turn.answer()),
  )
  await server.exit
  const again = await served(t, cwd)
  const reader = new AapClient({ baseUrl: again.url })
  for await (const item of reader.watch(id)) if ('seq' in item && item.event.type === 'turn.ended') break
  const tool = (await reader.getHistory(id)).find(message => message.role === 'tool')
  assert.ok(tool?.role === 'tool')
  assert.match(textOfContent(tool.content), /it is not known whether it took effect/)
  const { DatabaseSync } = await import('node:sqlite')
  const db = new DatabaseSync(join(cwd, '.turnwire/sessions.db'), { readOnly: true })
  t.after(() => db.close())
  const count = (table: string) => db.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.['n']
  assert.deepEqual([count('blobs_in_pieces'), count('pieces')], [0, 0])
  assert.equal(db.prepare('SELECT sum(blob_bytes) AS n FROM sessions').get()?.['n'], 0)
})
