// A port for a program that cannot choose one itself, or that must be known before it starts.
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Systems give outgoing connections ports from 32768 on: such a port could be taken again before the program listens. */
const [from, to] = [10_000, 32_000]

export async function freePort(): Promise<number> {
  for (;;) {
    const port = from + Math.floor(Math.random() * (to - from))
    const server = createServer().listen(port, '127.0.0.1')
    try {
      await once(server, 'listening')
    } catch {
      continue
    }
    server.close()
    await once(server, 'close')
    return port
  }
}
