// An MCP server with one tool, which behaves as its first argument names. It writes the legacy revision of the protocol.
import { createInterface } from 'node:readline'

type Message = { id?: number; method?: string; params?: { _meta?: { progressToken?: number } } }

const [scenario = 'answers'] = process.argv.slice(2)
const sky = { type: 'object', properties: { sky: { type: 'string' } }, required: ['sky'] }
const hasOutput = scenario === 'answers' || scenario === 'wrong'
const weather = {
  name: 'weather',
  description: 'The weather of a city.',
  inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  ...(hasOutput && { outputSchema: sky }),
}

function send(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
}

function call(id: number, progressToken: number | undefined): void {
  const text = (words: string) => [{ type: 'text', text: words }]
  switch (scenario) {
    case 'fails':
      return send({ id, result: { content: text('no such city'), isError: true } })
    case 'slow':
      return
    case 'huge':
      return send({ id, result: { content: text('cloud '.repeat(50_000)) } })
    case 'wrong':
      return send({ id, result: { content: text('3'), structuredContent: { sky: 3 } } })
    case 'reports':
      send({ method: 'notifications/progress', params: { progressToken, progress: 1, total: 2 } })
      setTimeout(() => send({ id, result: { content: text('done') } }), 50)
      return
    default:
      return send({ id, result: { content: text('{"sky":"blue"}'), structuredContent: { sky: 'blue' } } })
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line) as Message // The client of these tests writes nothing else.
  if (id === undefined) continue
  if (method === 'initialize')
    send({
      id,
      result: {
        protocolVersion: '2025-11-25',
        capabilities: { tools: {} },
        serverInfo: { name: 'contract', version: '1' },
      },
    })
  else if (method === 'tools/list') send({ id, result: { tools: [weather] } })
  else if (method === 'tools/call') call(id, params?._meta?.progressToken)
  else send({ id, error: { code: -32601, message: 'Method not found' } })
}
