// Runs in a network namespace of its own (network.ts), where packets of one direction vanish. Here the kernel gives up on bytes that nobody acknowledges after about 3 s (tcp_retries2), outside after 15 minutes.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type Attacked, attacked, MiB, script, until } from './attack-rig.ts'
import { client, cut, host } from './network.ts'

const directions = { "the client's packets": [client, host], "the server's packets": [host, client] } as const

const ends: (() => unknown)[] = []
const lifetime = { after: (end: () => unknown) => void ends.unshift(end) }

/** Connects from the client's address and sends this. */
async function open(server: Attacked, sent: string): Promise<Socket> {
  const socket = connect({ host, port: server.port, localAddress: client })
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.write(sent)
  await once(socket, 'data')
  return socket
}

const get = (path: string, more = ''): string => `GET ${path} HTTP/1.1\r\nhost: ${host}\r\n${more}\r\n`

/** One stream or socket may be open, so others are refused for as long as the server keeps the one that was cut. */
async function isKept(server: Attacked): Promise<boolean> {
  return (await server.send({ path: '/sessions' })).status === 429
}

function connections(server: Attacked, small: string, large: string): Record<string, () => Promise<Socket>> {
  const upgrade =
    'connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n' +
    'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n'
  return {
    'an event stream on which nothing happens': async () =>
      (await open(server, get(`/sessions/${small}/events`))).resume(),
    'a replay in the middle': async () => (await open(server, get(`/sessions/${large}/events`))).pause(),
    'a WebSocket': async () => (await open(server, get('/api/ws', upgrade))).resume(),
  }
}

const server = await attacked(lifetime, {
  config: { server: { stallMs: 1_000, heartbeatMs: 100, perOwner: { streams: 1 } } },
})
try {
  const small = await server.session()
  const large = await server.session()
  const words = script({ calls: [{ name: 'give', input: { bytes: 8 * MiB } }], repeat: 2 })
  assert.equal((await server.turn(large, words)).status, 200)
  for (const [which, direction] of Object.entries(directions))
    for (const [name, connected] of Object.entries(connections(server, small, large))) {
      const socket = await connected()
      assert.ok(await isKept(server), `${name}: it is open`)
      const mend = cut(direction)
      await until(async () => !(await isKept(server)), 60_000)
      mend()
      socket.destroy()
      process.stdout.write(`${name}, without ${which}: given up\n`)
      assert.equal((await server.turn(small, 'hello')).status, 200)
    }
} finally {
  for (const end of ends) await end()
}
