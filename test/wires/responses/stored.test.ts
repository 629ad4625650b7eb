// Responses that are kept: continued, branched, retrieved, resumed, cancelled, deleted, and shared with other wires.
import assert from 'node:assert/strict'
import test from 'node:test'
import type { ModelRequest } from '../../../src/engine/index.ts'
import { scripted } from '../../../src/models/scripted/index.ts'
import { cites } from '../../requirements/manifest.ts'
import { history, newSession, say, turn } from '../aap/rig.ts'
import {
  type Body,
  eventsOf,
  type Item,
  latch,
  ok,
  output,
  type Rig,
  refused,
  rig,
  textOf,
  user,
  weather,
} from './rig.ts'

const calls = (body: Body): Item[] => body.output.filter(item => item.type === 'function_call')
const outputs = (body: Body): object[] => calls(body).map(item => output(item.call_id))

/** Says how many entries it was shown, and asks for the weather when that is the question. */
function counting() {
  const asked: ModelRequest[] = []
  const model = scripted(request => {
    asked.push({ ...request, history: [...request.history] })
    const last = request.history.at(-1)
    const words = last?.role === 'user' && last.parts[0]?.type === 'text' ? last.parts[0].text : ''
    return words.startsWith('weather')
      ? { calls: [{ name: 'get_weather', input: { city: words } }] }
      : { text: `${request.history.length}: ${words}` }
  })
  return { asked, model }
}

const base = { model: 'helper', tools: [weather], store: true }

test(cites('RESP-STOR-01', 'RESP-STOR-02', 'a stored response is the same after a restart'), async t => {
  const at = await rig(t, { model: counting().model })
  const made = await ok(at.post({ ...base, input: 'hi', metadata: { a: 'b' }, instructions: 'Short.' }))
  assert.equal(made['store'], true)
  const again = await at.restart()
  const found = await ok(again.get(`/v1/responses/${made.id}`))
  assert.deepEqual(found, made)
  assert.deepEqual([found['metadata'], found['instructions']], [{ a: 'b' }, 'Short.'])
})

test(
  cites(
    'RESP-STOR-03',
    'RESP-STOR-06',
    'the newest response is continued in the same session, also after a restart',
  ),
  async t => {
    const { asked, model } = counting()
    const at = await rig(t, { model })
    const first = await ok(at.post({ ...base, input: 'weather A' }))
    const missing = await refused(at.post({ ...base, previous_response_id: first.id, input: 'never mind' }))
    assert.match(missing.message, /^No tool output found for function call call_/)
    const orphan = await refused(
      at.post({ ...base, previous_response_id: first.id, input: [output('call_x')] }),
    )
    assert.equal(orphan.message, 'No tool call found for function call output with call_id call_x.')
    const again = await at.restart()
    const second = await ok(again.post({ ...base, previous_response_id: first.id, input: outputs(first) }))
    assert.deepEqual(second.conversation, first.conversation)
    assert.equal(second['previous_response_id'], first.id)
    const third = await ok(again.post({ ...base, previous_response_id: second.id, input: 'and now?' }))
    assert.deepEqual(third.conversation, first.conversation)
    assert.equal(textOf(third), '5: and now?')
    assert.deepEqual(
      asked.at(-1)?.history.map(entry => entry.role),
      ['user', 'assistant', 'tool', 'assistant', 'user'],
    )
  },
)

test(cites('RESP-STOR-04', 'an older response is continued in a session of its own'), async t => {
  const at = await rig(t, { model: counting().model })
  const first = await ok(at.post({ ...base, input: 'one' }))
  const second = await ok(at.post({ ...base, previous_response_id: first.id, input: 'two' }))
  const other = await ok(at.post({ ...base, previous_response_id: first.id, input: 'three' }))
  assert.notDeepEqual(other.conversation, second.conversation)
  assert.equal(textOf(other), '3: three')
  assert.equal(textOf(await ok(at.get(`/v1/responses/${second.id}`))), '3: two', 'what it left is untouched')
  const open = await ok(at.post({ ...base, previous_response_id: second.id, input: 'weather' }))
  await ok(at.post({ ...base, previous_response_id: open.id, input: outputs(open) }))
  const twice = await ok(at.post({ ...base, previous_response_id: open.id, input: outputs(open) }))
  assert.notDeepEqual(twice.conversation, open.conversation)
  assert.match(textOf(twice), /^7: /)
})

