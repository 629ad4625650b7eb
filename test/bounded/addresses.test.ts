// Addresses of resources that are made to be hard to compare with a pattern (T-19, CVE-2026-0621): the event loop stays free.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Attacked, assertFree, attacked } from './attack-rig.ts'

type Read = (uri: string) => Promise<{ status: number; text: string }>

/** A client of the older revision, in which an address stands in the body alone. */
async function connected(server: Attacked): Promise<Read> {
  const headers = {
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2025-11-25',
  }
  const post = (message: object, more: Record<string, string> = {}) =>
    server.send({
      path: '/mcp/helper',
      body: { jsonrpc: '2.0', ...message },
      headers: { ...headers, ...more },
    })
  const clientInfo = { name: 'client', version: '1' }
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
  const made = await post({ id: 0, method: 'initialize', params })
  const session = { 'mcp-session-id': String(made.headers['mcp-session-id']) }
  await post({ method: 'notifications/initialized' }, session)
  return uri => post({ id: 1, method: 'resources/read', params: { uri } }, session)
}

test('an address is compared with a pattern in no time, whatever it is made of', async t => {
  const server = await attacked(t)
  const read = await connected(server)
  const honest = await read('notes://2026-01-02-03/first.txt')
  assert.match(honest.text, /first of 2026/)
  for (const [what, uri] of [
    // An expression that tries every way takes seconds for this one.
    ['600 dashes', `notes://${'-'.repeat(600)}/first.md`],
    ['a million dashes', `notes://${'-'.repeat(1_000_000)}/first.md`],
    ['a million slashes', `notes://${'/'.repeat(1_000_000)}`],
    ['lists and queries', `notes://a${'/a,'.repeat(300_000)}?tags=${'b,'.repeat(300_000)}`],
  ] as const)
    await assertFree(
      server,
      what,
      async () => {
        const { status, text } = await read(uri)
        assert.ok(status < 500, `${status}`)
        assert.match(text.slice(0, 300), /There is no such resource/)
      },
      50,
    )
})
