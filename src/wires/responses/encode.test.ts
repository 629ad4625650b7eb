import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { FollowItem, OnceItem } from '../../engine/index.ts'
import type { CallPart, Outcome } from '../../language/calls.ts'
import type { Delta, Event, ModelAnswered } from '../../language/events.ts'
import { type EncoderOptions, ResponseEncoder } from './encode.ts'

type Item = FollowItem | OnceItem
type Frame = { type: string; sequence_number: number; [name: string]: unknown }
type Shown = { status: string; output: ShownItem[]; [name: string]: unknown }
type ShownItem = { type: string; id: string; [name: string]: unknown }

const options: EncoderOptions = {
  place: { session: 'sess_abc', first: 2 },
  agent: 'helper',
  createdAt: 1_000,
  request: { model: 'helper' },
  now: () => 9_000,
}

function framesOf(text: string): Frame[] {
  return text
    .split('\n\n')
    .filter(block => block !== '' && block !== 'data: [DONE]')
    .map(block => JSON.parse(/^data: (.*)$/m.exec(block)?.[1] ?? '') as Frame)
}

/** The frames of a stream, and the response that the encoder has in the end. */
function run(
  items: readonly Item[],
  more: Partial<EncoderOptions> = {},
): { frames: Frame[]; response: Shown } {
  const encoder = new ResponseEncoder({ ...options, ...more })
  let text = encoder.begin()
  for (const item of items) text += encoder.take(item)
  text += encoder.end()
  return { frames: framesOf(text), response: JSON.parse(encoder.response) as Shown }
}

const stored = { waited: [] }
const delta = (given: Delta): Item => ({ type: 'delta', delta: given })
const text = (given: string): Item => delta({ type: 'text', text: given })
const thinking = (given: string): Item => delta({ type: 'thinking', text: given })

type GivenEvent<E = Event> = E extends Event ? Omit<E, 'v' | 'at'> : never
let seq = 0
const event = (given: GivenEvent): Item => ({
  type: 'event',
  seq: ++seq,
  // The members of each event are checked where it is written.
  event: { v: 1, at: 5_000, ...given } as Event,
})
const answered = (parts: ModelAnswered['parts'], stop: ModelAnswered['stop'] = 'end'): Item =>
  event({ type: 'model.answered', parts, stop, model: 'm' })
const said = (words: string) => ({ type: 'text', text: words }) as const
const thought = (words: string) => ({ type: 'thinking', text: words }) as const
const call = (id: string, name: string): CallPart => ({
  type: 'call',
  id,
  name,
  form: 'json',
  text: '{"q":1}',
})
const ended = (stop: 'end' | 'error' | 'cancelled'): Item => event({ type: 'turn.ended', turn: 't', stop })
const over: Item = { type: 'ended' }
const waiting: Item = { type: 'waiting' }

it('the usage of a response is that of all its answers, with the tokens that were written to a cache', () => {
  const usage = { input: 10, output: 2, cacheRead: 3, cacheWrite: 4 }
  const step = event({ type: 'model.answered', parts: [said('a')], stop: 'end', model: 'm', usage })
  const { response } = run([step, step, ended('end'), over], stored)
  assert.deepEqual(response['usage'], {
    input_tokens: 20,
    input_tokens_details: { cache_write_tokens: 8, cached_tokens: 6 },
    output_tokens: 4,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 24,
  })
})