test(cites('RESP-STOR-04', 'input that one turn cannot take makes a session of its own too'), async t => {
  const at = await rig(t, { model: counting().model })
  const first = await ok(at.post({ ...base, input: 'weather' }))
  const mixed = await ok(
    at.post({ ...base, previous_response_id: first.id, input: [...outputs(first), user('go on')] }),
  )
  assert.equal(textOf(mixed), '4: go on')
  assert.notDeepEqual(mixed.conversation, first.conversation)
})

test(cites('RESP-STOR-05', 'unknown and unfinished responses cannot be continued'), async t => {
  const gate = latch()
  const inner = scripted([{ text: 'late' }])
  const at = await rig(t, {
    model: {
      id: 'late',
      respond: async (...args) => {
        await gate.wait()
        return inner.respond(...args)
      },
    },
  })
  for (const id of ['resp_none_1', 'nonsense', 'resp_none']) {
    const error = await refused(at.post({ ...base, previous_response_id: id, input: 'x' }))
    assert.deepEqual([error.status, error.code], [400, 'previous_response_not_found'])
  }
  const made = await ok(at.post({ ...base, background: true, input: 'x' }))
  const busy = await refused(at.post({ ...base, previous_response_id: made.id, input: 'y' }))
  assert.deepEqual([busy.status, busy.code], [409, 'response_in_progress'])
  gate.open()
})

test(cites('RESP-STOR-07', 'instructions and tools apply to their request only'), async t => {
  const { asked, model } = counting()
  const at = await rig(t, { model })
  const first = await ok(at.post({ ...base, instructions: 'Short.', tool_choice: 'none', input: 'one' }))
  await ok(at.post({ model: 'helper', previous_response_id: first.id, input: 'two' }))
  assert.deepEqual([asked[0]?.system, asked[0]?.tools.length, asked[0]?.choice], ['Short.', 1, 'none'])
  assert.deepEqual([asked[1]?.system, asked[1]?.tools.length, asked[1]?.choice], [undefined, 0, 'auto'])
})

test(
  cites('RESP-STOR-08', 'a stream is resumed after any of its events, by another process too'),
  async t => {
    const script = [
      {
        thinking: 'Hm.',
        text: 'Some words to say.',
        calls: [{ name: 'get_weather', input: { city: 'A' } }],
        chunk: 4,
      },
    ]
    const at = await rig(t, { script })
    const live = await eventsOf(at.post({ ...base, input: 'x', stream: true }))
    const { id } = live.at(-1)!.response
    const again = await at.restart()
    for (const { sequence_number: after } of live.slice(0, -1)) {
      const rest = await eventsOf(again.get(`/v1/responses/${id}?stream=true&starting_after=${after}`))
      const seen = live.filter(event => event.sequence_number <= after)
      assert.ok(rest.every(event => event.sequence_number > after))
      assert.equal(rest.at(-1)?.sequence_number, live.at(-1)?.sequence_number)
      assert.deepEqual(foldOf([...seen, ...rest]), foldOf(live), `after ${after}`)
    }
    const last = live.at(-1)!.sequence_number
    const none = await eventsOf(again.get(`/v1/responses/${id}?stream=true&starting_after=${last}`))
    assert.deepEqual(
      none.map(event => event.type),
      ['response.completed'],
    )
    const whole = await eventsOf(again.get(`/v1/responses/${id}?stream=true`))
    assert.deepEqual(foldOf(whole), foldOf(live))
    assert.equal((await refused(again.get(`/v1/responses/${id}?stream=true&starting_after=x`))).status, 400)
    assert.equal((await refused(again.get(`/v1/responses/${id}?stream=maybe`))).status, 400)
  },
)

test(cites('RESP-STOR-08', 'a stream ends with the response that is read from the log later'), async t => {
  const failed = { code: 'model_failed', message: 'down', after: 4 } as const
  const scripts = [
    [{ thinking: 'Hm.', text: 'I will not.', stop: 'refusal', chunk: 3 }],
    [{ thinking: 'Hm.', text: 'half of it', chunk: 2, fail: failed }],
    [{ text: 'cut', stop: 'length' }],
  ] as const
  for (const script of scripts) {
    const at = await rig(t, { script: [...script] })
    const live = (await eventsOf(at.post({ ...base, input: 'x', stream: true }))).at(-1)!.response
    assert.deepEqual(await ok(at.get(`/v1/responses/${live.id}`)), live)
    const again = await eventsOf(at.get(`/v1/responses/${live.id}?stream=true`))
    assert.deepEqual(again.at(-1)?.response, live)
  }
  const at = await rig(t, { script: [{ thinking: 'Hm.', text: 'half of it', chunk: 2, hang: true }] })
  const made = await ok(at.post({ ...base, background: true, input: 'x' }))
  const watching = eventsOf(await at.get(`/v1/responses/${made.id}?stream=true`))
  const cancelled = await ok(at.send('POST', `/v1/responses/${made.id}/cancel`))
  assert.deepEqual((await watching).at(-1)?.response, cancelled)
})

