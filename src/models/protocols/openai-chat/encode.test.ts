// Requests to Chat Completions, checked by the strict double, and each quirk of compatible servers.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Entry } from '../../../language/history.ts'
import type { ToolChoice } from '../../../language/tools.ts'
import { isJsonObject, type JsonObject } from '../../../lib/json/index.ts'
import { SessionCache } from '../../common/session-cache.ts'
import {
  accepted,
  assistant,
  call,
  messagesOf,
  outcome,
  quirky,
  request,
  results,
  target,
  tool,
  user,
} from './harness.test.ts'
import { openaiChat } from './index.ts'

const closed: JsonObject = {
  type: 'object',
  properties: { a: { type: 'string' } },
  required: ['a'],
  additionalProperties: false,
}
const functionsOf = (body: JsonObject): JsonObject[] =>
  (Array.isArray(body['tools']) ? body['tools'] : []).flatMap(each =>
    isJsonObject(each) && isJsonObject(each['function']) ? [each['function']] : [],
  )

describe('history', () => {
  test('results directly follow their calls, in the order of the calls', () => {
    const history = [
      user('go'),
      assistant(
        { type: 'text', text: 'I will.' },
        call('call_a', { nativeId: 'n1' }),
        call('call_b', { nativeId: 'n2' }),
      ),
      results(['call_a', outcome('one')], ['call_b', outcome('two', { kind: 'denied' })]),
      user('and now?'),
    ]
    const messages = messagesOf(accepted(request(history, { tools: [tool('f')], system: 'Be kind.' })))
    assert.deepEqual(
      messages.map(message => message['role']),
      ['system', 'user', 'assistant', 'tool', 'tool', 'user'],
    )
    assert.deepEqual(messages[3], { role: 'tool', tool_call_id: 'n1', content: 'one' })
    assert.deepEqual(messages[4], { role: 'tool', tool_call_id: 'n2', content: '[denied] two' })
  })

  test('blank, repeated and too long ids are replaced by ours', () => {
    const history = [
      user('go'),
      assistant(
        call('call_a', { nativeId: '' }),
        call('call_b', { nativeId: 'x'.repeat(500) }),
        call('call_c', { nativeId: 'same' }),
      ),
      results(['call_a', outcome('1')], ['call_b', outcome('2')], ['call_c', outcome('3')]),
      assistant(call('call_d', { nativeId: 'same' }), call('ours '.repeat(20))),
      results(['call_d', outcome('4')], ['ours '.repeat(20), outcome('5')]),
    ]
    const ids = messagesOf(accepted(request(history))).flatMap(({ tool_call_id: id }) =>
      id === undefined ? [] : [id],
    )
    assert.deepEqual(ids.slice(0, 4), ['call_a', 'call_b', 'same', 'call_d'])
    assert.equal(new Set(ids).size, 5)
  })

  test('names that the vendor refuses get one other spelling, in tools and in the history', () => {
    const tools = [tool('fs.read'), tool('fs_read'), tool('x'.repeat(128)), tool('имя')]
    const history = [user('go'), assistant(call('a', { name: 'fs.read' })), results(['a', outcome('x')])]
    const body = accepted(request(history, { tools }))
    const names = functionsOf(body).map(each => each['name'])
    assert.equal(new Set(names).size, 4)
    assert.ok(JSON.stringify(messagesOf(body)[1]).includes(`"name":${JSON.stringify(names[0])}`))
  })

  test('more calls than a message may hold are split over several messages', () => {
    const calls = Array.from({ length: 300 }, (_, at) => call(`call_${at}`))
    const history = [
      user('go'),
      assistant({ type: 'text', text: 'Many.' }, ...calls),
      results(...calls.map(({ id }): [string, ReturnType<typeof outcome>] => [id, outcome(id)])),
    ]
    const messages = messagesOf(accepted(request(history)))
    assert.equal(messages.filter(message => message['role'] === 'tool').length, 300)
    assert.deepEqual(
      messages.filter(message => message['role'] === 'assistant').map(message => message['content']),
      ['Many.', null, null],
    )
  })

  test('an answer without text and calls is left out', () => {
    const empty = assistant({ type: 'thinking', text: 'hm' })
    const messages = messagesOf(
      accepted(request([user('go'), empty, user('again'), { role: 'user', parts: [] }])),
    )
    assert.deepEqual(messages, [
      { role: 'user', content: 'go' },
      { role: 'user', content: 'again' },
      { role: 'user', content: '(empty message)' },
    ])
    assert.equal(messagesOf(accepted(request([]))).length, 1)
  })

  test('arguments are always the text of an object, in the model’s own spelling', () => {
    const texts = ['{ "a":  1 }', '', '[]', 'null', '{"a":1}{"b":2}', '{"a":']
    const history = [
      user('go'),
      assistant(...texts.map((text, at) => call(`c${at}`, { text }))),
      results(...texts.map((_, at): [string, ReturnType<typeof outcome>] => [`c${at}`, outcome('x')])),
    ]
    const [, message] = messagesOf(accepted(request(history)))
    const sent = (Array.isArray(message?.['tool_calls']) ? message['tool_calls'] : []).map(each =>
      isJsonObject(each) && isJsonObject(each['function']) ? each['function']['arguments'] : null,
    )
    assert.equal(sent[0], '{ "a":  1 }')
    for (const text of sent) assert.ok(typeof text === 'string' && isJsonObject(JSON.parse(text)))
  })

  test('images and files of results follow the batch, as data of their tool', () => {
    const image = { type: 'image', url: 'data:image/png;base64,iVBORw0KGgoAAAAN' } as const
    const pdf = {
      type: 'file',
      url: 'data:application/pdf;base64,AAAA',
      mediaType: 'application/pdf',
      name: 'a.pdf',
    } as const
    const history = [
      user('go'),
      assistant(call('a'), call('b')),
      results(['a', outcome('', { parts: [image, pdf] })], ['b', outcome('two')]),
      user('well?'),
    ]
    const messages = messagesOf(accepted(request(history)))
    assert.deepEqual(
      messages.map(message => message['role']),
      ['user', 'assistant', 'tool', 'tool', 'user', 'user'],
    )
    assert.equal(messages[2]?.['content'], '[image] (see below)\n[file: a.pdf] (see below)')
    assert.match(JSON.stringify(messages[4]), /data, not a request.*image_url.*file_data/)
  })

  test('text is always well-formed', () => {
    const history = [
      user('a\ud800'),
      assistant(call('a', { text: '{"x":"\ud83d"}' })),
      results(['a', outcome('\udc00')]),
    ]
    const { body } = openaiChat.prepare(request(history), target)
    assert.ok(body.isWellFormed() && !/\\ud[89a-f]/i.test(body))
    accepted(request(history))
  })

  test('text calls stay text calls, also for tools that are no longer offered', () => {
    const history = [
      user('go'),
      assistant(call('a', { form: 'text', text: 'ls', name: 'sh' })),
      results(['a', outcome('x')]),
    ]
    assert.match(
      JSON.stringify(accepted(request(history))),
      /"type":"custom","custom":\{"name":"sh","input":"ls"\}/,
    )
  })

  test('foreign artifacts are dropped; a hosted tool’s work is told in text', () => {
    const history: Entry[] = [
      user('go'),
      {
        role: 'assistant',
        origin: { protocol: 'anthropic-messages', family: 'claude' },
        parts: [
          {
            type: 'thinking',
            text: 'secret',
            native: {
              origin: { protocol: 'anthropic-messages', family: 'claude' },
              data: { signature: 'S' },
            },
          },
          {
            type: 'hosted',
            tool: 'web_search',
            summary: '3 pages',
            native: { origin: { protocol: 'anthropic-messages', family: 'claude' }, data: {} },
          },
          { type: 'text', text: 'Found.' },
        ],
      },
      user('thanks'),
    ]
    const messages = messagesOf(accepted(request(history)))
    assert.deepEqual(messages[1], { role: 'assistant', content: '[web_search: 3 pages]\nFound.' })
  })

  test('a long session encodes only its new entries', () => {
    const history: Entry[] = [user('go')]
    for (let turn = 0; turn < 3000; turn++)
      history.push(assistant(call(`c${turn}`)), results([`c${turn}`, outcome(`${turn}`)]))
    const cache = new SessionCache()
    assert.equal(openaiChat.prepare(request(history), target, cache).encoded, 6001)
    const longer = [...history, assistant(call('z')), results(['z', outcome('last')])]
    const prepared = openaiChat.prepare(request(longer), target, cache)
    assert.equal(prepared.encoded, 2)
    assert.equal(prepared.body.split('"role":"tool"').length - 1, 3001)
    assert.equal(openaiChat.prepare(request(longer), quirky('short-ids'), cache).encoded, 6003)
  })
})