describe('a stateless response', () => {
  const parts = [thought('Hm.'), said('Look:'), call('call_1', 'look')]
  const answer: Item = { type: 'answer', answer: { parts, stop: 'calls', model: 'm' } }
  const deltas = [
    thinking('Hm.'),
    text('Lo'),
    text('ok:'),
    delta({ type: 'call.opened', callId: 'call_1', name: 'look', form: 'json' }),
    delta({ type: 'arguments', callId: 'call_1', text: '{"q"' }),
    delta({ type: 'arguments', callId: 'call_1', text: ':1}' }),
  ]

  it('is the same with and without deltas', () => {
    const { frames, response } = run([...deltas, answer], { after: -1 })
    assert.deepEqual(run([answer]).response, response)
    assert.deepEqual(frames.at(-1)?.['response'], response)
    assert.equal(response.status, 'completed')
    assert.deepEqual([response['created_at'], response['completed_at']], [1, 9])
    assert.deepEqual(
      response.output.map(({ type, id }) => [type, id]),
      [
        ['reasoning', 'rs_abc_2_0_0'],
        ['message', 'msg_abc_2_0_0'],
        ['function_call', 'fc_abc_2_0_0'],
      ],
    )
  })

  it('makes no frames unless it is streamed', () => {
    assert.deepEqual(run([...deltas, answer]).frames, [])
  })

  it('fails with the error that the engine threw', () => {
    const encoder = new ResponseEncoder({ ...options, after: -1 })
    encoder.take(text('Half'))
    const [frame] = framesOf(encoder.fail({ code: 'model_timeout', message: 'Too late.' }))
    assert.equal(frame?.type, 'response.failed')
    const { status, error, output } = frame['response'] as Shown
    assert.deepEqual([status, error, output], ['failed', { code: 'server_error', message: 'Too late.' }, []])
  })

  it('shows a refusal alone, or after text that was streamed', () => {
    const refusal: Item = { type: 'answer', answer: { parts: [said('No.')], stop: 'refusal', model: 'm' } }
    const contentOf = (items: readonly Item[]): unknown =>
      run(items, { after: -1 }).response.output[0]?.['content']
    const part = { type: 'refusal', refusal: 'No.' }
    assert.deepEqual(contentOf([refusal]), [part])
    assert.deepEqual(contentOf([text('No.'), refusal]), [
      { type: 'output_text', text: 'No.', annotations: [], logprobs: [] },
      part,
    ])
  })

  it('gives no call whose arguments were cut off', () => {
    const cut = { ...call('call_1', 'look'), cut: true } as const
    const items: Item[] = [
      ...deltas,
      { type: 'answer', answer: { parts: [cut], stop: 'length', model: 'm' } },
    ]
    const { response } = run(items, { after: -1 })
    assert.deepEqual(
      [response.status, response.output.map(({ type }) => type)],
      ['incomplete', ['reasoning', 'message']],
    )
  })
})