/** The text that each item was given in pieces, and all other events by number. */
function foldOf(events: Awaited<ReturnType<typeof eventsOf>>): unknown {
  const texts: Record<string, string> = {}
  const others: unknown[] = []
  for (const event of events) {
    if (event.type.endsWith('.delta')) {
      const key = event['item_id'] as string
      texts[key] = (texts[key] ?? '') + (event['delta'] as string)
    } else others.push([event.sequence_number, event.type, event.item])
  }
  return { texts, others }
}

test(
  cites('RESP-STOR-09', 'RESP-STOR-19', 'background is answered at once and goes on by itself'),
  async t => {
    const gate = latch()
    const inner = scripted([{ text: 'late words', chunk: 2 }])
    const at = await rig(t, {
      model: {
        id: 'late',
        respond: async (...args) => {
          await gate.wait()
          return inner.respond(...args)
        },
      },
    })
    const made = await ok(at.post({ model: 'helper', background: true, input: 'x' }))
    assert.deepEqual([made.status, made['background'], made.output], ['in_progress', true, []])
    const watching = eventsOf(await at.get(`/v1/responses/${made.id}?stream=true`))
    const second = eventsOf(await at.get(`/v1/responses/${made.id}?stream=true&starting_after=1`))
    gate.open()
    const events = await watching
    assert.equal(textOf(events.at(-1)!.response), 'late words')
    assert.equal((await second).at(-1)?.sequence_number, events.at(-1)?.sequence_number)
    assert.equal((await ok(at.get(`/v1/responses/${made.id}`))).status, 'completed')
    const error = await refused(at.post({ model: 'helper', background: true, store: false, input: 'x' }))
    assert.deepEqual([error.status, error.param], [400, 'background'])
  },
)

test(cites('RESP-STOR-10', 'cancelling ends a response once'), async t => {
  const at = await rig(t, { script: [{ text: 'half of it', chunk: 4, hang: true }] })
  const made = await ok(at.post({ model: 'helper', background: true, input: 'x' }))
  const watching = eventsOf(await at.get(`/v1/responses/${made.id}?stream=true`))
  const cancelled = await ok(at.send('POST', `/v1/responses/${made.id}/cancel`))
  assert.equal(cancelled.status, 'cancelled')
  assert.equal((await ok(at.send('POST', `/v1/responses/${made.id}/cancel`))).status, 'cancelled')
  const last = (await watching).at(-1)
  assert.deepEqual([last?.type, last?.response.status], ['response.incomplete', 'cancelled'])
})

test(cites('RESP-STOR-11', 'a deleted response is gone, and its session goes with the last one'), async t => {
  const at = await rig(t, { model: counting().model })
  const first = await ok(at.post({ ...base, input: 'one' }))
  const second = await ok(at.post({ ...base, previous_response_id: first.id, input: 'two' }))
  const gone = await at.send('DELETE', `/v1/responses/${first.id}`)
  assert.deepEqual(await gone.json(), { id: first.id, object: 'response', deleted: true })
  assert.equal((await refused(at.get(`/v1/responses/${first.id}`))).status, 404)
  assert.equal((await refused(at.send('DELETE', `/v1/responses/${first.id}`))).status, 404)
  assert.equal((await refused(at.post({ ...base, previous_response_id: first.id, input: 'x' }))).status, 400)
  assert.equal((await ok(at.get(`/v1/responses/${second.id}`))).status, 'completed')
  await at.send('DELETE', `/v1/responses/${second.id}`)
  assert.deepEqual((await at.engine.list('alice', { limit: 5 })).rows, [])
})

