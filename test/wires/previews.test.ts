// What a call would do is shown on every wire that asks about it, and what a tool did where the wire has room for it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scripted, startServer, Turnwire, tool } from '../../src/index.ts'

const change = tool({
  name: 'change',
  description: 'Changes files.',
  input: { type: 'object' },
  preview: () => ({ diffs: [{ path: 'a.txt', oldText: 'one', newText: 'two' }] }),
  run: () => ({ parts: [], structured: null, report: { locations: [{ path: 'done.txt' }] } }),
})

const shown = '"preview":{"diffs":[{"path":"a.txt","oldText":"one","newText":"two"}]}'

async function serve(t: { after(run: () => unknown): void }) {
  const turnwire = await Turnwire.open({
    agents: [
      {
        name: 'a',
        model: scripted(({ history }) =>
          history.at(-1)?.role === 'user' ? { calls: [{ name: 'change', input: {} }] } : { text: 'done' },
        ),
        tools: [change],
      },
    ],
    data: 'memory',
  })
  t.after(() => turnwire.close())
  const server = await startServer(turnwire, { port: 0 })
  t.after(() => server.stop())
  return async (method: string, path: string, body: object): Promise<string> => {
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(`${server.url}${path}`, { method, headers, body: JSON.stringify(body) })
    assert.ok(answer.ok, `${path}: ${answer.status}`)
    return answer.text()
  }
}

test('AAP has the preview in asks, and the report with the result', async t => {
  const send = await serve(t)
  const body = { agent: { name: 'a', tools: [{ name: 'change' }] }, stream: 'delta' }
  const asked = await send('PUT', '/session', { ...body, messages: [{ role: 'user', content: 'go' }] })
  assert.match(asked, /"asks":\[\{"toolCallId":"[^"]+","preview":/)
  assert.ok(asked.includes(shown))
})

test('DeltaKit has it in tool_approval_request, and the report in tool_result', async t => {
  const send = await serve(t)
  const asked = await send('POST', '/api/chat', { message: 'go', serverTools: true })
  assert.ok(asked.includes(shown), asked)
})

test('AG-UI has it in the metadata of the interrupt', async t => {
  const send = await serve(t)
  const asked = await send('POST', '/agui/a', {
    threadId: 't',
    runId: 'r',
    state: {},
    messages: [{ id: '1', role: 'user', content: 'go' }],
    tools: [],
    context: [],
    forwardedProps: {},
  })
  assert.ok(asked.includes(`"metadata":{${shown}}`), asked)
})

test('the AI SDK has it as a data part before the request', async t => {
  const send = await serve(t)
  const asked = await send('POST', '/ui/a', {
    id: 'chat',
    messages: [{ id: '1', role: 'user', parts: [{ type: 'text', text: 'go' }] }],
  })
  assert.match(asked, /"type":"data-preview".*\n\n.*"type":"tool-approval-request"/)
  assert.ok(asked.includes(shown), asked)
})
