// The network between a client and the server is cut in both directions and mended, while turns go on: the client asks on
// with the last id that it has seen, and misses nothing.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { inNamespace, noNamespace } from '../bounded/network.ts'

test('a client whose network is cut and mended misses no event', { skip: noNamespace }, async t => {
  const out = await inNamespace(t, join(import.meta.dirname, 'network-cut.ts'))
  assert.match(out, /^\d+ cuts, [2-9]\d* connections, \d+ events\n$/)
  t.diagnostic(out.trim())
})
