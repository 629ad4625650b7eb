import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { modelContract } from '../../../test/contracts/model.ts'
import type { ModelAnswer, ModelDelta, ModelRequest } from '../../engine/ports/index.ts'
import type { OutcomeKind } from '../../language/calls.ts'
import type { Entry } from '../../language/history.ts'
import type { ToolDeclaration, ToolInput } from '../../language/tools.ts'
import type { JsonObject } from '../../lib/json/index.ts'
import { type RehearsalOptions, rehearsal } from './rehearsal.ts'

function declared(name: string, description: string, input: ToolInput, title?: string): ToolDeclaration {
  const flags = { readOnly: false, idempotent: false, destructive: false }
  const shown = title === undefined ? {} : { title }
  return { name, ...shown, description, input, kind: 'other', side: 'server', ...flags }
}

function object(properties: JsonObject, required = Object.keys(properties)): ToolInput {
  return { form: 'json', schema: { type: 'object', properties, required, additionalProperties: false } }
}

const string = { type: 'string' }
const integer = { type: 'integer' }
const weather = declared(
  'get_weather',
  'The weather in a city.',
  object({ city: string, unit: { enum: ['celsius', 'fahrenheit'] }, days: integer }, ['city']),
)
const mail = declared(
  'send_mail',
  'Sends an e-mail message.',
  object(
    {
      to: { type: 'array', items: { type: 'string', format: 'email' } },
      subject: string,
      body: string,
      urgent: { type: 'boolean' },
    },
    ['to', 'body'],
  ),
  'Mail',
)
const readFile = declared('read_file', 'Reads a text file.', object({ path: string }))
const writeFile = declared('write_file', 'Writes a text file.', object({ path: string, content: string }))
const sums = declared('calculator', 'Does arithmetic.', object({ expression: string }))
const search = declared(
  'web_search',
  'Searches the web.',
  object({ query: string, max_results: integer }, ['query']),
)
const light = declared(
  'set_light',
  'Turns a lamp on or off.',
  object({ room: { enum: ['kitchen', 'living room'] }, state: { enum: ['on', 'off'] } }),
)
const python = declared('python', 'Runs code.', { form: 'text' })
const tools = [weather, mail, readFile, writeFile, sums, search, light, python]

const user = (text: string): Entry => ({ role: 'user', parts: [{ type: 'text', text }] })

/** An assistant's calls and their results: `[name, arguments, kind, text]`. */
function batch(...calls: [string, string, OutcomeKind, string][]): Entry[] {
  const parts = calls.map(([name, text], at) => {
    return { type: 'call' as const, id: `${name}_${at}`, name, form: 'json' as const, text }
  })
  const results = calls.map(([name, , kind, text], at) => ({
    callId: `${name}_${at}`,
    name,
    outcome: {
      kind,
      parts: [{ type: 'text' as const, text }],
      from: { source: 'tool' as const, tool: name },
    },
  }))
  return [
    { role: 'assistant', parts },
    { role: 'tool', results },
  ]
}

async function ask(
  history: Entry[],
  request: Partial<ModelRequest> = {},
  options: RehearsalOptions = {},
  watch: (delta: ModelDelta) => void = () => {},
): Promise<ModelAnswer> {
  const rest = { session: 's', choice: 'auto', parallel: true, options: {} } as const
  return rehearsal(options).respond(
    { ...rest, history, tools, ...request },
    watch,
    new AbortController().signal,
  )
}

/** An answer as lines: `name arguments` for a call, the text of any other part. */
async function lines(...asked: Parameters<typeof ask>): Promise<string[]> {
  const { parts } = await ask(...asked)
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
      return {
        id: plain.id,
        respond: (request, ...rest) =>
          plain.respond({ ...request, choice: { tool: 'no_such_tool' } }, ...rest),
      }
    case 'reset':
      return { skip: 'it never starts over' }
    case 'silent':
    case 'times-out':
      return { skip: 'it answers at once' }
    case 'fails':
      return { skip: 'nothing behind it can fail' }
    default:
      return plain
  }
})

