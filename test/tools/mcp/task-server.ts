// An MCP server of the revision 2025-11-25, written by hand, with one tool. Its first argument says how it behaves: tasks that
// never end or whose server dies, and calls that need an address to be opened. It writes what it is asked to a file.
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

type Message = { id?: number; method?: string; params?: Record<string, unknown> }

const [mode = ''] = process.argv.slice(2)
const file = process.env['LOG'] ?? ''
const isTask = !mode.startsWith('url')
const now = new Date().toISOString()
const task = { taskId: 't1', status: 'working', createdAt: now, lastUpdatedAt: now, ttl: null }
const worked = { content: [{ type: 'text', text: 'worked' }] }
const tool = {
  name: 'work',
  description: 'Works.',
  inputSchema: { type: 'object' },
  ...(isTask && { execution: { taskSupport: 'required' } }),
}

function send(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
}

/** How often it was asked this, in the life of all processes of a test. */
function asked(line: string): number {
  appendFileSync(file, `${line}\n`)
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter(each => each === line).length
}

function call(id: number, params: Record<string, unknown>): void {
  const count = asked('tools/call')
  if (isTask) {
    if (params['task'] === undefined) send({ id, error: { code: -32601, message: 'only as a task' } })
    else send({ id, result: { task } })
    return
  }
  if (count > 2) {
    send({ id, result: worked })
    return
  }
  const elicitations = Array.from({ length: mode === 'url-four' ? 4 : 1 }, (_, at) => ({
    mode: 'url',
    elicitationId: `e${at + 1}`,
    url: `https://pay.example/${at + 1}`,
    message: 'Pay first.',
  }))
  send({ id, error: { code: -32042, message: 'not paid', data: { elicitations } } })
  if (mode === 'url' && count === 2)
    setTimeout(
      () => send({ method: 'notifications/elicitation/complete', params: { elicitationId: 'e1' } }),
      50,
    )
}

const capabilities = { tools: {}, tasks: { cancel: {}, requests: { tools: { call: {} } } } }
const answers: Record<string, (id: number, params: Record<string, unknown>) => void> = {
  initialize: id =>
    send({
      id,
      result: { protocolVersion: '2025-11-25', capabilities, serverInfo: { name: 'hand', version: '1' } },
    }),
  'tools/list': id => send({ id, result: { tools: [tool] } }),
  'tools/call': call,
  'tasks/result': id => {
    const count = asked('tasks/result')
    if (mode === 'endless') return
    if (mode === 'dies' && count === 1) process.exit(1)
    send({ id, result: { ...worked, _meta: { 'io.modelcontextprotocol/related-task': { taskId: 't1' } } } })
  },
  'tasks/cancel': (id, { taskId }) => {
    asked(`tasks/cancel ${String(taskId)}`)
    send({ id, result: { ...task, status: 'cancelled' } })
  },
}

if (!existsSync(file)) appendFileSync(file, '')
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method = '', params = {} } = JSON.parse(line) as Message // The client of these tests writes nothing else.
  if (id === undefined) continue
  const answer = answers[method]
  if (answer) answer(id, params)
  else send({ id, error: { code: -32601, message: 'Method not found' } })
}
