// Requests: the fields of the body and the messages, checked by the strict double. Tools are in tools.test.ts,
// conversations in conversation.test.ts.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Outcome } from '../../../language/calls.ts'
import type { Entry } from '../../../language/history.ts'
import type { Json } from '../../../lib/json/index.ts'
import {
  assistant,
  bodyOf,
  call,
  messagesOf,
  outcome,
  own,
  prepare,
  results,
  tool,
  user,
} from './harness.test.ts'

const PNG = 'data:image/png;base64,iVBORw0KGgoAAAA='

describe('fields of the body', () => {
  test('model, max_tokens, version, and the target’s own fields as they are', () => {
    const prepared = prepare(
      { maxTokens: 100 },
      { body: { temperature: 0.5, output_config: { effort: 'low' } } },
    )
    const body = bodyOf(prepared)
    assert.equal(prepared.path, '/v1/messages')
    assert.equal(prepared.headers['anthropic-version'], '2023-06-01')
    assert.equal(body['max_tokens'], 100)
    assert.equal(body['stream'], true)
    assert.equal(body['temperature'], 0.5)
    assert.deepEqual(body['output_config'], { effort: 'low' })
    assert.equal('temperature' in bodyOf(prepare()), false)
    assert.equal(bodyOf(prepare({ maxTokens: 9999 }))['max_tokens'], 9999)
  })

  test('the agent’s instructions, then the system entries at the start', () => {
    const history: Entry[] = [{ role: 'system', text: 'two' }, { role: 'system', text: ' ' }, user('hi')]
    assert.equal(bodyOf(prepare({ system: 'one', history }))['system'], 'one\n\ntwo')
    assert.equal('system' in bodyOf(prepare({ system: '' })), false)
  })

  test('a system entry in mid-conversation is a note in the user’s message, after the results', () => {
    const asked = assistant(call('c1', 'read'))
    const prepared = prepare({
      history: [user('a'), asked, results(asked), { role: 'system', text: 'now' }, user('b')],
    })
    const last = messagesOf(prepared).at(-1)
    assert.deepEqual(
      last?.content.map(block => block.type),
      ['tool_result', 'text', 'text'],
    )
    assert.match(JSON.stringify(last?.content[1]?.['text']), /now/)
    assert.equal(prepared.warnings.length, 1)
  })

  test('manual thinking is lowered to the answer’s limit, and is off where the turn began without it', () => {
    const thinking = { type: 'enabled', budget_tokens: 3000 }
    assert.deepEqual(bodyOf(prepare({}, { body: { thinking } }))['thinking'], thinking)
    const lowered = prepare({ maxTokens: 2000 }, { body: { thinking } })
    assert.deepEqual(bodyOf(lowered)['thinking'], { type: 'enabled', budget_tokens: 1999 })
    assert.equal('thinking' in bodyOf(prepare({ maxTokens: 1024 }, { body: { thinking } })), false)
    const asked = assistant(call('c1', 'read'))
    const foreign = prepare({ history: [user('a'), asked, results(asked)] }, { body: { thinking } })
    assert.equal('thinking' in bodyOf(foreign), false)
    assert.equal(foreign.warnings.length, 1)
  })

  test('the beta header has the target’s betas and the MCP connector’s', () => {
    const mcp = {
      body: {
        mcp_servers: [{ type: 'url', name: 'm', url: 'https://m.example' }],
        betas: ['context-management-2025-06-27'],
      },
      hosted: [{ type: 'mcp_toolset', mcp_server_name: 'm' }],
    }
    const { headers, body } = prepare({}, mcp)
    assert.equal(headers['anthropic-beta'], 'context-management-2025-06-27,mcp-client-2025-11-20')
    assert.equal(body.includes('"betas"'), false)
    assert.equal('anthropic-beta' in prepare().headers, false)
  })

  test('blocks of the MCP connector in the history need its header, even without the connector', () => {
    const use = { type: 'mcp_tool_use', id: 'mcptoolu_1', name: 'find', server_name: 'm', input: {} }
    const result = { type: 'mcp_tool_result', tool_use_id: 'mcptoolu_1', is_error: false, content: [] }
    const native = { protocol: 'anthropic', family: 'claude' }
    const told = [use, result].map(data => ({
      type: 'hosted' as const,
      tool: 'm.find',
      summary: '',
      native: { origin: native, data },
    }))
    const { headers, body } = prepare({ history: [user('a'), assistant(...told), user('b')] })
    assert.match(body, /mcp_tool_result/)
    assert.equal(headers['anthropic-beta'], 'mcp-client-2025-11-20')
  })

  test('a server that no toolset names is left out', () => {
    const mcp_servers = ['m', 'n'].map(name => ({ type: 'url', name, url: 'https://m.example' }))
    const toolset = { type: 'mcp_toolset', mcp_server_name: 'm' }
    const prepared = prepare({}, { body: { mcp_servers }, hosted: [toolset] })
    assert.deepEqual(bodyOf(prepared)['mcp_servers'], [mcp_servers[0]])
    assert.match(prepared.warnings.join(), /mcp_servers/)
  })
})

