import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { modelContract } from '../../../test/contracts/model.ts'
import type { Model, ModelAnswer, ModelDelta, ModelRequest } from '../../engine/ports.ts'
import type { OutcomeKind } from '../../language/calls.ts'
import type { Entry } from '../../language/history.ts'
import type { ToolChoice, ToolDeclaration, ToolInput } from '../../language/tools.ts'
import type { JsonObject } from '../../lib/json.ts'
import { type RehearsalOptions, rehearsal } from './rehearsal.ts'

// Fixtures are written in the shapes that the casts below name; on anything else the tests fail.
const fixture = (name: string): unknown =>
  JSON.parse(readFileSync(join(import.meta.dirname, 'fixtures', name), 'utf8'))
const toolbox = fixture('toolbox.json') as ToolDeclaration[]

function declared(name: string, description: string, input: ToolInput, title?: string): ToolDeclaration {
  return {
    name,
    ...(title === undefined ? {} : { title }),
    description,
    input,
    kind: 'other',
    readOnly: false,
    idempotent: false,
    destructive: false,
    side: 'server',
  }
}

function object(properties: JsonObject, required = Object.keys(properties)): ToolInput {
  return { form: 'json', schema: { type: 'object', properties, required, additionalProperties: false } }
}

const user = (words: string): Entry => ({ role: 'user', parts: [{ type: 'text', text: words }] })

/** An assistant's calls and what came of each: `[name, arguments, kind, words]`. */
function batch(...calls: [string, string, OutcomeKind, string][]): Entry[] {
  return [
    {
      role: 'assistant',
      parts: calls.map(([name, input], at) => ({
        type: 'call',
        id: `${name}_${at}`,
        name,
        form: 'json',
        text: input,
      })),
    },
    {
      role: 'tool',
      results: calls.map(([name, , kind, words], at) => ({
        callId: `${name}_${at}`,
        name,
        outcome: { kind, parts: [{ type: 'text', text: words }], from: { source: 'tool', tool: name } },
      })),
    },
  ]
}

async function ask(
  history: Entry[],
  request: Partial<ModelRequest> = {},
  options: RehearsalOptions = {},
): Promise<ModelAnswer> {
  const model = rehearsal({ now: () => Date.UTC(2026, 0, 14), ...options })
  const whole = {
    session: 's',
    history,
    tools: toolbox,
    choice: 'auto',
    parallel: true,
    options: {},
    ...request,
  } satisfies ModelRequest
  return model.respond(whole, () => {}, new AbortController().signal)
}

/** An answer as lines: `name arguments` for a call, the words for text. */
async function lines(
  history: Entry[],
  request: Partial<ModelRequest> = {},
  options: RehearsalOptions = {},
): Promise<string[]> {
  const { parts } = await ask(history, request, options)
  return parts.map(part =>
    part.type === 'call' ? `${part.name} ${part.text}` : part.type === 'hosted' ? part.summary : part.text,
  )
}

modelContract('rehearsal', scenario => {
  const plain = rehearsal({ thinking: true })
  switch (scenario) {
    case 'slow':
      return rehearsal({ delayMs: 600_000 })
    case 'rejects':
      return choosing(plain, { tool: 'no_such_tool' })
    case 'reset':
      return { skip: 'it never starts over' }
    case 'silent':
    case 'times-out':
      return { skip: 'it always says something at once' }
    case 'fails':
      return { skip: 'nothing behind it can fail' }
    default:
      return plain
  }
})

function choosing(model: Model, choice: ToolChoice): Model {
  return {
    id: model.id,
    respond: (request, watch, signal) => model.respond({ ...request, choice }, watch, signal),
  }
}

/** By topic: a message, then the calls that it is to give. */
const conversations = fixture('conversations.json') as Record<string, [message: string, ...calls: string[]][]>

