// An MCP server of the revision 2025-11-25, written by hand, that asks its client while a call runs, and logs. A call gives what
// it was answered. Its first argument is how many calls must be there before it asks; the second is the path of a file.
import { appendFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

type Message = {
  id?: number | string
  method?: string
  params?: Record<string, unknown>
  result?: unknown
  error?: unknown
}

const [together = '1', file = ''] = process.argv.slice(2)
const waiting: { id: number | string; wanted: string }[] = []
/** By the id of a request to the client: the call that it belongs to, and what came of its requests. */
const asked = new Map<string, { id: number | string; answers: string[]; wants: number }>()

function send(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
}

const messages = [{ role: 'user', content: { type: 'text', text: 'Say hi.' } }]
const tools = [{ name: 'x', inputSchema: { type: 'object' } }]
const form = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }
const requests: Record<string, object> = {
  sample: { method: 'sampling/createMessage', params: { messages, maxTokens: 10 } },
  'sample-twice': { method: 'sampling/createMessage', params: { messages, maxTokens: 10 } },
  'sample-with-tools': { method: 'sampling/createMessage', params: { messages, maxTokens: 10, tools } },
  ask: { method: 'elicitation/create', params: { message: 'Who are you?', requestedSchema: form } },
}

function ask(): void {
  if (waiting.length < Number(together)) return
  for (const { id, wanted } of waiting.splice(0)) {
    const wants = wanted === 'sample-twice' ? 2 : 1
    const about = { id, answers: [], wants }
    for (let count = 0; count < wants; count += 1) {
      const own = `q${asked.size}`
      asked.set(own, about)
      send({ id: own, ...requests[wanted] })
    }
  }
}

function call(id: number | string, wanted: unknown): void {
  for (const level of ['debug', 'warning', 'error'])
    send({ method: 'notifications/message', params: { level, logger: 'hand', data: `${level} of a call` } })
  if (typeof wanted !== 'string') {
    send({ id, result: { content: [{ type: 'text', text: 'done' }] } })
    return
  }
  waiting.push({ id, wanted })
  ask()
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params = {}, result, error } = JSON.parse(line) as Message // The client of these tests writes nothing else.
  if (id === undefined) continue
  if (method === undefined) {
    const about = asked.get(String(id))
    about?.answers.push(JSON.stringify(result ?? error))
    if (about?.answers.length === about?.wants)
      send({ id: about?.id, result: { content: [{ type: 'text', text: about?.answers.join() }] } })
  } else if (method === 'initialize') {
    const capabilities = { tools: {}, logging: {} }
    appendFileSync(file, `capabilities ${JSON.stringify(params['capabilities'])}\n`)
    send({
      id,
      result: { protocolVersion: '2025-11-25', capabilities, serverInfo: { name: 'asking', version: '1' } },
    })
  } else if (method === 'logging/setLevel') {
    appendFileSync(file, `level ${String(params['level'])}\n`)
    send({ id, result: {} })
  } else if (method === 'tools/list')
    send({
      id,
      result: {
        tools: [{ name: 'do', inputSchema: { type: 'object', properties: { wanted: { type: 'string' } } } }],
      },
    })
  else if (method === 'tools/call')
    call(id, (params['arguments'] as { wanted?: unknown } | undefined)?.wanted)
  else send({ id, error: { code: -32601, message: 'Method not found' } })
}
