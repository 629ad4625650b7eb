// An incoming webhook as Slack has it, as strict about the form of a message: the blocks and elements that an approval needs, with
// Slack's limits, and nothing beside them.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import * as z from 'zod'

const plain = (most: number) =>
  z.strictObject({ type: z.literal('plain_text'), text: z.string().min(1).max(most) })
const markdown = z.strictObject({ type: z.literal('mrkdwn'), text: z.string().min(1).max(3_000) })
const button = z.strictObject({
  type: z.literal('button'),
  text: plain(75),
  url: z.url().max(3_000),
  action_id: z.string().min(1).max(255),
})
const section = z.strictObject({ type: z.literal('section'), text: z.union([plain(3_000), markdown]) })
const actions = z.strictObject({ type: z.literal('actions'), elements: z.array(button).min(1).max(25) })
const blocks = z
  .array(z.discriminatedUnion('type', [section, actions]))
  .min(1)
  .max(50)

export type SlackMessage = { text: string; blocks: z.infer<typeof blocks>; links: string[] }
export type Slack = { url: string; messages: SlackMessage[]; refused: string[] }

export async function startSlack(t: TestContext): Promise<Slack> {
  const slack: Slack = { url: '', messages: [], refused: [] }
  const server = createServer((request, response) => {
    void request.toArray().then(pieces => {
      const body = Buffer.concat(pieces as Buffer[]).toString()
      const isJson = request.method === 'POST' && request.headers['content-type'] === 'application/json'
      const read = isJson ? readMessage(body) : 'invalid_payload'
      if (typeof read === 'string') slack.refused.push(read)
      else slack.messages.push(read)
      response.writeHead(typeof read === 'string' ? 400 : 200, { 'content-type': 'text/html' })
      response.end(typeof read === 'string' ? read : 'ok')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  slack.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/services/T0/B0/secret`
  return slack
}

/** The message, or the error that Slack answers. */
function readMessage(body: string): SlackMessage | 'invalid_payload' | 'no_text' | 'invalid_blocks' {
  let value: unknown
  try {
    value = JSON.parse(body)
  } catch {
    return 'invalid_payload'
  }
  const outer = z.strictObject({ text: z.string(), blocks: z.unknown() }).safeParse(value)
  if (!outer.success) return 'invalid_payload'
  if (outer.data.text === '') return 'no_text'
  const inner = blocks.safeParse(outer.data.blocks)
  if (!inner.success) return 'invalid_blocks'
  const links = inner.data.flatMap(block =>
    block.type === 'actions' ? block.elements.map(({ url }) => url) : [],
  )
  return { text: outer.data.text, blocks: inner.data, links }
}
