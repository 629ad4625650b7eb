// What the vendor's newest clients send, one test for each row of the table in docs/protocols/responses.md: with a model of
// OpenAI, and with models of other vendors.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import OpenAI from 'openai'
import type { ScriptedTurn, VendorName } from '../../../src/testing/index.ts'
import { type Body, models, vendors } from '../messages/rig.ts'
import { double, serve, weather } from '../stateless/rig.ts'

type Test = Parameters<typeof double>[0]

const others = vendors.filter(vendor => vendor !== 'openai-responses')
const base = { model: 'helper', input: 'Hi' }
const user = (content: string) => ({ role: 'user', content })
const tool = { type: 'function', name: 'weather', description: 'Tells it.', parameters: weather.schema }
const programs = { type: 'programmatic_tool_calling' }

async function rig(t: Test, vendor: VendorName, script: ScriptedTurn[] = [{ text: 'Yes.' }]) {
  const behind = await double(t, vendor, script)
  const { post, url } = await serve(t, { helper: models[vendor]!(behind.url) })
  return { behind, url, post: (body: object) => post('/v1/responses', body) }
}

/** Sends the request to a model of the vendor, which must take it: stored, and not. */
async function taken(
  t: Test,
  vendor: VendorName,
  body: object,
  script?: ScriptedTurn[],
): Promise<{ sent: Body; answer: Body }> {
  let last: { sent: Body; answer: Body } | undefined
  for (const store of [true, false]) {
    const { post, behind } = await rig(t, vendor, script)
    const response = await post({ ...body, store })
    const answer: Body = await response.json()
    assert.equal(response.status, 200, JSON.stringify(answer))
    assert.equal(answer.status, 'completed', JSON.stringify(answer))
    assert.deepEqual(behind.rejections(), [])
    last = { sent: behind.exchanges.at(-1)!.body, answer }
  }
  return last!
}

async function refused(
  t: Test,
  vendor: VendorName,
  body: object,
  param: string,
  words: RegExp,
): Promise<void> {
  const { post, behind } = await rig(t, vendor)
  const response = await post(body)
  const { error }: Body = await response.json()
  assert.equal(response.status, 400)
  assert.equal(error.param, param)
  assert.match(error.message, words)
  assert.equal(behind.exchanges.length, 0)
}

const schema = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
}
const format = { type: 'json_schema', name: 'place', schema, strict: true }
const program = { type: 'program', id: 'prg_1', call_id: 'p1', code: 'await weather()', fingerprint: 'fp' }
const caller = { type: 'program', caller_id: 'p1' }
const output = { type: 'program_output', id: 'pout_1', call_id: 'p1', result: 'fine', status: 'completed' }

const rows: Record<string, (t: Test) => Promise<void>> = {
  '`configuration_update`': async t => {
    const input = [
      user('Hi'),
      { type: 'configuration_update', reasoning: { effort: 'high' }, text: { format } },
      user('Where?'),
      { type: 'configuration_update', id: 'cfg_1', reasoning: { effort: 'low' } },
      user('Now.'),
    ]
    const said = [{ text: '{"city":"Oslo"}' }]
    const body = {
      ...base,
      input,
      reasoning: { effort: 'medium', summary: 'auto' },
      text: { verbosity: 'low' },
    }
    const { sent, answer } = await taken(t, 'openai-responses', body, said)
    assert.deepEqual(sent.reasoning, { effort: 'low', summary: 'auto' })
    assert.deepEqual([sent.text.verbosity, sent.text.format.name], ['low', 'place'])
    assert.equal(answer.text.format.name, 'place')
    assert.doesNotMatch(JSON.stringify(sent), /configuration_update/)
    for (const vendor of others)
      assert.match(JSON.stringify((await taken(t, vendor, body, said)).sent), /"city"/)
    const plain = [
      ...input,
      { type: 'configuration_update', text: { format: { type: 'text' } } },
      user('Go.'),
    ]
    const back = await taken(t, 'openai-responses', { ...base, input: plain })
    assert.doesNotMatch(JSON.stringify(back.sent), /"city"/)
    const wrong = { ...base, input: [{ type: 'configuration_update', model: 'x' }, user('Hi')] }
    await refused(t, 'openai-responses', wrong, 'input[0].model', /Unknown parameter/)
  },

  '`programmatic_tool_calling`': async t => {
    const body = { ...base, tools: [{ ...tool, allowed_callers: ['programmatic'] }, programs] }
    const { sent } = await taken(t, 'openai-responses', body)
    assert.deepEqual(sent.tools[0].allowed_callers, ['programmatic'])
    assert.deepEqual(sent.tools[1], programs)
    for (const vendor of others) {
      const text = JSON.stringify((await taken(t, vendor, body)).sent)
      assert.match(text, /Tells it\./)
      assert.doesNotMatch(text, /programmatic|allowed_callers/)
    }
    const without = { ...base, tools: [{ ...tool, allowed_callers: ['direct'] }] }
    assert.equal('allowed_callers' in (await taken(t, 'openai-responses', without)).sent.tools[0], false)
    const odd = { ...base, tools: [{ ...tool, allowed_callers: ['nobody'] }] }
    await refused(t, 'openai-responses', odd, 'tools[0].allowed_callers[0]', /nobody/)
  },

  '`program`, `program_output`': async t => {
    const input = [
      user('Hi'),
      program,
      { type: 'function_call', call_id: 'c1', name: 'weather', arguments: '{"city":"Oslo"}', caller },
      { type: 'function_call_output', call_id: 'c1', output: 'fine', caller },
      output,
      { role: 'assistant', content: 'Fine.' },
      user('Thanks.'),
    ]
    const body = { ...base, input, tools: [tool, programs], store: false }
    const { post, behind } = await rig(t, 'openai-responses')
    const response = await post(body)
    assert.equal(response.status, 200, await response.clone().text())
    const items: Body[] = (behind.exchanges.at(-1)!.body as Body).input
    assert.deepEqual(
      items.map(({ type }) => type),
      ['message', 'program', 'function_call', 'function_call_output', 'program_output', 'message', 'message'],
    )
    assert.deepEqual(items[1], program)
    assert.deepEqual([items[2].caller, items[3].caller], [caller, caller])
    for (const vendor of others) {
      const text = JSON.stringify((await taken(t, vendor, body)).sent)
      assert.match(text, /Fine\./)
      assert.doesNotMatch(text, /await weather|prg_1/)
    }
  },

  '`context_management`': async t => {
    const context_management = [{ type: 'compaction', compact_threshold: 20_000 }]
    const summary = { type: 'compaction', id: 'cmp_1', encrypted_content: 'gAAA' }
    const said = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed' }
    const content = [{ type: 'output_text', text: 'Yes.', annotations: [] }]
    const raw = {
      id: 'resp_1',
      object: 'response',
      status: 'completed',
      output: [summary, { ...said, content }],
    }
    const body = { ...base, context_management, include: ['reasoning.encrypted_content'] }
    const { sent, answer } = await taken(t, 'openai-responses', body, [{ raw }])
    assert.deepEqual(sent.context_management, context_management)
    assert.equal(JSON.stringify(answer.output).includes('gAAA'), false)
    const { post, behind } = await rig(t, 'openai-responses', [{ raw }, { text: 'Again.' }])
    const first: Body = await (await post({ ...body, store: false })).json()
    const input = [user('Hi'), ...first.output, user('Go on.')]
    assert.equal((await post({ ...body, input, store: false })).status, 200)
    const items: Body[] = (behind.exchanges.at(-1)!.body as Body).input
    assert.deepEqual(
      items.map(({ type, id }) => id ?? type),
      ['message', 'cmp_1', 'msg_1', 'message'],
    )
    for (const vendor of others) {
      await refused(t, vendor, body, 'context_management', /needs a model of OpenAI.*responses\/compact/)
      await taken(t, vendor, { ...base, context_management: [] })
    }
    const odd = { ...base, context_management: [{ type: 'forget' }] }
    await refused(t, 'openai-responses', odd, 'context_management[0].type', /forget/)
  },

  '`compaction` of the vendor': async t => {
    const input = [{ type: 'compaction', id: 'cmp_1', encrypted_content: 'gAAA' }, user('Go on.')]
    const { sent } = await taken(t, 'openai-responses', { ...base, input })
    assert.deepEqual(sent.input[0], input[0])
    for (const vendor of others)
      await refused(t, vendor, { ...base, input }, 'input[0].encrypted_content', /could not be read/)
    const forged = [{ type: 'compaction', encrypted_content: 'tws1.gAAA' }, user('Go on.')]
    await refused(
      t,
      'openai-responses',
      { ...base, input: forged },
      'input[0].encrypted_content',
      /could not be read/,
    )
  },
}

