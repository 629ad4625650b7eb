// Programs that a vendor runs and that call our tools, from the first request to the last, against the strict doubles:
// Anthropic's code execution with its container, and OpenAI's `program` items. The program waits while a person decides and
// while the process is restarted, its container may expire meanwhile, and each call is judged by our own rule.
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { Store } from '../../src/engine/ports/index.ts'
import type { JsonObject } from '../../src/lib/json/index.ts'
import { Turnwire } from '../../src/library/turnwire.ts'
import { anthropic, openai } from '../../src/models/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import {
  type RunningDouble,
  type ScriptedTurn,
  startDouble,
  type VendorName,
} from '../../src/testing/index.ts'
import { tool } from '../../src/tools/index.ts'
import { bodies } from '../tools/search/rig.ts'

type Vendor = 'anthropic' | 'openai-responses'

const makers = {
  anthropic: (double: RunningDouble) =>
    anthropic({
      model: 'claude-sonnet-4-5',
      apiKey: 'k',
      baseUrl: double.url,
      limits: { retries: 0 },
      hosted: [{ type: 'code_execution_20260120', name: 'code_execution' }],
    }),
  'openai-responses': (double: RunningDouble) =>
    openai({
      model: 'gpt-5.4',
      apiKey: 'k',
      baseUrl: `${double.url}/v1`,
      limits: { retries: 0 },
      hosted: [{ type: 'programmatic_tool_calling' }],
    }),
}

type Rig = {
  double: RunningDouble
  /** What ran, in order. */
  runs: string[]
  open: () => Promise<Turnwire>
}

async function rig(t: TestContext, vendor: Vendor, script: ScriptedTurn[]): Promise<Rig> {
  const double = await startDouble({ vendor: vendor satisfies VendorName, script })
  t.after(() => double.close())
  const runs: string[] = []
  const store: Store = memoryStore()
  const named = (name: string, over: { callers?: readonly ('model' | 'code')[]; trust?: 'ask' } = {}) =>
    tool({
      name,
      description: `Does ${name}.`,
      input: { type: 'object', properties: { id: { type: 'integer' } } },
      trust: 'trusted',
      ...over,
      run: ({ id }) => {
        runs.push(`${name} ${Number(id)}`)
        return { order: id }
      },
    })
  const tools = [
    named('read_order', { callers: ['model', 'code'] }),
    named('refund', { callers: ['code'], trust: 'ask' }),
    named('close_account', { callers: ['model'] }),
  ]
  const open = async (): Promise<Turnwire> => {
    const turnwire = await Turnwire.open(
      { agents: [{ name: 'shop', model: makers[vendor](double), tools }], data: store },
      { log: () => {} },
    )
    t.after(() => turnwire.close())
    return turnwire
  }
  return { double, runs, open }
}

const objects = (value: unknown): JsonObject[] => value as JsonObject[] // Bodies that a double took.

// ---- Anthropic -----------------------------------------------------------------------------------------------

const code = { type: 'code_execution_20260120', tool_id: 'srvtoolu_1' }
const starts = {
  type: 'server_tool_use',
  id: 'srvtoolu_1',
  name: 'code_execution',
  input: { code: 'orders = [await read_order(id=n) for n in (1, 2)]' },
  caller: { type: 'direct' },
}
const fromCode = (id: string, name: string, order: number): JsonObject => ({
  type: 'tool_use',
  id,
  name,
  input: { id: order },
  caller: code,
})
const ends = {
  type: 'code_execution_tool_result',
  tool_use_id: 'srvtoolu_1',
  content: { type: 'code_execution_result', stdout: '3', stderr: '', return_code: 0, content: [] },
}
const anthropicTurns: ScriptedTurn[] = [
  { native: [starts, fromCode('toolu_1', 'read_order', 1), fromCode('toolu_2', 'read_order', 2)] },
  { native: [fromCode('toolu_3', 'refund', 2)] },
  { native: [ends], text: 'Refunded.' },
  { text: 'Yes.' },
]

const resultsIn = (body: JsonObject): JsonObject[] =>
  objects(objects(body['messages']).at(-1)!['content']).filter(block => block['type'] === 'tool_result')