describe('a message becomes calls', () => {
  /** A rule, then messages, each with its calls. */
  const rules: [rule: string, ...examples: [message: string, ...calls: string[]][]][] = [
    [
      'a clause chooses the tool that has most of its words',
      ['What is the weather in Paris?', 'get_weather {"city":"Paris"}'],
      ['Please read the file notes.txt', 'read_file {"path":"notes.txt"}'],
    ],
    [
      'every clause may choose a tool, in order',
      [
        'What is the weather in Oslo, what is 17 * 23, and mail ana@example.org that I am late',
        'get_weather {"city":"Oslo"}',
        'calculator {"expression":"17 * 23"}',
        'send_mail {"to":["ana@example.org"],"body":"I am late"}',
      ],
      [
        'Write "hello, world" to out/hello.txt. Then read notes.txt.',
        'write_file {"path":"out/hello.txt","content":"hello, world"}',
        'read_file {"path":"notes.txt"}',
      ],
    ],
    [
      'values alone make another call of the same tool',
      [
        'Weather in Paris, London and New York in fahrenheit?',
        'get_weather {"city":"Paris"}',
        'get_weather {"city":"London"}',
        'get_weather {"city":"New York","unit":"fahrenheit"}',
      ],
      ['weather in paris and oslo please', 'get_weather {"city":"paris"}', 'get_weather {"city":"oslo"}'],
      ['Read a.txt, b.txt and a.txt', 'read_file {"path":"a.txt"}', 'read_file {"path":"b.txt"}'],
    ],
    [
      'values that are still missing are added to the call, and lists grow',
      ['Weather in Rome, 3 days', 'get_weather {"city":"Rome","days":3}'],
      [
        'Mail ana@example.org and bob@example.org that I am late',
        'send_mail {"to":["ana@example.org","bob@example.org"],"body":"I am late"}',
      ],
    ],
    [
      'any other clause belongs to the text of the call before it',
      ['Search the web for tea, coffee and milk', 'web_search {"query":"tea, coffee and milk"}'],
    ],
    [
      'arithmetic chooses a tool with an expression',
      ['what is 12 times 7', 'calculator {"expression":"12 * 7"}'],
    ],
    [
      'a value beside a parameter\u2019s name fills it',
      ['Search the web for flights, max 5 results', 'web_search {"query":"flights","max_results":5}'],
      [
        'Mail ana@example.org with subject "Hello" saying "See you"',
        'send_mail {"to":["ana@example.org"],"subject":"Hello","body":"See you"}',
      ],
    ],
    [
      'an enum takes the option that the clause names, a switch is true unless the clause says "not"',
      ['Turn off the light in the living room', 'set_light {"room":"living room","state":"off"}'],
      [
        'Mail ana@example.org "Lunch", not urgent',
        'send_mail {"to":["ana@example.org"],"body":"Lunch","urgent":false}',
      ],
    ],
    [
      'a text parameter takes quoted text, else the rest of the clause',
      ['Search the web for cheap flights to Rome', 'web_search {"query":"cheap flights to Rome"}'],
      ['Search the web: cheap flights', 'web_search {"query":"cheap flights"}'],
    ],
    [
      'a text tool takes quoted text, else the rest',
      ['Run this python: print(1 + 1)', 'python print(1 + 1)'],
    ],
  ]
  for (const [rule, ...examples] of rules)
    test(rule, async () => {
      for (const [message, ...calls] of examples)
        assert.deepEqual(await lines([user(message)]), calls, message)
    })

  test('required parameters that the message says nothing of get the plainest value', async () => {
    const item = { type: 'object', properties: { on: { type: 'boolean' } }, required: ['on'] }
    const schema = object({
      mode: { enum: ['fast', 'slow'] },
      size: { type: 'integer', minimum: 3 },
      tag: { type: 'string', default: 'none' },
      note: { anyOf: [{ type: 'null' }, { $ref: '#/$defs/text' }] },
      rows: { type: 'array', items: item },
    })
    if (schema.form === 'json') schema.schema['$defs'] = { text: string }
    const { parts } = await ask([user('Bake')], { tools: [declared('bake', 'Bakes.', schema)] })
    assert.deepEqual(JSON.parse(parts[0]?.type === 'call' ? parts[0].text : ''), {
      mode: 'fast',
      size: 3,
      tag: 'none',
      note: '',
      rows: [{ on: false }],
    })
  })

  test('a schema that refers to itself ends', async () => {
    const node = { type: 'object', properties: { next: { $ref: '#' } }, required: ['next'] }
    const { stop } = await ask([user('Bake')], {
      tools: [declared('bake', 'Bakes.', { form: 'json', schema: node })],
    })
    assert.equal(stop, 'calls')
  })
})

