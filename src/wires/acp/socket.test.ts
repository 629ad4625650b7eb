// A WebSocket whose reader leaves first. A rejection that nobody handles would fail the test.
import { EventEmitter } from 'node:events'
import { test } from 'node:test'
import type { Socket } from '../../lib/net/socket.ts'
import type { WireHost } from '../host.ts'
import { socketStream } from './socket.ts'

class FakeSocket extends EventEmitter implements Socket {
  bufferedAmount = 0
  send(): void {}
  terminate(): void {
    this.emit('close')
  }
  close(): void {
    this.emit('close')
  }
}

const limits: WireHost['limits'] = { bodyBytes: 1000, jsonDepth: 8, heartbeatMs: 0, unsentBytes: 1000 }

/** Rejections that nobody handles are told after the microtasks. */
const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

test('a socket that closes after its reader has left ends nothing else', async () => {
  const socket = new FakeSocket()
  const { readable } = socketStream(socket, limits)
  await readable.cancel()
  socket.emit('message', '{"jsonrpc":"2.0","method":"x"}', false)
  await turn()
  socket.emit('close')
  await turn()
})
