// A proxy that spoils what a good server answers: one defect at a time.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { WebSocket, WebSocketServer } from 'ws'
import type { Defect } from './defects.ts'

export type Spoiler = { url: string; setDefect(defect: Defect): void }

export async function spoil(t: TestContext, behind: string): Promise<Spoiler> {
  let defect: Defect = answer => answer
  const server = createServer((request, response) => {
    pass(behind, request, response, () => defect).catch((error: unknown) => response.destroy(error as Error)) // Seen by the suite.
  })
  const sockets = new WebSocketServer({ server })
  sockets.on('connection', (client, request) => {
    const agent = new WebSocket(`${behind.replace('http', 'ws')}${request.url}`)
    const opened = once(agent, 'open')
    client.on('message', (data: Buffer) => {
      void opened.then(() => agent.send(data.toString()))
    })
    agent.on('message', (data: Buffer) => {
      client.send(defect({ status: 200, headers: {}, body: data.toString() }, '', '').body)
    })
    client.on('close', () => agent.close())
    agent.on('close', () => client.close())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(async () => {
    for (const client of sockets.clients) client.terminate()
    sockets.close()
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  const { port } = server.address() as AddressInfo // It listens on a port.
  return {
    url: `http://127.0.0.1:${port}`,
    setDefect(next) {
      defect = next
    },
  }
}

async function pass(
  behind: string,
  request: IncomingMessage,
  response: ServerResponse,
  defect: () => Defect,
): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer) // Without an encoding.
  const { host: _, connection: __, 'content-length': ___, ...given } = request.headers
  const headers = Object.entries(given).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, String(value)]],
  )
  const { method = 'GET', url = '/' } = request
  const answer = await fetch(`${behind}${url}`, {
    method,
    headers,
    ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
  })
  const spoiled = defect()(
    { status: answer.status, headers: Object.fromEntries(answer.headers), body: await answer.text() },
    url,
    method,
  )
  const {
    'content-length': ____,
    'transfer-encoding': _____,
    'content-encoding': ______,
    ...kept
  } = spoiled.headers
  response.writeHead(spoiled.status, kept)
  response.end(spoiled.status === 204 ? undefined : spoiled.body)
}
