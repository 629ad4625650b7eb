// What stands between Turnwire and a chat: it checks the signature of each message and hands it on.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'

export type Message = {
  type: string
  data: {
    session: string
    agent: string
    tool?: string
    reason?: string
    stop?: string
    link?: { url: string }
  }
}

/** A message that comes again, as it may, is posted once. One that could not be posted is answered 502, so that it comes again. */
export async function startReceiver(
  secret: string,
  post: (message: Message) => Promise<void>,
): Promise<{ url: string; close(): void }> {
  const webhook = new Webhook(secret)
  const seen = new Set<string>()
  const answer = async (request: IncomingMessage): Promise<number> => {
    const body = Buffer.concat(await request.toArray()).toString()
    let message: Message
    try {
      message = webhook.verify(body, request.headers as Record<string, string>) as Message
    } catch {
      return 401
    }
    const id = String(request.headers['webhook-id'])
    try {
      if (!seen.has(id)) await post(message)
    } catch (error) {
      console.error(error)
      return 502
    }
    seen.add(id)
    return 204
  }
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> =>
    void response.writeHead(await answer(request)).end()
  const server = createServer((request, response) => void receive(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/hooks`, close: () => void server.close() }
}