test(cites('RESP-STOR-12', 'input items are listed in pages'), async t => {
  const at = await rig(t, { model: counting().model })
  const first = await ok(at.post({ ...base, input: [{ role: 'system', content: 'sys' }, user('weather')] }))
  const second = await ok(at.post({ ...base, previous_response_id: first.id, input: outputs(first) }))
  type List = { data: Item[]; has_more: boolean; first_id: string; last_id: string }
  const page = async (query: string) =>
    (await (await at.get(`/v1/responses/${second.id}/input_items?${query}`)).json()) as List
  const all = await page('order=asc')
  assert.deepEqual(
    all.data.map(item => item.type),
    ['message', 'message', 'function_call', 'function_call_output'],
  )
  assert.equal(new Set(all.data.map(item => item.id)).size, 4)
  assert.equal(all.data[3]?.['output'], 'sunny')
  const one = await page('limit=1')
  assert.deepEqual([one.data[0]?.type, one.has_more], ['function_call_output', true])
  assert.equal((await page(`limit=5&after=${one.last_id}`)).data.length, 3)
  for (const query of ['limit=0', 'limit=101', 'order=up', 'after=none'])
    assert.equal((await refused(at.get(`/v1/responses/${second.id}/input_items?${query}`))).status, 400)
})

test(cites('RESP-STOR-13', 'another owner finds nothing, on any path'), async t => {
  const at = await rig(t, { model: counting().model })
  const made = await ok(at.post({ ...base, input: 'weather' }))
  const stranger = { 'x-owner': 'mallory' }
  const path = `/v1/responses/${made.id}`
  assert.equal((await refused(at.get(path, stranger))).status, 404)
  assert.equal((await refused(at.get(`${path}?stream=true`, stranger))).status, 404)
  assert.equal((await refused(at.get(`${path}/input_items`, stranger))).status, 404)
  assert.equal((await refused(at.send('DELETE', path, undefined, stranger))).status, 404)
  assert.equal((await refused(at.send('POST', `${path}/cancel`, undefined, stranger))).status, 404)
  assert.equal(
    (await refused(at.post({ ...base, previous_response_id: made.id, input: 'x' }, stranger))).status,
    400,
  )
  const { id } = made.conversation
  assert.equal((await refused(at.post({ ...base, conversation: id, input: 'x' }, stranger))).status, 404)
  const named = [user('x'), { type: 'item_reference', id: made.output[0]!.id }]
  assert.equal((await refused(at.post({ model: 'helper', input: named }, stranger))).status, 404)
  assert.equal((await ok(at.get(path))).status, 'completed')
})

test(cites('RESP-ITEM-11', 'items of stored responses may be named; others are 404'), async t => {
  const { asked, model } = counting()
  const at = await rig(t, { model })
  const made = await ok(at.post({ ...base, input: 'weather' }))
  const [item] = calls(made)
  for (const reference of [{ type: 'item_reference', id: item!.id }, { id: item!.id }]) {
    await ok(at.post({ ...base, store: false, input: [user('weather'), reference, output(item!.call_id)] }))
    assert.equal(asked.at(-1)?.history[1]?.role, 'assistant')
  }
  for (const id of ['msg_1', item!.id.replace(/\d+$/, '77')]) {
    const error = await refused(at.post({ model: 'helper', input: [{ type: 'item_reference', id }] }))
    assert.equal(error.status, 404)
    assert.match(
      error.message,
      /^Item with id '.+' not found\. Items are not persisted when `store` is set to false/,
    )
  }
})

// ---- one session, any wire ------------------------------------------------------------------------------------------------

test(
  cites('RESP-STOR-14', 'RESP-STOR-15', 'a session of AAP is continued here and read back there'),
  async t => {
    const { asked, model } = counting()
    const at = await rig(t, { model })
    const aap = at as unknown as Parameters<typeof turn>[0] // the AAP helpers use nothing but `request`
    Object.assign(at, { request: (...args: Parameters<Rig['send']>) => at.send(...args) })
    const id = await newSession(aap)
    await turn(aap, id, say('from AAP'))
    const made = await ok(at.post({ model: 'helper', conversation: id, tools: [weather], input: 'weather' }))
    assert.deepEqual(made.conversation, { id })
    const next = await ok(at.post({ model: 'helper', conversation: { id }, input: outputs(made) }))
    assert.equal(next.status, 'completed')
    await turn(aap, id, say('back on AAP'))
    assert.deepEqual(
      (await history(aap, id)).map(message => [message.role, message.content]),
      [
        ['user', 'from AAP'],
        ['assistant', '1: from AAP'],
        ['user', 'weather'],
        [
          'assistant',
          [
            {
              type: 'tool_use',
              toolCallId: calls(made)[0]!.call_id,
              name: 'get_weather',
              input: { city: 'weather' },
            },
          ],
        ],
        ['tool', 'sunny'],
        ['assistant', '5: '],
        ['user', 'back on AAP'],
        ['assistant', '7: back on AAP'],
      ],
    )
    assert.ok(asked.length === 4)
    // The session has turns of another wire, so it stays when its responses are deleted.
    await at.send('DELETE', `/v1/responses/${made.id}`)
    await at.send('DELETE', `/v1/responses/${next.id}`)
    assert.equal((await history(aap, id)).length, 8)
  },
)

