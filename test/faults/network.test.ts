// The network between a client and the server is cut in both directions and mended, while turns go on: the client asks on
// with the last id that it has seen, and misses nothing.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { inNamespace, noNamespace } from '../bounded/network.ts'

test('a client whose network is cut and mended misses no event', { skip: noNamespace }, async t => {
  const out = await inNamespace(t, join(import.meta.dirname, 'network-cut.ts'))
  const [, connections = '0'] = /^\d+ cuts, (\d+) connections, \d+ events\n$/.exec(out) ?? []
  assert.ok(Number(connections) > 1, out)
  t.diagnostic(out.trim())
})
