// Records what a client sends, as a proxy before the server. Long texts are shortened, and what names the machine or the user
// is left out: a recording is for the shape of the requests.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Json, JsonObject } from '../../src/lib/json/index.ts'
import { proof } from './server.ts'

export type RecordedRequest = { path: string; headers: Record<string, string>; body: Json }

const longest = 40
const keptHeaders = /^(?:content-type|accept|anthropic-|x-stainless-|x-app$|x-goog-api-client$|user-agent$)/

export async function recordBefore(
  url: string,
): Promise<{ url: string; requests: RecordedRequest[]; stop(): void }> {
  const requests: RecordedRequest[] = []
  const forward = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await textOf(request)
    const headers = Object.entries(request.headers).flatMap(([name, value]): [string, string][] =>
      typeof value === 'string' && !/^(?:host|connection|content-length)$/.test(name) ? [[name, value]] : [],
    )
    const path = request.url ?? '/'
    if (body !== '')
      requests.push({
        path,
        headers: Object.fromEntries(headers.filter(([name]) => keptHeaders.test(name))),
        body: shortened(JSON.parse(body) as Json), // JSON text gives nothing else.
      })
    const answer = await fetch(url + path, {
      method: request.method ?? 'GET',
      headers,
      ...(body !== '' && { body }),
    })
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'text/plain' })
    for await (const chunk of answer.body ?? []) response.write(chunk)
    response.end()
  }
  const server = createServer((request, response) => {
    forward(request, response).catch(() => response.destroy())
  })
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo // It listens on TCP.
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    stop: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer) // A request without an encoding gives bytes.
  return Buffer.concat(chunks).toString()
}

function shortened(value: Json, name = ''): Json {
  if (Array.isArray(value)) return value.map(each => shortened(each))
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => [key, shortened(each, key)]),
    ) satisfies JsonObject
  if (typeof value !== 'string') return value
  if (name === 'user_id') return 'user'
  const plain = value.replaceAll(/\/(?:tmp|root|home)\/[\w./-]+/g, '/folder')
  // Addresses, patterns, seals and JSON text are no prose.
  const isProse = /\s/.test(plain) && !/^[[{]/.test(plain) && !plain.includes(proof)
  return isProse && plain.length > longest ? `${plain.slice(0, longest)}…` : plain
}