describe('a program at Anthropic', () => {
  test('calls tools in its container, waits for a person, and goes on after a restart', async t => {
    const { double, runs, open } = await rig(t, 'anthropic', anthropicTurns)
    const first = await open()
    const session = await first.session('shop')
    assert.equal((await session.send('Refund the late order.')).status, 'waiting')
    assert.deepEqual(runs.sort(), ['read_order 1', 'read_order 2'])
    const [waiting] = await session.pending()
    assert.deepEqual([waiting?.tool, waiting?.needs], ['refund', 'permission'])
    await first.close()

    const again = await (await open()).resume(session.id)
    assert.equal((await again.approve(waiting!.callId)).text, 'Refunded.')
    assert.deepEqual(runs.at(-1), 'refund 2')
    assert.equal((await again.send('Sure?')).text, 'Yes.')
    const sent = bodies(double)
    assert.equal(sent.length, 4)
    const declared = Object.fromEntries(
      objects(sent[0]!['tools']).map(each => [each['name'], each['allowed_callers']]),
    )
    assert.deepEqual(declared, {
      read_order: ['direct', 'code_execution_20260120'],
      refund: ['code_execution_20260120'],
      close_account: ['direct'],
      code_execution: undefined,
    })
    assert.equal(sent[0]!['container'], undefined)
    assert.match(JSON.stringify(sent[1]!['container']), /^"container_/)
    assert.equal(sent[2]!['container'], sent[1]!['container'], 'the container is known after a restart')
    assert.deepEqual(
      resultsIn(sent[1]!).map(block => block['tool_use_id']),
      ['toolu_1', 'toolu_2'],
    )
  })

  test('that calls a tool which is not for programs is refused, whatever the vendor let through', async t => {
    const { double, runs, open } = await rig(t, 'anthropic', [
      { native: [starts, fromCode('toolu_1', 'close_account', 1)] },
      { native: [ends], text: 'I may not.' },
      { calls: [{ name: 'refund', input: { id: 2 } }] },
      { text: 'Nor that.' },
    ])
    const session = await (await open()).session('shop')
    assert.equal((await session.send('Close it.')).text, 'I may not.')
    assert.equal((await session.send('Refund it.')).text, 'Nor that.')
    assert.deepEqual(runs, [])
    for (const at of [1, 3]) {
      const [result] = resultsIn(bodies(double)[at]!)
      assert.equal(result?.['is_error'], true)
    }
  })

  test('whose container has expired ends; its calls are told as the model’s own, and nothing runs twice', async t => {
    const container = (leftMs: number) => ({
      id: 'container_late',
      expires_at: new Date(Date.now() + leftMs).toISOString(),
      skills: null,
    })
    const { double, runs, open } = await rig(t, 'anthropic', [
      { ...anthropicTurns[0]!, extra: { container: container(60_000) } },
      { ...anthropicTurns[1]!, extra: { container: container(-1) } },
      { text: 'The program is gone, but the refund was made.' },
      { text: 'Yes.' },
    ])
    const session = await (await open()).session('shop')
    await session.send('Refund the late order.')
    const [waiting] = await session.pending()
    const reply = await session.approve(waiting!.callId)
    assert.equal(reply.text, 'The program is gone, but the refund was made.')
    assert.equal((await session.send('Sure?')).text, 'Yes.')
    assert.deepEqual(runs.sort(), ['read_order 1', 'read_order 2', 'refund 2'])
    assert.deepEqual(double.rejections(), [], 'the vendor was not asked for the container')
  })
})

// ---- OpenAI --------------------------------------------------------------------------------------------------

const program = {
  type: 'program',
  call_id: 'call_program_1',
  code: 'const orders = await Promise.all([1, 2].map(id => tools.read_order({ id })))',
  fingerprint: 'fp_1',
}
const fromProgram = (id: string, name: string, order: number): JsonObject => ({
  type: 'function_call',
  call_id: id,
  name,
  arguments: JSON.stringify({ id: order }),
  caller: { type: 'program', caller_id: 'call_program_1' },
  status: 'completed',
})
const output = { type: 'program_output', call_id: 'call_program_1', result: '3', status: 'completed' }
const openaiTurns: ScriptedTurn[] = [
  { native: [program, fromProgram('call_1', 'read_order', 1), fromProgram('call_2', 'read_order', 2)] },
  { native: [fromProgram('call_3', 'refund', 2)] },
  { native: [output], text: 'Refunded.' },
  { text: 'Yes.' },
]

const outputsIn = (body: JsonObject): JsonObject[] =>
  objects(body['input']).filter(item => item['type'] === 'function_call_output')

describe('a program at OpenAI', () => {
  test('goes back whole with its calls’ outputs, waits for a person, and goes on after a restart', async t => {
    const { double, runs, open } = await rig(t, 'openai-responses', openaiTurns)
    const first = await open()
    const session = await first.session('shop')
    assert.equal((await session.send('Refund the late order.')).status, 'waiting')
    assert.deepEqual(runs.sort(), ['read_order 1', 'read_order 2'])
    const [waiting] = await session.pending()
    assert.deepEqual([waiting?.tool, waiting?.needs], ['refund', 'permission'])
    await first.close()

    const again = await (await open()).resume(session.id)
    assert.equal((await again.approve(waiting!.callId)).text, 'Refunded.')
    assert.equal(runs.at(-1), 'refund 2')
    assert.equal((await again.send('Sure?')).text, 'Yes.')
    const sent = bodies(double)
    assert.equal(sent.length, 4)
    const declared = Object.fromEntries(
      objects(sent[0]!['tools']).map(each => [each['name'] ?? each['type'], each['allowed_callers']]),
    )
    assert.deepEqual(declared, {
      read_order: ['direct', 'programmatic'],
      refund: ['programmatic'],
      close_account: ['direct'],
      programmatic_tool_calling: undefined,
    })
    for (const body of sent.slice(1)) {
      const [echo] = objects(body['input']).filter(item => item['type'] === 'program')
      assert.deepEqual(
        [echo?.['code'], echo?.['fingerprint'], echo?.['call_id']],
        [program.code, program.fingerprint, program.call_id],
      )
      for (const item of outputsIn(body))
        assert.deepEqual(item['caller'], { type: 'program', caller_id: 'call_program_1' })
    }
    assert.deepEqual(
      outputsIn(sent.at(-1)!).map(item => item['call_id']),
      ['call_1', 'call_2', 'call_3'],
    )
    assert.equal(objects(sent.at(-1)!['input']).filter(item => item['type'] === 'program_output').length, 1)
  })

  test('that calls a tool which is not for programs is refused, whatever the vendor let through', async t => {
    const { double, runs, open } = await rig(t, 'openai-responses', [
      { native: [program, fromProgram('call_1', 'close_account', 1)] },
      { native: [output], text: 'I may not.' },
      { calls: [{ name: 'refund', input: { id: 2 } }] },
      { text: 'Nor that.' },
    ])
    const session = await (await open()).session('shop')
    assert.equal((await session.send('Close it.')).text, 'I may not.')
    assert.equal((await session.send('Refund it.')).text, 'Nor that.')
    assert.deepEqual(runs, [])
    assert.equal(bodies(double).length, 4)
  })

  test('is told to another vendor as calls of the model’s own', async t => {
    const { open, double } = await rig(t, 'openai-responses', openaiTurns)
    const other = await startDouble({ vendor: 'anthropic', script: [{ text: 'I see.' }] })
    t.after(() => other.close())
    const turnwire = await open()
    const session = await turnwire.session('shop')
    await session.send('Refund the late order.')
    const [waiting] = await session.pending()
    await session.approve(waiting!.callId)
    const history = await session.history()
    bodies(double)
    const plain = anthropic({
      model: 'claude-sonnet-4-5',
      apiKey: 'k',
      baseUrl: other.url,
      limits: { retries: 0 },
    })
    const answer = await plain.respond(
      {
        session: 's',
        history: [...history, { role: 'user', parts: [{ type: 'text', text: 'And?' }] }],
        tools: [],
        choice: 'auto',
        parallel: true,
        options: {},
      },
      () => {},
      new AbortController().signal,
    )
    assert.deepEqual(answer.parts, [{ type: 'text', text: 'I see.' }])
    assert.doesNotMatch(JSON.stringify(bodies(other)), /fp_1|caller/)
  })
})