describe('a message without a call', () => {
  test('no tool fits: it names the tools', async () => {
    assert.deepEqual(await lines([user('Tell me a joke')], { tools: tools.slice(0, 3) }), [
      'None of my tools seems to fit that. I could use get_weather, send_mail and read_file: ask for one of these.',
    ])
    const nine = [...tools, declared('ninth', 'One more.', { form: 'text' })]
    assert.match((await lines([user('Hello!')], { tools: nine }))[0]!, /set_light, python and 1 more: ask/)
  })

  test('no tools, or no text: it says so', async () => {
    assert.deepEqual(await lines([user('Weather in Oslo?')], { tools: [] }), [
      'I have no tools here, so all I can do is repeat what I understood: “Weather in Oslo?”',
    ])
    const picture: Entry = { role: 'user', parts: [{ type: 'image', url: 'https://example.com/a.png' }] }
    assert.deepEqual(await lines([picture]), ['I can only read text, and there was none.'])
  })
})

describe('the tool choice', () => {
  const message = [user('What is the weather in Paris? Then read notes.txt.')]

  test('none: an answer in words', async () => {
    const [words, ...rest] = await lines(message, { choice: 'none', tools: tools.slice(0, 2) })
    assert.match(
      words!,
      /^I may not use tools for this answer\. Otherwise I could use get_weather and send_mail\./,
    )
    assert.deepEqual(rest, [])
  })

  test('required: a call even where no tool fits, once per message', async () => {
    const request = { choice: 'required', tools: [readFile] } as const
    assert.deepEqual(await lines([user('Surprise me')], request), ['read_file {"path":"Surprise me"}'])
    const history = [user('Surprise me'), ...batch(['read_file', '{"path":"Surprise me"}', 'ok', 'Hi'])]
    assert.deepEqual(await lines(history, request), ['read_file answered: Hi.'])
  })

  test('one tool, or some of them', async () => {
    const read = ['read_file {"path":"notes.txt"}']
    assert.deepEqual(await lines(message, { choice: { tool: 'read_file' } }), read)
    assert.deepEqual(await lines(message, { choice: { allowed: ['read_file', 'x'], mode: 'auto' } }), read)
  })

  test('a choice that no offered tool meets is refused', async () => {
    await assert.rejects(ask(message, { choice: { tool: 'nothing' } }), {
      code: 'model_rejected',
      message:
        'The tool choice cannot be met: a call must be one of nothing, but no such tool is offered. Offer it, or choose "auto".',
    })
    const none = { allowed: ['x'], mode: 'required' } as const
    await assert.rejects(ask(message, { choice: { ...none, allowed: ['x'] } }), { code: 'model_rejected' })
    await assert.rejects(ask(message, { choice: 'required', tools: [] }), { code: 'model_rejected' })
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

describe('results are reported', () => {
  const report = async (kind: OutcomeKind, text: string): Promise<string> => {
    const history = [user('Mail ana@example.org "Hi"'), ...batch(['send_mail', '{}', kind, text])]
    return (await lines(history))[0]!
  }

  test('each outcome in its own words, with the title of the tool', async () => {
    const reports: [OutcomeKind, string][] = [
      ['ok', 'Mail answered: So it is.'],
      ['error', 'Mail failed: So it is.'],
      ['invalid', 'Mail would not take the arguments that I gave it: So it is.'],
      ['denied', 'Mail was not allowed: So it is.'],
      ['timeout', 'Mail took too long and was stopped: So it is.'],
      ['cancelled', 'Mail was cancelled: So it is.'],
      ['abandoned', 'Mail was left without an answer: So it is.'],
      ['unknown', 'Mail may or may not have happened: So it is. Please check before it is asked for again.'],
    ]
    for (const [kind, sentence] of reports) assert.equal(await report(kind, 'So it is.'), sentence)
  })

  test('JSON without its punctuation, long text shortened, on one line', async () => {
    assert.equal(await report('ok', '[{"id":17,"title":"At 9:40"}]'), 'Mail answered: id 17, title At 9:40.')
    assert.equal(await report('ok', 'a\n\n  b'), 'Mail answered: a b.')
    const long = await report('ok', 'x'.repeat(1000))
    assert.ok(long.length < 320 && long.endsWith('…'))
  })

  test('a new message is a new plan', async () => {
    const before = [user('Weather in Oslo?'), ...batch(['get_weather', '{"city":"Oslo"}', 'ok', '4 °C'])]
    assert.deepEqual(await lines([...before, user('And the weather in Rome?')]), [
      'get_weather {"city":"Rome"}',
    ])
  })

  test('a summary tells messages and results', async () => {
    const before = [user('Weather in Oslo?'), ...batch(['get_weather', '{"city":"Oslo"}', 'ok', '4 °C'])]
    assert.deepEqual(await lines([...before, user('Write a summary')], { purpose: 'summary' }), [
      'So far: You said: “Weather in Oslo?” get_weather answered: 4 °C.',
    ])
  })
})

describe('a refused call is corrected once', () => {
  const book = declared('book_table', 'Books a table.', object({ guests: integer, area: string }, ['guests']))
  const asked = user('Book a table for 12 guests')
  const after = (input: string, refusal: string, ...more: Entry[]) =>
    lines([asked, ...batch(['book_table', input, 'invalid', refusal]), ...more], { tools: [book] })

  test('by the bound, the option or the example that the refusal names', async () => {
    const cases: [input: string, refusal: string, corrected: string][] = [
      ['{"guests":12}', 'It was not run. Fix this:\n- /guests must be <= 8', '{"guests":8}'],
      ['{"guests":12}', 'guests must be < 8', '{"guests":7}'],
      ['{"guests":1}', 'guests: at least 2', '{"guests":2}'],
      [
        '{"guests":2,"area":"attic"}',
        '/area must be one of: "inside", "outside"',
        '{"guests":2,"area":"inside"}',
      ],
    ]
    for (const [input, refusal, corrected] of cases)
      assert.deepEqual(await after(input, refusal), [`book_table ${corrected}`], refusal)
  })

  test('a refusal that it does not understand is reported', async () => {
    const sentence = 'book_table would not take the arguments that I gave it: The kitchen is on fire.'
    for (const input of ['{"guests":12}', '{"guests":'])
      assert.deepEqual(await after(input, 'The kitchen is on fire.'), [sentence])
  })

  test('a second refusal is reported; a correction that worked hides the first', async () => {
    const again = batch(['book_table', '{"guests":8}', 'invalid', 'guests must be <= 4'])
    assert.deepEqual(await after('{"guests":12}', 'guests must be <= 8', ...again), [
      'book_table would not take the arguments that I gave it: guests must be <= 4.',
    ])
    const worked = batch(['book_table', '{"guests":8}', 'ok', 'Booked'])
    assert.deepEqual(await after('{"guests":12}', 'guests must be <= 8', ...worked), [
      'book_table answered: Booked.',
    ])
  })
})

describe('the answer', () => {
  test('streams word by word', async () => {
    const deltas: ModelDelta[] = []
    const { parts } = await ask([user('Hi')], { tools: [] }, {}, delta => deltas.push(delta))
    assert.equal(deltas.length, 16)
    assert.deepEqual(parts, [
      { type: 'text', text: deltas.map(delta => ('text' in delta ? delta.text : '')).join('') },
    ])
  })

  test('says in a line of thinking which clause chose which tool', async () => {
    const [thought] = await lines([user('Read notes.txt')], {}, { thinking: true })
    assert.equal(thought, '“Read notes.txt” asks for read_file.')
  })

  test('counts tokens that grow with the history', async () => {
    const short = await ask([user('Read notes.txt')])
    const long = await ask([user('Hello!'), user('Read notes.txt')])
    assert.ok(short.usage!.input > 0 && long.usage!.input > short.usage!.input)
    assert.equal(long.usage!.output, short.usage!.output)
  })

  test('any text gets the same answer twice, and only offered tools are called', () => {
    const words = [
      'weather',
      'read',
      'and',
      ', ',
      '. ',
      '"a b"',
      'Paris',
      'a.txt',
      '12',
      '5 * 3',
      'a@b.example',
    ]
    const piece = fc.oneof(fc.constantFrom(...words), fc.string({ unit: 'binary', maxLength: 12 }))
    return fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 12 }), async pieces => {
        const message = [user(pieces.join(' '))]
        const first = await ask(message)
        assert.deepEqual(await ask(message), first)
        for (const part of first.parts)
          if (part.type === 'call') assert.ok(tools.some(({ name }) => name === part.name))
      }),
      { numRuns: 150 },
    )
  })
})