test(cites('RESP-STOR-14', 'a conversation refuses unknown ids, open calls and system messages'), async t => {
  const at = await rig(t, { model: counting().model, models: { swift: scripted([{ text: 'x' }]) } })
  const made = await ok(at.post({ ...base, input: 'weather' }))
  const { id } = made.conversation
  const send = (body: object) => refused(at.post({ model: 'helper', tools: [weather], ...body }))
  assert.equal((await send({ conversation: 'sess_none', input: 'x' })).code, 'conversation_not_found')
  assert.equal(
    (await send({ conversation: id, previous_response_id: made.id, input: 'x' })).code,
    'mutually_exclusive_parameters',
  )
  assert.match((await send({ conversation: id, input: 'x' })).message, /^No tool output found/)
  await ok(at.post({ ...base, conversation: id, input: outputs(made) }))
  assert.equal((await send({ conversation: id, input: [{ role: 'system', content: 'x' }] })).status, 400)
})

test(cites('RESP-STOR-16', 'the same key and body give the same response, which runs once'), async t => {
  const { asked, model } = counting()
  const at = await rig(t, { model })
  const key = { 'idempotency-key': 'k1' }
  const body = { ...base, input: 'weather' }
  const [first, second] = await Promise.all([ok(at.post(body, key)), ok(at.post(body, key))])
  assert.equal(first.id, second.id)
  assert.equal(asked.length, 1)
  const more = { ...base, previous_response_id: first.id, input: outputs(first) }
  const third = await ok(at.post(more, { 'idempotency-key': 'k2' }))
  const again = await at.restart()
  const same = await ok(again.post(more, { 'idempotency-key': 'k2' }))
  assert.equal(same.id, third.id)
  const streamed = await eventsOf(again.post({ ...more, stream: true }, { 'idempotency-key': 'k3' }))
  assert.notEqual(streamed.at(-1)?.response.id, third.id)
  const clash = await refused(again.post({ ...body, input: 'other' }, key))
  assert.deepEqual([clash.status, clash.code], [409, 'idempotency_conflict'])
})

test(cites('RESP-STOR-17', 'a client that disconnects does not end a stored response'), async t => {
  const gate = latch()
  const started = latch()
  const inner = scripted([{ text: 'all the same' }])
  const at = await rig(t, {
    model: {
      id: 'late',
      respond: async (...args) => {
        started.open()
        await gate.wait()
        return inner.respond(...args)
      },
    },
  })
  const gone = new AbortController()
  const asked = fetch(`${at.url}/v1/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...base, input: 'x', stream: true }),
    signal: gone.signal,
  })
  await started.wait()
  const reader = (await asked).body!.getReader()
  const { value } = await reader.read()
  const id = /"id":"(resp_[^"]+)"/.exec(Buffer.from(value ?? []).toString())?.[1]
  gone.abort()
  gate.open()
  await until(async () => (await ok(at.get(`/v1/responses/${id}`))).status === 'completed')
  assert.equal(textOf(await ok(at.get(`/v1/responses/${id}`))), 'all the same')
})

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise(resolve => setTimeout(resolve, 5))
}

test(
  cites('RESP-STOR-18', 'a call whose arguments do not fit is settled by the runtime and not shown'),
  async t => {
    const at = await rig(t, {
      script: [
        { calls: [{ name: 'get_weather', input: { town: 'A' } }] },
        {
          calls: [{ name: 'get_weather', input: { city: 'A' } }],
          expect: { results: [{ kind: 'invalid' }] },
        },
      ],
    })
    const made = await ok(at.post({ ...base, input: 'x' }))
    assert.deepEqual(
      calls(made).map(item => item.arguments),
      ['{"city":"A"}'],
    )
    assert.deepEqual(await ok(at.get(`/v1/responses/${made.id}`)), made)
  },
)

test(cites('RESP-STOR-03', 'a response that failed is kept and can be continued'), async t => {
  const at: Rig = await rig(t, {
    script: {
      position: 'counter',
      steps: [{ fail: { code: 'model_failed', message: 'down' } }, { text: 'up' }],
    },
  })
  const made = await ok(at.post({ ...base, input: 'x' }))
  assert.equal(made.status, 'failed')
  assert.deepEqual(made['error'], { code: 'server_error', message: 'down' })
  assert.equal(textOf(await ok(at.post({ ...base, previous_response_id: made.id }))), 'up')
})