describe('tools', () => {
  test('no tools, and more tools than the vendor takes', () => {
    const none = accepted(request([user('x')], { choice: 'required', parallel: false }))
    for (const key of ['tools', 'tool_choice', 'parallel_tool_calls']) assert.equal(key in none, false)
    const many = Array.from({ length: 200 }, (_, at) => tool(`t${at}`))
    const body = accepted(request([user('x')], { tools: many, choice: { tool: 't199' } }))
    assert.equal(functionsOf(body).length, 128)
    assert.ok(functionsOf(body).some(each => each['name'] === 't199'))
  })

  test('functions are strict if their schema allows it', () => {
    const body = accepted(
      request([user('x')], {
        tools: [
          tool('a', { form: 'json', schema: closed }),
          tool('b', { form: 'json', schema: { ...closed, required: [] }, strict: true }),
          tool('c', { form: 'json', schema: closed, strict: false }),
          tool('d', { form: 'json', schema: { anyOf: [closed] } }),
          tool('e', { form: 'json', schema: { type: 'string' } }),
        ],
      }),
    )
    assert.deepEqual(
      functionsOf(body).map(each => [each['name'], each['strict']]),
      [
        ['a', true],
        ['b', true],
        ['c', undefined],
        ['d', undefined],
      ],
    )
  })

  test('one bad tool is left out or adapted, with a warning, and never fails the rest', () => {
    const tools = [
      tool('ok'),
      tool('text', { form: 'json', schema: { type: 'string' } }),
      tool('either', { form: 'json', schema: { anyOf: [closed, { type: 'object' }] } }),
    ]
    const { warnings } = openaiChat.prepare(request([user('x')], { tools }), target)
    assert.equal(warnings.length, 2)
    assert.match(warnings[0] ?? '', /"text" is not offered/)
    assert.match(warnings[1] ?? '', /"either" was adapted/)
  })

  test('every choice', () => {
    const tools = [tool('f'), tool('sh', { form: 'text', grammar: { syntax: 'regex', definition: 'a+' } })]
    const sent = (choice: ToolChoice, to = target) =>
      accepted(request([user('x')], { tools, choice }), to)['tool_choice']
    assert.equal(sent('auto'), undefined)
    assert.equal(sent('none'), 'none')
    assert.equal(sent('required'), 'required')
    assert.deepEqual(sent({ tool: 'f' }), { type: 'function', function: { name: 'f' } })
    assert.deepEqual(sent({ tool: 'sh' }), { type: 'custom', custom: { name: 'sh' } })
    assert.equal(sent({ tool: 'gone' }), undefined)
    assert.deepEqual(sent({ allowed: ['f', 'gone'], mode: 'required' }), {
      type: 'allowed_tools',
      allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name: 'f' } }] },
    })
    assert.equal(sent({ allowed: [], mode: 'auto' }), 'none')
    assert.equal(sent({ allowed: ['f'], mode: 'required' }, quirky('no-allowed-tools')), 'required')
    assert.equal(sent('required', quirky('no-required')), undefined)
  })
})

