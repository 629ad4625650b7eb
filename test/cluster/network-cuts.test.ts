// The networks between nodes, database and clients are cut at the level of packets, one by one, under turns at work.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { inNamespace } from '../bounded/network.ts'
import { own } from '../stores/postgres/server.ts'
import { network, noNetworks } from './networks.ts'

test('nodes, database and clients whose networks are cut lose nothing and repeat nothing', {
  skip: noNetworks || own.skip,
  timeout: 300_000,
}, async t => {
  const out = await inNamespace(t, join(import.meta.dirname, 'network-cuts.ts'), network)
  assert.equal(out.match(/^shown: /gm)?.length, 5, out)
  t.diagnostic(out.trim())
})