describe('from words to calls', () => {
  for (const [topic, cases] of Object.entries(conversations))
    test(topic, async () => {
      for (const [message, ...calls] of cases) {
        const answer = await ask([user(message)])
        const said = answer.parts.map(part => (part.type === 'call' ? `${part.name} ${part.text}` : 'words'))
        assert.deepEqual(said, calls, message)
        assert.equal(answer.stop, 'calls')
      }
    })

  test('no tool fits', async () => {
    const [words] = await lines([user('Tell me a joke')], { tools: toolbox.slice(0, 3) })
    assert.equal(
      words,
      'None of my tools seems to fit that. I could use get_weather, send_mail and read_file: ask for one of these.',
    )
    assert.match((await lines([user('Hello!')]))[0]!, /web_search and 4 more: ask/)
  })

  test('no tools, no text', async () => {
    assert.deepEqual(await lines([user('Weather in Oslo?')], { tools: [] }), [
      'I have no tools here, so all I can do is repeat what I understood: “Weather in Oslo?”',
    ])
    const picture = [{ type: 'image' as const, url: 'https://example.com/a.png' }]
    assert.deepEqual(await lines([{ role: 'user', parts: picture }]), [
      'I can only read text, and there was none.',
    ])
  })

  test('a grammar is met where it can be', async () => {
    const regex = declared('pick_code', 'Picks a code.', {
      form: 'text',
      grammar: { syntax: 'regex', definition: '[A-Z]{3}-\\d{2}' },
    })
    assert.deepEqual(await lines([user('Pick the code ABC-12 now')], { tools: [regex] }), [
      'pick_code ABC-12',
    ])
    assert.deepEqual(await lines([user('Pick a code')], { tools: [regex] }), ['pick_code AAA-11'])
    const lark = declared('answer', 'Gives an answer.', {
      form: 'text',
      grammar: { syntax: 'lark', definition: 'start: "yes" | "no" | "maybe"' },
    })
    assert.deepEqual(await lines([user('The answer is maybe')], { tools: [lark] }), ['answer maybe'])
    assert.deepEqual(await lines([user('Give the answer')], { tools: [lark] }), ['answer yes'])
  })
})

describe('the choice', () => {
  const message = [user('What is the weather in Paris? Then read notes.txt.')]

  test('none: words only', async () => {
    const [words, ...rest] = await lines(message, { choice: 'none', tools: toolbox.slice(0, 2) })
    assert.match(
      words!,
      /^I may not use tools for this answer\. Otherwise I could use get_weather and send_mail\./,
    )
    assert.deepEqual(rest, [])
  })

  test('required: a call even where none fits', async () => {
    const [call] = await lines([user('Hello!')], { choice: 'required', tools: toolbox.slice(2, 3) })
    assert.equal(call, 'read_file {"path":"Hello"}')
  })

  test('one tool', async () => {
    const read = { tool: 'read_file' }
    assert.deepEqual(await lines(message, { choice: read }), ['read_file {"path":"notes.txt"}'])
    await assert.rejects(ask(message, { choice: { tool: 'nothing' } }), {
      code: 'model_rejected',
      message:
        'The tool choice cannot be met: a call must be nothing, but no such tool is offered. Offer it, or choose "auto".',
    })
  })

  test('some tools', async () => {
    const allowed = ['get_weather', 'not_offered']
    assert.deepEqual(await lines(message, { choice: { allowed, mode: 'auto' } }), [
      'get_weather {"city":"Paris"}',
    ])
    const calls = await lines([user('Hello!')], { choice: { allowed: ['calculator'], mode: 'required' } })
    assert.deepEqual(calls, ['calculator {"expression":"Hello"}'])
    await assert.rejects(ask(message, { choice: { allowed: ['x'], mode: 'required' } }), {
      code: 'model_rejected',
    })
  })

  test('a choice is met once per message', async () => {
    const history = [user('Hello!'), ...batch(['read_file', '{"path":"Hello"}', 'ok', 'Hi there'])]
    for (const choice of ['required', { tool: 'read_file' }] as const)
      assert.deepEqual(await lines(history, { choice }), ['read_file answered: Hi there.'])
  })

  test('one call at a time: the rest follows', async () => {
    const one = { parallel: false }
    assert.deepEqual(await lines(message, one), ['get_weather {"city":"Paris"}'])
    const first = batch(['get_weather', '{"city":"Paris"}', 'denied', 'Not today'])
    assert.deepEqual(await lines([...message, ...first], one), ['read_file {"path":"notes.txt"}'])
    const second = batch(['read_file', '{"path":"notes.txt"}', 'ok', 'Buy milk'])
    assert.deepEqual(await lines([...message, ...first, ...second], one), [
      'get_weather was not allowed: Not today. read_file answered: Buy milk.',
    ])
  })
})