describe('a stored response', () => {
  /** The stream of someone who was there, and the response that is read from the log. */
  function both(items: readonly Item[]): { live: ReturnType<typeof run>; read: ReturnType<typeof run> } {
    const log = items.filter(({ type }) => type !== 'delta')
    return { live: run(items, { ...stored, after: -1 }), read: run(log, { ...stored, after: -1 }) }
  }

  const turn = [
    thinking('Hm.'),
    text('Some '),
    text('words.'),
    answered(
      [thought('Hm.'), said('Some words.'), call('call_1', 'look'), call('call_2', 'search')],
      'calls',
    ),
    event({ type: 'call.handed', callId: 'call_1', argsHash: 'a', toolHash: 't' }),
    event({ type: 'approval.requested', callId: 'call_2', argsHash: 'a', toolHash: 't', rule: 'r' }),
    waiting,
  ]

  it('has the same items, ids and numbers when it is seen live and when it is read from the log', () => {
    const { live, read } = both(turn)
    assert.deepEqual(live.response, read.response)
    const others = ({ frames }: typeof live) => frames.filter(({ type }) => !type.endsWith('.delta'))
    assert.deepEqual(others(live), others(read))
    assert.deepEqual(
      live.response.output.map(({ id }) => id),
      ['rs_abc_2_0_0', 'msg_abc_2_0_0', 'fc_abc_2_0_0', 'mcpr_2'],
    )
  })

  it('is resumed after any event, in the middle of a text too', () => {
    const { frames } = run(turn, { ...stored, after: -1 })
    const last = frames.at(-1)!.sequence_number
    const textUpTo = (given: readonly Frame[]): string =>
      given.map(frame => (frame.type === 'response.output_text.delta' ? String(frame['delta']) : '')).join('')
    for (let after = 0; after < last; after++) {
      const rest = run(turn, { ...stored, after }).frames
      assert.ok(rest.every(frame => frame.sequence_number > after))
      assert.equal(rest.at(-1)?.sequence_number, last)
      assert.ok('Some words.'.endsWith(textUpTo(rest)))
    }
    const none = run(turn, { ...stored, after: last }).frames
    assert.deepEqual(
      none.map(({ type }) => type),
      ['response.completed'],
    )
  })

  it('does not keep what a model said before it failed', () => {
    const { live, read } = both([thinking('Hm.'), text('Half'), ended('error'), over])
    assert.deepEqual(live.response, read.response)
    assert.deepEqual([live.response.status, live.response.output], ['failed', []])
  })

  it('keeps only the text of an answer that was interrupted', () => {
    const { live, read } = both([
      thinking('Hm.'),
      text('Half '),
      thinking('So.'),
      text('of it'),
      answered([said('Half of it')], 'cancelled'),
      ended('cancelled'),
      over,
    ])
    assert.deepEqual(live.response, read.response)
    assert.equal(live.response.status, 'cancelled')
    assert.deepEqual(
      live.response.output.map(({ id, status, content }) => [id, status, content]),
      [
        [
          'msg_abc_2_0_0',
          'incomplete',
          [{ type: 'output_text', text: 'Half of it', annotations: [], logprobs: [] }],
        ],
      ],
    )
  })

  it('shows a refusal after its text, however it is read', () => {
    const { live, read } = both([text('No.'), answered([said('No.')], 'refusal'), ended('end'), over])
    assert.deepEqual(live.response, read.response)
    const content = live.response.output[0]?.['content'] as { type: string }[]
    assert.deepEqual(
      content.map(({ type }) => type),
      ['output_text', 'refusal'],
    )
  })

  it('shows calls that the server ran, was denied, or settled by itself', () => {
    const outcome = (kind: Outcome['kind'], words: string): Outcome => ({
      kind,
      parts: [said(words)],
      from: { source: 'runtime' },
    })
    const settled = (callId: string, given: Outcome): Item =>
      event({ type: 'call.settled', callId, outcome: given })
    const items = [
      event({ type: 'approval.decided', callId: 'call_0', granted: true, by: 'ann', argsHash: 'a' }),
      event({ type: 'call.started', callId: 'call_0', attempt: 1 }),
      settled('call_0', outcome('ok', 'sent')),
      answered([call('call_1', 'search'), call('call_2', 'mail'), call('call_3', 'search')], 'calls'),
      settled('call_1', outcome('invalid', 'no such field')),
      settled('call_2', outcome('denied', 'not allowed')),
      event({ type: 'call.started', callId: 'call_3', attempt: 1 }),
      settled('call_3', outcome('error', 'it broke')),
      answered([said('Done.')]),
      ended('end'),
      over,
    ]
    const { response } = run(items, { waited: [call('call_0', 'mail')] })
    const shown = response.output.map(({ id, status, output, error, approval_request_id: approval }) => [
      id,
      status,
      output ?? (error as { content: string } | null)?.content,
      approval,
    ])
    assert.deepEqual(shown, [
      ['mcp_abc_2_0_0', 'completed', 'sent', 'mcpr_0'],
      ['mcp_abc_2_0_2', 'failed', 'not allowed', null],
      ['mcp_abc_2_0_3', 'failed', 'it broke', null],
      ['msg_abc_2_1_0', 'completed', undefined, undefined],
    ])
  })

  it('ends its stream with an error when the stream cannot go on, under the number that the client has', () => {
    const encoder = new ResponseEncoder({ ...options, ...stored, after: 40 })
    const [frame] = framesOf(
      encoder.take({ type: 'lost', error: { code: 'model_failed', message: 'It started over.' } }),
    )
    assert.deepEqual([frame?.type, frame?.sequence_number, frame?.['code']], ['error', 40, 'server_error'])
    assert.equal(encoder.end(), '')
    assert.equal(encoder.stopped, false)
  })

  it('is in progress until the session rests or waits', () => {
    const { frames, response } = run(turn.slice(0, -1), { ...stored, after: -1 })
    assert.deepEqual([response.status, response['completed_at']], ['in_progress', null])
    assert.ok(!frames.some(({ type }) => type === 'response.completed'))
  })
})
