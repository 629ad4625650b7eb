// Traces of a real server process, as a collector and a model API see them.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { folder, root, type Served, serve } from '../cli/rig.ts'
import { type CollectedSpan, type Collector, startCollector } from './collector.ts'

const caller = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' }
const traceparent = `00-${caller.traceId}-${caller.spanId}-01`
const secret = 'the words of a user'

const config = `
import { defineConfig, tool } from '${join(root, 'src/index.ts')}'
import { scripted } from '${join(root, 'src/index.ts')}'
const model = scripted([
  { calls: [{ name: 'get_weather', input: { city: 'Paris' } }, { name: 'break', input: {} }], usage: { input: 11, output: 7 } },
  { calls: [{ name: 'wipe', input: {} }] },
  { text: 'Done.', usage: { input: 5, output: 3 } },
])
const input = { type: 'object' }
export default defineConfig({
  agents: [{
    name: 'helper',
    model,
    tools: [
      tool({
        name: 'get_weather', description: 'The weather.', trust: 'trusted', readOnly: true, input,
        run: (_, { trace }) => trace?.traceparent ?? 'no trace',
      }),
      tool({ name: 'break', description: 'Breaks.', trust: 'trusted', input, run() { throw new RangeError('broken') } }),
      tool({ name: 'wipe', description: 'Wipes.', trust: 'ask', input, run: () => 'wiped' }),
    ],
  }],
})
`

type Answer = { sessionId: string; stopReason: string; messages: { content: unknown }[] }

async function traced(t: TestContext, env: Record<string, string> = {}) {
  const collector = await startCollector(t)
  const cwd = folder(t)
  writeFileSync(join(cwd, 'turnwire.config.ts'), config)
  const OTEL_EXPORTER_OTLP_ENDPOINT = collector.url
  const server = await serve(t, { cwd, env: { OTEL_EXPORTER_OTLP_ENDPOINT, ...env } })
  return { collector, server, cwd, env: { OTEL_EXPORTER_OTLP_ENDPOINT, ...env } }
}

async function send(server: Served, path: string, method: string, body: object): Promise<Answer> {
  const response = await fetch(`${server.url}${path}`, {
    method,
    headers: { 'content-type': 'application/json', traceparent },
    body: JSON.stringify(body),
  })
  assert.ok(response.ok, await response.clone().text())
  return (await response.json()) as Answer // Looked at by its readers.
}

const begin = (server: Served) =>
  send(server, '/session', 'PUT', {
    agent: {
      name: 'helper',
      tools: ['get_weather', 'break', 'wipe'].map(name => ({ name, trust: name !== 'wipe' })),
    },
    messages: [{ role: 'user', content: secret }],
  })

/** What is still held back is sent when the process stops. */
async function stop(server: Served): Promise<void> {
  server.child.kill('SIGTERM')
  assert.equal(await server.exit, 0, server.stderr())
}

function named(collector: Collector, name: string): CollectedSpan[] {
  return collector.spans.filter(span => span.name === name)
}

async function approve(server: Served, session: string, callId: string): Promise<void> {
  const { stopReason } = await send(server, `/session/${session}`, 'POST', {
    messages: [{ role: 'tool_permission', toolCallId: callId, granted: true }],
  })
  assert.equal(stopReason, 'end_turn')
}

describe('traces', () => {
  it('a turn is one trace below its caller: its stretches, model requests and calls, also after a restart', async t => {
    const { collector, server, cwd, env } = await traced(t)
    const { sessionId, stopReason, ...rest } = await begin(server)
    assert.equal(stopReason, 'tool_use', JSON.stringify(rest))
    const history = JSON.stringify(rest)
    await stop(server)
    const stopped = collector.spans.length
    const again = await serve(t, { cwd, env })
    await approve(again, sessionId, /"toolCallId":"(call_\w+)","name":"wipe"/.exec(history)?.[1] ?? history)
    await stop(again)
    assert.deepEqual(collector.refused, [])
    assert.ok(collector.spans.length > stopped)
    const [first, second] = named(collector, 'invoke_agent helper')
    assert.ok(first && second)
    assert.deepEqual([first.traceId, first.parentSpanId], [caller.traceId, caller.spanId])
    assert.deepEqual([second.traceId, second.parentSpanId], [caller.traceId, first.spanId])
    assert.equal(first.attributes['turnwire.turn.stop'], 'waiting')
    assert.equal(second.attributes['turnwire.turn.stop'], 'end')
    assert.equal(first.attributes['gen_ai.conversation.id'], sessionId)
    for (const span of collector.spans) assert.equal(span.traceId, caller.traceId, span.name)
    const steps = collector.spans.filter(({ name }) => name.startsWith('chat '))
    assert.deepEqual(
      steps.map(({ parentSpanId }) => parentSpanId),
      [first.spanId, first.spanId, second.spanId],
    )
    assert.equal(steps[0]?.attributes['gen_ai.usage.input_tokens'], 11)
    assert.equal(steps[0]?.kind, 3)
    const [weather] = named(collector, 'execute_tool get_weather')
    const [broken] = named(collector, 'execute_tool break')
    const [wiped] = named(collector, 'execute_tool wipe')
    assert.deepEqual([weather?.parentSpanId, weather?.failed], [first.spanId, false])
    assert.deepEqual([broken?.attributes['error.type'], broken?.failed], ['RangeError', true])
    assert.equal(wiped?.parentSpanId, second.spanId)
    assert.ok(
      history.includes(`00-${caller.traceId}-${weather?.spanId}-01`),
      'the tool was given its own span',
    )
  })

  it('the service is named, and metrics follow the conventions without the id of a session', async t => {
    const { collector, server } = await traced(t, { OTEL_SERVICE_NAME: 'my-agents' })
    await begin(server)
    await stop(server)
    assert.ok(collector.resources.length > 0)
    for (const resource of collector.resources) assert.equal(resource['service.name'], 'my-agents')
    const durations = collector.metrics.get('gen_ai.client.operation.duration') ?? []
    assert.deepEqual(
      new Set(durations.map(point => point['gen_ai.operation.name'])),
      new Set(['chat', 'execute_tool']),
    )
    assert.ok((collector.metrics.get('gen_ai.client.token.usage') ?? []).length >= 2)
    for (const points of collector.metrics.values())
      for (const point of points) assert.equal(point['gen_ai.conversation.id'], undefined)
  })

  it('words are recorded only when that is asked for', async t => {
    const without = await traced(t)
    await begin(without.server)
    await stop(without.server)
    assert.doesNotMatch(JSON.stringify(without.collector.spans), /the words of a user|Paris/)
    const withContent = await traced(t, { OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true' })
    await begin(withContent.server)
    await stop(withContent.server)
    assert.match(JSON.stringify(withContent.collector.spans), /the words of a user/)
    const [weather] = named(withContent.collector, 'execute_tool get_weather')
    assert.match(String(weather?.attributes['gen_ai.tool.call.arguments']), /Paris/)
  })

  it('a collector that is away keeps nothing from working, and the server stops', async t => {
    const cwd = folder(t)
    writeFileSync(join(cwd, 'turnwire.config.ts'), config)
    const server = await serve(t, { cwd, env: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' } })
    assert.equal((await begin(server)).stopReason, 'tool_use')
    await stop(server)
  })
})