describe('what came of the calls', () => {
  test('each result is told in a sentence', async () => {
    const history = [
      user('Do all of it'),
      ...batch(
        ['get_weather', '{}', 'ok', '{"city":"Paris","temperature_c":18,"sky":["cloudy","dry"]}'],
        ['send_mail', '{}', 'denied', 'Mail is for weekdays.'],
        ['read_file', '{}', 'error', 'ENOENT: no such file'],
        ['write_file', '{}', 'timeout', 'No answer in 30 s'],
        ['copy_file', '{}', 'cancelled', 'Stopped by ana'],
        ['fetch_page', '{}', 'abandoned', 'The application never sent it'],
        ['web_search', '{}', 'unknown', 'The server restarted'],
      ),
    ]
    const [words] = await lines(history)
    assert.deepEqual(words?.split(/(?<=\.) (?=[A-Za-z_]+ (?:answered|was|failed|took|may))/u), [
      'get_weather answered: city Paris, temperature c 18, sky cloudy; dry.',
      'Mail was not allowed: Mail is for weekdays.',
      'read_file failed: ENOENT: no such file.',
      'write_file took too long and was stopped: No answer in 30 s.',
      'copy_file was cancelled: Stopped by ana.',
      'fetch_page was left without an answer: The application never sent it.',
      'web_search may or may not have happened: The server restarted. Please check before it is asked for again.',
    ])
  })

  test('a long result is shortened', async () => {
    const history = [user('Read a.txt'), ...batch(['read_file', '{}', 'ok', 'word '.repeat(400)])]
    const [words] = await lines(history)
    assert.ok(words!.length < 320 && words!.endsWith('…'))
  })

  test('what an earlier message left open is told with the next', async () => {
    const history = [
      user('Weather in Oslo?'),
      ...batch(['get_weather', '{"city":"Oslo"}', 'abandoned', 'A new message came first']),
      user('Tell me a joke'),
    ]
    const [words] = await lines(history, { tools: toolbox.slice(0, 1) })
    assert.match(
      words!,
      /^get_weather was left without an answer: A new message came first\. None of my tools/,
    )
  })

  test('a new message is a new plan', async () => {
    const history = [
      user('Weather in Oslo?'),
      ...batch(['get_weather', '{"city":"Oslo"}', 'ok', '4 °C']),
      { role: 'assistant' as const, parts: [{ type: 'text' as const, text: 'get_weather answered: 4 °C.' }] },
      user('And the weather in Rome?'),
    ]
    assert.deepEqual(await lines(history), ['get_weather {"city":"Rome"}'])
  })
})

