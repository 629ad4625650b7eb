// Requests of client programs, recorded while each played a task with this server, and sent again to a server in front of
// every vendor's double. Codex has a test of its own, test/wires/responses/codex.test.ts.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { RecordedRequest } from './record.ts'
import { answer, serveClients, type Upstream, upstreams } from './server.ts'

const folder = join(import.meta.dirname, 'fixtures')

async function replayed(
  t: TestContext,
  requests: readonly RecordedRequest[],
  upstream: Upstream,
): Promise<string[]> {
  const server = await serveClients(upstream)
  t.after(() => server.stop())
  const answers: string[] = []
  for (const { path, headers, body } of requests) {
    const response = await fetch(server.url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    const text = await response.text()
    assert.equal(response.status, 200, `${path}: ${text} ${server.refusals().join(' ')}`)
    answers.push(text)
  }
  assert.deepEqual(server.refusals(), [])
  return answers
}

/** The text of a stream's events, whatever their form. */
function saidIn(stream: string): string {
  return [...stream.matchAll(/"(?:text|content)":"((?:[^"\\]|\\.)*)"/g)].map(([, text]) => text).join('')
}

for (const file of globSync('*.json', { cwd: folder })) {
  const { client, requests } = JSON.parse(readFileSync(join(folder, file), 'utf8')) as {
    client: string
    requests: RecordedRequest[]
  }
  for (const upstream of Object.keys(upstreams) as Upstream[]) {
    test(`${client} (${basename(file)}): its whole task, in front of ${upstream}`, async t => {
      const answers = await replayed(t, requests, upstream)
      const calls = answers.filter(text => /printf/.test(text))
      assert.equal(calls.length, 1)
      assert.ok(saidIn(answers.at(-1)!).includes(answer), answers.at(-1))
    })
  }
}
