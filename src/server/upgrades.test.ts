// A wire that fails when its socket opens: that socket is gone, and the server goes on.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { WebSocket } from 'ws'
import { Keys } from '../callers/keys.ts'
import { OwnerAccounts } from '../callers/owner-limits.ts'
import { acceptUpgrades } from './upgrades.ts'
import { WireTable } from './wires.ts'

test('a wire that throws when its socket opens loses that socket alone', async t => {
  const logged: string[] = []
  const gate = {
    table: new WireTable(),
    keys: new Keys([], undefined),
    hosts: [],
    origins: [],
    limits: { bodyBytes: 1000, heartbeatMs: 60_000 },
    accounts: new OwnerAccounts({}, 1000),
    log: (_: string, message: string) => void logged.push(message),
  }
  const broken = (): never => {
    throw new Error('a defect')
  }
  const sockets = acceptUpgrades(gate, [
    { path: '/broken', open: broken },
    { path: '/whole', open: ({ socket }) => socket.send('here') },
  ])
  const server = createServer().on('upgrade', (...given) => sockets.accept(...given))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    sockets.close()
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const socket = new WebSocket(`ws://127.0.0.1:${port}/broken`)
  socket.on('error', () => {})
  await once(socket, 'close')
  assert.deepEqual(logged, ['A WebSocket could not be opened.'])
  const other = new WebSocket(`ws://127.0.0.1:${port}/whole`)
  assert.equal(String((await once(other, 'message'))[0]), 'here')
  other.close()
})
