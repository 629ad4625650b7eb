// An agent's own tools on this wire, where the operator allows them: they are shown as calls that the server runs.
import assert from 'node:assert/strict'
import test from 'node:test'
import { cites } from '../../requirements/manifest.ts'
import { type Body, eventsOf, type Item, latch, ok, refused, rig, textOf, weather } from './rig.ts'

const found = (body: Body, type: string): Item[] => body.output.filter(item => item.type === type)
const base = { model: 'helper', store: true, input: 'go' }

test(cites('RESP-HOST-01', 'a trusted tool runs inline and is shown as a call of the server'), async t => {
  const script = [
    { calls: [{ name: 'hidden', input: { q: 'x' } }] },
    { text: 'done', expect: { results: [{ text: 'from behind' }] } },
  ]
  const at = await rig(t, { serverTools: true, script })
  const made = await ok(at.post(base))
  assert.deepEqual(at.runs, [{ tool: 'hidden', input: { q: 'x' } }])
  const [item] = found(made, 'mcp_call')
  assert.deepEqual(
    { ...item, id: '' },
    {
      type: 'mcp_call',
      id: '',
      server_label: 'helper',
      name: 'hidden',
      arguments: '{"q":"x"}',
      output: 'from behind',
      error: null,
      status: 'completed',
      approval_request_id: null,
    },
  )
  assert.equal(textOf(made), 'done')
  assert.deepEqual(await ok(at.get(`/v1/responses/${made.id}`)), made)
  const events = await eventsOf(at.post({ ...base, stream: true }))
  const names = events.map(event => event.type)
  for (const name of ['mcp_call_arguments.done', 'mcp_call.in_progress', 'mcp_call.completed'])
    assert.ok(names.includes(`response.${name}` as (typeof names)[0]), name)
  // The whole conversation may be sent back, without any state.
  const again = [{ role: 'user', content: 'go' }, ...made.output, { role: 'user', content: 'more' }]
  const stateless = await ok(at.post({ model: 'helper', input: again.slice(0, -2) }))
  assert.equal(stateless.status, 'completed')
})

const asking = [
  {
    calls: [
      { name: 'mail', input: { to: 'ana' } },
      { name: 'get_weather', input: { city: 'A' } },
    ],
  },
  { text: 'all settled' },
]

test(
  cites('RESP-HOST-02', 'a tool that needs approval waits for it, beside the calls of the client'),
  async t => {
    const at = await rig(t, { serverTools: true, script: asking })
    const made = await ok(at.post({ ...base, tools: [weather] }))
    const [request] = found(made, 'mcp_approval_request')
    const [own] = found(made, 'function_call')
    assert.deepEqual(
      [request?.name, request?.['server_label'], request?.arguments],
      ['mail', 'helper', '{"to":"ana"}'],
    )
    assert.deepEqual(at.runs, [])
    const approve = { type: 'mcp_approval_response', approval_request_id: request!.id, approve: true }
    const answer = { type: 'function_call_output', call_id: own!.call_id, output: 'sunny' }
    const send = (input: object[]) =>
      at.post({ model: 'helper', tools: [weather], previous_response_id: made.id, input })
    assert.match(
      (await refused(send([answer]))).message,
      /^No approval response found for approval request mcpr_/,
    )
    assert.match((await refused(send([approve]))).message, /^No tool output found for function call/)
    assert.deepEqual(at.runs, [])
    const again = await at.restart()
    const done = await ok(
      again.post({
        model: 'helper',
        tools: [weather],
        previous_response_id: made.id,
        input: [approve, answer],
      }),
    )
    assert.deepEqual(again.runs, [{ tool: 'mail', input: { to: 'ana' } }])
    const [ran] = found(done, 'mcp_call')
    assert.deepEqual([ran?.['output'], ran?.['approval_request_id']], ['sent to ana', request!.id])
    assert.equal(textOf(done), 'all settled')
    assert.deepEqual(await ok(again.get(`/v1/responses/${done.id}`)), done)
  },
)

