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
  const results: Record<string, object> = {
    fails: { content: text('no such city'), isError: true },
    huge: { content: text('cloud '.repeat(50_000)) },
    wrong: { content: text('3'), structuredContent: { sky: 3 } },
    reports: { content: text('done') },
  }
  if (scenario === 'slow') return
  if (scenario === 'reports')
    send({ method: 'notifications/progress', params: { progressToken, progress: 1, total: 2 } })
  const blue = { content: text('{"sky":"blue"}'), structuredContent: { sky: 'blue' } }
  setTimeout(() => send({ id, result: results[scenario] ?? blue }), scenario === 'reports' ? 50 : 0)
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