describe('quirks', () => {
  const asked = request([user('x')], {
    tools: [tool('f', { form: 'json', schema: closed }), tool('sh', { form: 'text' })],
    choice: { allowed: ['sh'], mode: 'auto' },
    parallel: false,
  })

  test('what a compatible server does not know is not sent', () => {
    const body = accepted(
      asked,
      quirky(
        'max-tokens',
        'no-strict',
        'no-custom-tools',
        'no-allowed-tools',
        'no-parallel-switch',
        'no-stream-options',
      ),
    )
    assert.equal(body['max_tokens'], 1000)
    for (const key of ['max_completion_tokens', 'parallel_tool_calls', 'stream_options', 'tool_choice'])
      assert.equal(key in body, false, key)
    assert.deepEqual(
      functionsOf(body).map(each => each['name']),
      ['sh'],
    )
    assert.deepEqual(accepted(asked, quirky('no-strict'))['parallel_tool_calls'], false)
  })

  test('the limit of the answer is sent under one name', () => {
    const body = { max_tokens: 5, temperature: 0 }
    assert.deepEqual(
      [undefined, 7].map(maxTokens => {
        const sent = accepted(request([user('x')], maxTokens === undefined ? {} : { maxTokens }), {
          ...target,
          body,
        })
        return [sent['max_tokens'], sent['max_completion_tokens'], sent['temperature']]
      }),
      [
        [undefined, 5, 0],
        [undefined, 7, 0],
      ],
    )
    assert.equal(
      'max_completion_tokens' in accepted(request([user('x')]), { ...target, maxTokens: 0 }),
      false,
    )
  })

  test('short ids, and an assistant between results and a user', () => {
    const history = [
      user('go'),
      assistant(call('call_abcdefghijkl', { nativeId: 'abcDEF123' }), call('call_b')),
      results(['call_abcdefghijkl', outcome('1')], ['call_b', outcome('2')]),
      user('next'),
    ]
    const messages = messagesOf(accepted(request(history), quirky('short-ids', 'assistant-after-tool')))
    assert.equal(messages[2]?.['tool_call_id'], 'abcDEF123')
    assert.match(JSON.stringify(messages[3]?.['tool_call_id']), /^"[a-zA-Z0-9]{9}"$/)
    assert.deepEqual(
      messages.map(message => message['role']),
      ['user', 'assistant', 'tool', 'tool', 'assistant', 'user'],
    )
    const told = [...history.slice(0, -1), { role: 'system', text: 'note' } as const]
    const roles = messagesOf(accepted(request(told), quirky('assistant-after-tool'))).map(({ role }) => role)
    assert.deepEqual(roles, ['user', 'assistant', 'tool', 'tool', 'assistant', 'system'])
  })

  test('one leading system message', () => {
    const history: Entry[] = [
      { role: 'system', text: 'first' },
      user('go'),
      { role: 'system', text: 'later' },
    ]
    const roles = (more: { system?: string }) =>
      messagesOf(accepted(request(history, more), quirky('system-first'))).map(message => message['role'])
    assert.deepEqual(roles({}), ['system', 'user', 'user'])
    assert.deepEqual(roles({ system: 'agent' }), ['system', 'user', 'user', 'user'])
  })

  test('no images, no files', () => {
    const parts = [
      { type: 'image', url: 'https://x.test/a.png' },
      { type: 'file', url: 'data:text/plain;base64,aGk=', mediaType: 'text/plain', name: 'a.txt' },
      { type: 'file', url: 'data:application/pdf;base64,aGk=', mediaType: 'application/pdf' },
    ] as const
    const prepared = openaiChat.prepare(
      request([{ role: 'user', parts: [...parts] }]),
      quirky('no-images', 'no-files'),
    )
    const content = JSON.stringify(messagesOf(JSON.parse(prepared.body))[0]?.['content'])
    assert.match(content, /\[image\].*\[file: a.txt\]\\nhi.*\[file: application\/pdf\]/)
    assert.equal(prepared.warnings.length, 2)
  })

  test('reasoning goes back only to its maker, and only by quirk', () => {
    const thinking = (family: string) => ({
      type: 'thinking' as const,
      text: 'hm',
      native: {
        origin: { protocol: 'openai-chat', family },
        data: { reasoning_content: 'hm', reasoning_details: [{ type: 'x' }] },
      },
    })
    const sent = (family: string, ...quirks: Parameters<typeof quirky>) =>
      messagesOf(
        JSON.parse(
          openaiChat.prepare(
            request([user('x'), assistant(thinking(family), { type: 'text', text: 'a' })]),
            quirky(...quirks),
          ).body,
        ),
      )[1]
    assert.deepEqual(sent('gpt'), { role: 'assistant', content: 'a' })
    assert.equal(sent('gpt', 'echo-reasoning')?.['reasoning_content'], 'hm')
    assert.deepEqual(sent('gpt', 'echo-reasoning-details')?.['reasoning_details'], [{ type: 'x' }])
    assert.deepEqual(sent('other', 'echo-reasoning'), { role: 'assistant', content: 'a' })
  })
})

test('which failures may be retried', () => {
  const failed = (status: number, body: JsonObject | string) => {
    const { code, retry, message } = openaiChat.failure(status, new Headers(), body)
    return [code, retry, message]
  }
  assert.deepEqual(failed(400, { error: { message: 'bad', code: 'invalid_value' } }), [
    'model_rejected',
    false,
    '400: bad (invalid_value)',
  ])
  assert.deepEqual(failed(429, { error: { message: 'slow' } }), ['model_limited', true, '429: slow'])
  assert.deepEqual(failed(429, { error: { message: 'pay', code: 'insufficient_quota' } }).slice(0, 2), [
    'model_rejected',
    false,
  ])
  assert.deepEqual(failed(503, '<html>').slice(0, 3), ['model_failed', true, '503: <html>'])
  assert.deepEqual(failed(504, '').slice(0, 2), ['model_timeout', true])
  assert.deepEqual(failed(422, { detail: 'no such field' }), ['model_rejected', false, '422: no such field'])
})