describe('messages', () => {
  test('the results of a batch come first, in order, in one message with the user text that follows', () => {
    const asked = assistant(
      { type: 'text', text: 'ok' },
      call('c1', 'read'),
      call('c2', 'read', { nativeId: 'toolu_9' }),
    )
    const prepared = prepare({ history: [user('a'), asked, results(asked), user('b'), user('c')] })
    const messages = messagesOf(prepared)
    assert.deepEqual(
      messages.map(message => message.role),
      ['user', 'assistant', 'user'],
    )
    assert.deepEqual(
      messages[2]?.content.map(block => block['tool_use_id'] ?? block['text']),
      ['c1', 'toolu_9', 'b', 'c'],
    )
  })

  test('every outcome is a result with text; all but ok are errors', () => {
    for (const kind of [
      'error',
      'invalid',
      'denied',
      'timeout',
      'cancelled',
      'abandoned',
      'unknown',
    ] as const) {
      const asked = assistant(call('c1', 'read'))
      const empty: Outcome = { kind, parts: [], from: { source: 'runtime' } }
      const [result] =
        messagesOf(prepare({ history: [user('a'), asked, results(asked, empty)] })).at(-1)?.content ?? []
      assert.equal(result?.['is_error'], true)
      assert.notEqual(result?.['content'], '')
    }
    const asked = assistant(call('c1', 'read'))
    const [fine] =
      messagesOf(prepare({ history: [user('a'), asked, results(asked, outcome('  '))] })).at(-1)?.content ??
      []
    assert.equal('is_error' in (fine ?? {}), false)
    assert.match(JSON.stringify(fine?.['content']), /no output/)
  })

  test('images and files in a message and in a result; a failed result has only text', () => {
    const parts: Outcome['parts'] = [
      { type: 'image', url: PNG },
      { type: 'image', url: 'https://e.com/a.png' },
      { type: 'image', url: 'data:image/png;base64,/9j/4AAQ' },
      {
        type: 'file',
        url: 'data:application/pdf;base64,JVBERg==',
        mediaType: 'application/pdf',
        name: 'a.pdf',
      },
      { type: 'file', url: 'data:text/csv;base64,YSxi', mediaType: 'text/csv' },
      { type: 'file', url: 'data:application/zip;base64,UEsD', mediaType: 'application/zip', name: 'a.zip' },
    ]
    const asked = assistant(call('c1', 'read'))
    const said = (kind: 'ok' | 'error'): Outcome => ({ kind, parts, from: { source: 'runtime' } })
    const prepared = prepare({ history: [{ role: 'user', parts }, asked, results(asked, said('ok'))] })
    const [first, , last] = messagesOf(prepared)
    assert.deepEqual(
      first?.content.map(block => block.type),
      ['image', 'image', 'image', 'document', 'document', 'text'],
    )
    assert.deepEqual(first?.content[1]?.['source'], { type: 'url', url: 'https://e.com/a.png' })
    // The API looks at the bytes, whatever they are called.
    assert.deepEqual(first?.content[2]?.['source'], {
      type: 'base64',
      media_type: 'image/jpeg',
      data: '/9j/4AAQ',
    })
    assert.deepEqual(first?.content[4]?.['source'], { type: 'text', media_type: 'text/plain', data: 'a,b' })
    assert.deepEqual(last?.content[0]?.['content'], first?.content)
    assert.match(prepared.warnings.join(), /a\.zip/)
    const failed = prepare({ history: [user('a'), asked, results(asked, said('error'))] })
    assert.equal(typeof messagesOf(failed).at(-1)?.content[0]?.['content'], 'string')
  })

  test('nothing empty is sent: blank text, an empty message, an answer of only foreign thinking', () => {
    const foreign = { protocol: 'gemini', family: 'g' }
    const history: Entry[] = [
      { role: 'user', parts: [] },
      { role: 'assistant', parts: [{ type: 'text', text: '\n\n' }] },
      {
        role: 'assistant',
        parts: [{ type: 'thinking', text: 'x', native: { origin: foreign, data: { type: 'thinking' } } }],
      },
      user(' '),
    ]
    assert.deepEqual(
      messagesOf(prepare({ history })).map(message => [message.role, message.content.length]),
      [['user', 2]],
    )
  })

  test('text is well-formed Unicode wherever it comes from', () => {
    const asked = assistant(
      { type: 'text', text: 'a\ud83d' },
      call('c1', 'na\ud83dme', { text: '{"p":"\\ud83d"}' }),
    )
    const history = [user('\udc00'), asked, results(asked, 'x\ud800')]
    const { body } = prepare({ history, system: '\ud83d', tools: [tool('na\ud83dme')] })
    assert.equal(body.isWellFormed(), true)
    assert.equal(/\\ud[89a-f]/i.test(body), false)
    assert.match(prepare({ history: [user('\\ud83d')] }).body, /\\\\ud83d/)
  })

  test('arguments in a history are an object, the model’s own text where it can be', () => {
    const inputs: [string, Json][] = [
      ['{"p":1}', { p: 1 }],
      ['', {}],
      ['null', { invalid_arguments: 'null' }],
      ['{"p":', { invalid_arguments: '{"p":' }],
      ['{"a":1}{"b":2}', { invalid_arguments: '{"a":1}{"b":2}' }],
    ]
    for (const [text, input] of inputs) {
      const asked = assistant(call('c1', 'read', { text }))
      const block = messagesOf(prepare({ history: [user('a'), asked, results(asked)] }))[1]?.content[0]
      assert.deepEqual(block?.['input'], input)
    }
    const exact = assistant(call('c1', 'read', { text: '{"n": 12345678901234567890}' }))
    assert.match(
      prepare({ history: [user('a'), exact, results(exact)] }).body,
      /"input":\{"n": 12345678901234567890\}/,
    )
    const text = assistant(call('c1', 'patch', { form: 'text', text: 'a "b"' }))
    const block = messagesOf(prepare({ history: [user('a'), text, results(text)] }))[1]?.content[0]
    assert.deepEqual(block?.['input'], { input: 'a "b"' })
  })

  test('call ids are the vendor’s own, else ours, else a hash, and never repeat', () => {
    const first = assistant(call('a:b', 'read'), call('ok', 'read', { nativeId: 'toolu_same' }))
    const second = assistant(call('c'.repeat(500), 'read', { nativeId: 'toolu_same' }))
    const prepared = prepare({ history: [user('a'), first, results(first), second, results(second)] })
    const ids = messagesOf(prepared).flatMap(message => message.content.flatMap(block => block['id'] ?? []))
    assert.equal(new Set(ids).size, 3)
    assert.equal(ids[1], 'toolu_same')
  })

  test('a history without its beginning still begins with a user message and has no lone result', () => {
    const asked = assistant(call('c1', 'read'))
    const cut = messagesOf(prepare({ history: [results(asked), user('go on')] }))
    assert.equal(cut[0]?.role, 'user')
    assert.match(JSON.stringify(cut[0]?.content[0]?.['text']), /done/)
    assert.equal(messagesOf(prepare({ history: [asked, results(asked)] }))[0]?.role, 'user')
    assert.equal(messagesOf(prepare({ history: [user('a'), asked, user('b')] })).length, 3)
    assert.equal(messagesOf(prepare({ history: [] })).length, 1)
  })

  test('a history that ends with an answer gets a user message that asks to continue', () => {
    const prepared = prepare({ history: [user('a'), assistant({ type: 'text', text: 'b' })] })
    assert.equal(messagesOf(prepared).at(-1)?.role, 'user')
    assert.equal(prepared.warnings.length, 1)
  })

  test('thinking goes back byte for byte to its family, to no other, and never ends an answer', () => {
    const data = { type: 'thinking', thinking: '', signature: 'Eq+/==' }
    const thought = (family: string) =>
      ({ type: 'thinking', text: '', native: { origin: { ...own, family }, data } }) as const
    const history = (family: string): Entry[] => [
      user('a'),
      assistant(thought(family), { type: 'text', text: 'b' }),
      user('c'),
    ]
    assert.deepEqual(messagesOf(prepare({ history: history('claude') }))[1]?.content[0], data)
    assert.equal(prepare({ history: history('other') }).body.includes('signature'), false)
    const alone = prepare({ history: [user('a'), assistant(thought('claude')), user('c')] })
    assert.equal(messagesOf(alone).length, 1)
  })
})