test(cites('RESP-HOST-03', 'a denial is shown as a call that failed'), async t => {
  const script = [{ calls: [{ name: 'mail', input: { to: 'ana' } }] }, { text: 'as you wish' }]
  const at = await rig(t, { serverTools: true, script })
  const made = await ok(at.post(base))
  const [request] = found(made, 'mcp_approval_request')
  const deny = {
    type: 'mcp_approval_response',
    approval_request_id: request!.id,
    approve: false,
    reason: 'not now',
  }
  const done = await ok(at.post({ model: 'helper', previous_response_id: made.id, input: [deny] }))
  const [ran] = found(done, 'mcp_call')
  assert.equal(ran?.['status'], 'failed')
  assert.deepEqual(ran?.['error'], { type: 'mcp_tool_execution_error', content: 'Tool call denied: not now' })
  assert.deepEqual([at.runs, textOf(done)], [[], 'as you wish'])
})

test(cites('RESP-HOST-04', 'no server tool is offered unless the operator allows it'), async t => {
  const at = await rig(t, { script: [{ text: 'nothing here', expect: { tools: [] } }] })
  assert.equal(textOf(await ok(at.post(base))), 'nothing here')
  const allowed = await rig(t, {
    serverTools: true,
    script: [{ text: 'all of them', expect: request => request.tools.some(tool => tool.name === 'hidden') }],
  })
  assert.equal(textOf(await ok(allowed.post(base))), 'all of them')
})

test(cites('RESP-HOST-04', 'a tool that another connection has attached is not offered either'), async t => {
  const at = await rig(t, {
    script: [
      { text: 'hi' },
      { calls: [{ name: 'attached', input: {} }], expect: { tools: [] } },
      { text: 'no such tool' },
    ],
  })
  const made = await ok(at.post({ ...base, store: true }))
  const { agents } = await at.engine.describe()
  const offered = { ...agents[0]!.tools[0]!, name: 'attached', trust: 'trusted', side: 'server' } as const
  const tool = { ...offered, timeoutMs: 1000, retries: 0, outputLimit: 1000 }
  const items: unknown[] = []
  const gone = new AbortController()
  t.after(() => gone.abort())
  const attached = latch()
  void (async () => {
    for await (const batch of at.engine.attach(
      { owner: 'alice', session: made.conversation.id },
      [tool],
      gone.signal,
    )) {
      items.push(...batch)
      attached.open()
    }
  })()
  await attached.wait()
  const done = await ok(at.post({ model: 'helper', previous_response_id: made.id, input: 'go' }))
  assert.deepEqual([textOf(done), items], ['no such tool', [{ type: 'attached' }]])
})

test(cites('RESP-HOST-05', 'an approval that nobody asked for is refused'), async t => {
  const at = await rig(t, { serverTools: true, script: [{ text: 'hi' }] })
  const made = await ok(at.post(base))
  const stray = { type: 'mcp_approval_response', approval_request_id: 'mcpr_x', approve: true }
  const message = 'No approval request found for approval response with id mcpr_x.'
  for (const body of [
    { model: 'helper', input: [stray] },
    { model: 'helper', previous_response_id: made.id, input: [stray] },
  ])
    assert.equal((await refused(at.post(body))).message, message)
})

test(
  cites(
    'RESP-HOST-01',
    'a tool that fails is shown as failed, and a client tool may not have the name of a server tool',
  ),
  async t => {
    const script = [
      {
        calls: [
          { name: 'hidden', input: { q: 'x' } },
          { name: 'fails', input: {} },
        ],
      },
      { text: 'ok' },
    ]
    const at = await rig(t, { serverTools: true, script })
    const made = await ok(at.post(base))
    assert.equal(found(made, 'mcp_approval_request').length + found(made, 'mcp_call').length, 2)
    const clash = await refused(at.post({ ...base, tools: [{ ...weather, name: 'hidden' }] }))
    assert.equal(clash.code, 'tool_name_conflict')
  },
)
