// What stands between Turnwire and a chat: it checks the signature of each message, and posts a line with the link. Replace
// `post` with a request to your chat, such as Slack's incoming webhooks.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'

type Message = {
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

/** `post` is given the text of a chat message. A message that comes twice, as it may, is posted once. */
export async function startReceiver(
  secret: string,
  post: (text: string) => void,
): Promise<{ url: string; close(): void }> {
  const webhook = new Webhook(secret)
  const seen = new Set<string>()
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = Buffer.concat(await request.toArray()).toString()
    try {
      const message = webhook.verify(body, request.headers as Record<string, string>) as Message
      const id = String(request.headers['webhook-id'])
      if (!seen.has(id)) post(chatLine(message))
      seen.add(id)
      response.writeHead(204).end()
    } catch {
      response.writeHead(401).end()
    }
  }
  const server = createServer((request, response) => void receive(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/hooks`, close: () => void server.close() }
}

function chatLine({ type, data }: Message): string {
  if (type === 'approval.requested')
    return `${data.agent} wants to run ${data.tool}. Decide: ${data.link?.url}`
  return `${data.agent}: ${type} (${data.stop ?? data.tool ?? ''})`
}