describe('what the newest clients send', () => {
  for (const [name, run] of Object.entries(rows)) test(name, run)

  test('the page has the same rows', () => {
    const page = readFileSync('docs/protocols/responses.md', 'utf8')
    const [, table = ''] = /^## What newer clients send\n([\s\S]*?)^## /m.exec(page) ?? []
    const named = [...table.matchAll(/^\| (?!-|request)(.+?) \|/gm)].map(([, name]) => name)
    assert.deepEqual(named, Object.keys(rows))
  })
})

describe('a program of the vendor calls the client’s tool and goes on with its result', () => {
  const call = {
    type: 'function_call',
    id: 'fc_1',
    call_id: 'call_1',
    name: 'weather',
    arguments: '{"city":"Oslo"}',
    status: 'completed',
    caller,
  }
  const script: ScriptedTurn[] = [
    { raw: { id: 'resp_1', object: 'response', status: 'completed', output: [program, call] } },
    { text: 'Fine.' },
  ]
  const tools = [{ ...tool, allowed_callers: ['programmatic'] }, programs]

  const cases: Record<string, { store?: false; include?: string[] }> = {
    stored: {},
    'not stored, carried by the client': { store: false, include: ['reasoning.encrypted_content'] },
    'not stored, in plain items': { store: false },
  }
  for (const [name, options] of Object.entries(cases))
    for (const stream of [false, true])
      test(stream ? `${name}, streamed` : name, async t => {
        const { url, behind } = await rig(t, 'openai-responses', script)
        const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'any' })
        const ask = async (input: object[], previous?: string): Promise<Body> => {
          const more = previous === undefined ? {} : { previous_response_id: previous }
          const body: Body = { model: 'helper', tools, input, ...options, ...more }
          return stream
            ? await client.responses.stream(body).finalResponse()
            : await client.responses.create(body)
        }
        const first = await ask([user('Hi')])
        const called = first.output.find((item: Body) => item.type === 'function_call')
        assert.deepEqual(called.caller, caller)
        assert.ok(first.output.some((item: Body) => item.type === 'program'))
        const answered = { type: 'function_call_output', call_id: called.call_id, output: 'fine', caller }
        const isStored = options.store === undefined
        const second = isStored
          ? await ask([answered], first.id)
          : await ask([user('Hi'), ...first.output, answered])
        assert.equal(second.output_text, 'Fine.')
        assert.deepEqual(behind.rejections(), [])
        const items: Body[] = (behind.exchanges.at(-1)!.body as Body).input
        assert.deepEqual(
          items.map(item => item.type),
          ['message', 'program', 'function_call', 'function_call_output'],
        )
        assert.deepEqual([items[2].caller, items[3].caller], [caller, caller])
      })
})
