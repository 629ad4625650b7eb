// Connections to other nodes that cannot be made.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clusterSecret, listenForNodes } from './node-link.ts'
import { Peers, Unreachable } from './peers.ts'

test('a node with another secret is named in the log, once', async t => {
  const other = clusterSecret('another secret of another cluster, for tests')
  const listener = await listenForNodes({ host: '127.0.0.1', port: 0 }, other, () => {})
  t.after(() => listener.close())
  const logs: string[] = []
  const secret = clusterSecret('a secret of the cluster, for tests only')
  const peers = new Peers(secret, 'vault', (level, message) => void logs.push(`${level} ${message}`))
  const node = { id: 'node_b', address: `127.0.0.1:${listener.port}`, version: '1' }
  for (let tries = 0; tries < 2; tries += 1) await assert.rejects(peers.to(node), Unreachable)
  assert.equal(logs.length, 1)
  assert.match(logs[0] ?? '', /^error .*cluster secret/)
})
