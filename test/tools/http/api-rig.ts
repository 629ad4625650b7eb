// A real API on this machine that answers with what it was sent, and a context whose egress rule allows it.
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import type { ToolContext } from '../../../src/engine/ports/index.ts'
import type { Json } from '../../../src/lib/json/index.ts'
import { Egress } from '../../../src/lib/net/egress.ts'
import { contextFor } from '../../../src/testing/contracts/tool.ts'

export type SeenRequest = {
  method: string
  url: string
  headers: Record<string, string | string[] | undefined>
  body: string
}

export type Api = {
  url: string
  host: string
  seen: SeenRequest[]
  /** What the next requests are answered; by default what was sent. */
  answer: (request: SeenRequest) => { status?: number; type?: string; body?: string | Buffer }
  context(changes?: Partial<ToolContext>): ToolContext
}

export async function startApi(t: TestContext): Promise<Api> {
  const server = createServer((request, response) => {
    void read(request).then(seen => {
      api.seen.push(seen)
      const { status = 200, type = 'application/json', body = JSON.stringify(seen) } = api.answer(seen)
      response.writeHead(status, { 'content-type': type }).end(body)
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const egress = new Egress({ privateHosts: [host] })
  t.after(() => {
    egress.close()
    server.closeAllConnections()
    server.close()
  })
  const api: Api = {
    url: `http://${host}`,
    host,
    seen: [],
    answer: () => ({}),
    context: changes => contextFor({ fetch: (input, init) => egress.fetch(input, init), ...changes }),
  }
  return api
}

async function read(request: IncomingMessage): Promise<SeenRequest> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const { method = '', url = '', headers } = request
  return { method, url, headers, body: Buffer.concat(chunks).toString() }
}

export function shown(output: { parts: { type: string; text?: string }[] }): string {
  return output.parts.map(part => part.text ?? `[${part.type}]`).join('\n')
}

export type { Json }
