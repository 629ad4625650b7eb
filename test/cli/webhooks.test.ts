// Webhooks from the command line, beside a server that sends them: where they go, what became of them, one sent again, an endpoint
// that wanted no more enabled again, and the secret that its receiver checks with.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { Webhook } from 'standardwebhooks'
import { folder, serve, turnwire } from './rig.ts'

const index = pathToFileURL(join(import.meta.dirname, '../../src/index.ts')).href

type Got = { id: string; body: string; headers: Record<string, string> }

/** Answers with the next of these, then with 204. */
async function receiver(t: TestContext, answers: number[] = []) {
  const got: Got[] = []
  let heard = Promise.withResolvers<void>()
  const server = createServer((request, response) => {
    void request.toArray().then(pieces => {
      const headers = request.headers as Record<string, string>
      got.push({
        id: String(headers['webhook-id']),
        body: Buffer.concat(pieces as Buffer[]).toString(),
        headers,
      })
      response.writeHead(answers.shift() ?? 204).end()
      heard.resolve()
      heard = Promise.withResolvers()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const count = async (wanted: number): Promise<void> => {
    while (got.length < wanted) await heard.promise
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`, got, count, answers }
}

const configFor = (url: string): string => `
import { defineConfig, scripted } from '${index}'
export default defineConfig({
  agents: [{ name: 'helper', model: scripted([{ text: 'Done.' }], { whenOver: 'repeat-last' }) }],
  egress: { privateHosts: ['127.0.0.1'] },
  webhooks: { phone: { url: '${url}', events: ['turn.ended'] } },
})
`

async function post(url: string, path: string, body: object): Promise<{ sessionId: string }> {
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  assert.ok(answer.ok, String(answer.status))
  return (await answer.json()) as { sessionId: string }
}

test('list, deliveries, resend, enable and secret', async t => {
  const cwd = folder(t)
  const { url, got, count, answers } = await receiver(t)
  writeFileSync(join(cwd, 'turnwire.config.ts'), configFor(url))
  const server = await serve(t, { cwd })
  const say = async (): Promise<void> => {
    const { sessionId } = await post(server.url, '/sessions', { agent: { name: 'helper' } })
    await post(server.url, `/sessions/${sessionId}/turns`, { messages: [{ role: 'user', content: 'Go.' }] })
  }
  const webhooks = (...words: string[]) => turnwire(['webhooks', ...words], { cwd })
  assert.equal(webhooks().stdout, `phone  ${url}  turn.ended\n`)
  assert.equal(webhooks('deliveries', 'phone').stdout, 'There are no messages.\n')

  await say()
  await count(1)
  const [first] = got
  const secret = webhooks('secret', 'phone').stdout.trim()
  assert.match(secret, /^whsec_/)
  new Webhook(secret).verify(first!.body, first!.headers)
  const delivered = new RegExp(
    `^\\S+Z {2}delivered {2}turn\\.ended {2}${first!.id} {2}1 attempt, answered 204\n$`,
  )
  // The receiver has answered; the server writes that down a moment later.
  while (!delivered.test(webhooks('deliveries', 'phone').stdout));

  assert.match(webhooks('resend', 'phone', first!.id).stdout, /^It is sent again by the server/)
  await count(2)
  assert.deepEqual([got[1]?.id, got[1]?.body], [first!.id, first!.body], 'the same message, with the same id')

  answers.push(410)
  await say()
  await count(3)
  while (!webhooks('list').stdout.includes('disabled:'));
  assert.match(webhooks('list').stdout, /disabled: .* Enable it with: \S+.* webhooks enable phone/)
  assert.equal(webhooks('enable', 'phone').stdout, '"phone" gets messages again.\n')
  assert.equal(webhooks('enable', 'phone').stdout, '"phone" was not disabled.\n')
  await say()
  await count(4)

  for (const [wrong, words] of [
    [['deliveries'], /Say which: turnwire webhooks deliveries <name>/],
    [['resend', 'phone'], /Say which message/],
    [['forget', 'phone'], /forget/],
  ] as const) {
    const { code, stderr } = webhooks(...wrong)
    assert.equal(code, 2)
    assert.match(stderr, words)
  }
  const unknown = webhooks('deliveries', 'pager')
  assert.deepEqual([unknown.code, /pager/.test(unknown.stderr)], [1, true], unknown.stderr)
})