describe('a refused call', () => {
  const book = declared(
    'book_table',
    'Books a table at a restaurant.',
    object(
      {
        guests: { type: 'integer' },
        area: { type: 'string' },
        day: { type: 'string' },
        note: { type: 'string' },
      },
      ['guests'],
    ),
  )
  const repair = (input: string, complaint: string) =>
    lines(
      [user('Book a table for 12 guests inside'), ...batch(['book_table', input, 'invalid', complaint])],
      {
        tools: [book],
      },
    )

  test('is put right by what the refusal says', async () => {
    const cases: [input: string, complaint: string, call: string][] = [
      ['{"guests":12}', '/guests must be <= 8', '{"guests":8}'],
      ['{"guests":12}', 'guests must be between 2 and 6.', '{"guests":6}'],
      ['{"guests":1}', 'guests: at least 2', '{"guests":2}'],
      ['{"guests":"12"}', 'guests must be an integer', '{"guests":12}'],
      [
        '{"guests":12,"area":"attic"}',
        'area must be one of: "outside", "inside"',
        '{"guests":12,"area":"inside"}',
      ],
      ['{"guests":12,"seats":3}', 'The property seats is not allowed here', '{"guests":12}'],
      ['{}', 'the value is missing the required property "guests"', '{"guests":12}'],
      ['{"guests":12}', 'day is required, for example "2026-03-01"', '{"guests":12,"day":"2026-03-01"}'],
      ['{"guests":', 'The arguments are not JSON', '{"guests":12}'],
    ]
    for (const [input, complaint, call] of cases)
      assert.deepEqual(await repair(input, complaint), [`book_table ${call}`], complaint)
  })

  test('is not sent again unchanged', async () => {
    assert.deepEqual(await repair('{"guests":12}', 'The kitchen is on fire'), [
      'book_table would not take the arguments that I gave it: The kitchen is on fire.',
    ])
  })

  test('is put right once, then told in words', async () => {
    const first = [
      user('Book a table for 12 guests'),
      ...batch(['book_table', '{"guests":12}', 'invalid', 'guests must be <= 8']),
    ]
    const again = [...first, ...batch(['book_table', '{"guests":8}', 'invalid', 'guests must be <= 4'])]
    assert.deepEqual(await lines(again, { tools: [book] }), [
      'book_table would not take the arguments that I gave it: guests must be <= 4.',
    ])
    const mended = [...first, ...batch(['book_table', '{"guests":8}', 'ok', 'Booked'])]
    assert.deepEqual(await lines(mended, { tools: [book] }), ['book_table answered: Booked.'])
    assert.deepEqual(await lines(first, { tools: [] }), [
      'book_table would not take the arguments that I gave it: guests must be <= 8.',
    ])
  })

  test('what is left undone after it is said', async () => {
    const history = [
      user('Read notes.txt and book a table for 3 guests'),
      ...batch(['read_file', '{"path":"notes.txt"}', 'invalid', 'No.']),
    ]
    const [words] = await lines(history, { tools: [toolbox[2]!, book], parallel: false })
    assert.equal(
      words,
      'read_file would not take the arguments that I gave it: No. I did not get to book_table.',
    )
  })
})

describe('the answer', () => {
  test('streams word by word, or as many at once as asked', async () => {
    const shown = async (chunk: number) => {
      const deltas: ModelDelta[] = []
      const request = {
        session: 's',
        history: [user('Hi')],
        tools: [],
        choice: 'auto',
        parallel: true,
        options: {},
      } as const
      await rehearsal({ chunk }).respond(request, delta => deltas.push(delta), new AbortController().signal)
      return deltas.length
    }
    assert.equal(await shown(1), 16)
    assert.equal(await shown(5), 4)
  })

  test('thinks in a line when asked to', async () => {
    const [thought] = await lines([user('Read notes.txt')], {}, { thinking: true })
    assert.equal(thought, '“Read notes.txt” asks for read_file.')
  })

  test('keeps to the token limit, and cuts the call that does not fit', async () => {
    const words = await ask([user('Hi')], { tools: [], maxTokens: 3 })
    assert.deepEqual([words.parts, words.stop], [[{ type: 'text', text: 'I have no to' }], 'length'])
    const call = await ask([user('Read notes.txt')], { maxTokens: 2 })
    assert.deepEqual(call.parts, [
      { type: 'call', name: 'read_file', form: 'json', text: '{"path":', cut: true },
    ])
    assert.equal(call.stop, 'length')
  })

  test('usage grows with what was read and said', async () => {
    const short = await ask([user('Read notes.txt')])
    const long = await ask([user('Hello!'), user('Read notes.txt')])
    assert.ok(short.usage!.input > 0 && short.usage!.output > 0)
    assert.ok(long.usage!.input > short.usage!.input)
    assert.equal(long.usage!.output, short.usage!.output)
  })

  test('any words at all get an answer, the same one twice, and only offered tools', () => {
    const piece = fc.oneof(
      fc.constantFrom(
        'weather',
        'read',
        'and',
        'then',
        ', ',
        '. ',
        '"a b"',
        'Paris',
        'a.txt',
        '12',
        '5 * 3',
        'tomorrow',
      ),
      fc.string({ unit: 'binary', maxLength: 12 }),
    )
    return fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 12 }), async pieces => {
        const message = [user(pieces.join(' '))]
        const first = await ask(message)
        assert.deepEqual(await ask(message), first)
        for (const part of first.parts)
          if (part.type === 'call') assert.ok(toolbox.some(tool => tool.name === part.name))
      }),
      { numRuns: 150 },
    )
  })
})
