// Names, ids, remembered encodings, text tools, arguments and artifacts: what all codecs lean on.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { CallPart, Outcome } from '../../language/calls.ts'
import { textOf } from '../../language/content.ts'
import type { AssistantEntry, Entry } from '../../language/history.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import { flaggedText, nativeFor, resultText, splitDataUri, wireJson } from './artifacts.ts'
import { textToolDescription, textUnwrapper } from './custom-tools.ts'
import { encodeEntries, joinPieces } from './encode-cache.ts'
import { historyArguments, historyArgumentsText, isCut } from './truncated.ts'
import { wireId, wireIds } from './wire-ids.ts'
import { type NameRule, toolNames, wireNames } from './wire-names.ts'

const rule: NameRule = { pattern: /^[a-zA-Z0-9_-]+$/, maxLength: 64 }
const idRule = { pattern: /^[a-zA-Z0-9_-]+$/, maxLength: 40 }

describe('names', () => {
  test('a name that the vendor takes is sent as it is', () => {
    assert.equal(wireNames(['get_weather'], rule).toWire('get_weather'), 'get_weather')
  })

  test('names that only cleaning makes alike stay apart, and come back', () => {
    const long = 'x'.repeat(64)
    const names = ['a.b', 'a_b', 'a-b', 'а_b', 'a b', '', '.', `${long}1`, `${long}2`, '\ud800', '😀', '1st']
    for (const firstLetter of [false, true]) {
      const { toWire, fromWire } = wireNames(names, { ...rule, firstLetter })
      const wires = names.map(toWire)
      assert.equal(new Set(wires).size, names.length)
      for (const [at, wire] of wires.entries()) {
        assert.match(wire, firstLetter ? /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/ : /^[a-zA-Z0-9_-]{1,64}$/)
        assert.equal(fromWire.get(wire), names[at])
      }
    }
  })

  test('a name is spelled alike whatever stands beside it', () => {
    const alone = wireNames(['fs.read'], rule).toWire('fs.read')
    assert.equal(wireNames(['fs_read', 'fs.read', 'z'], rule).toWire('fs.read'), alone)
    assert.equal(wireNames([], rule).toWire('fs.read'), alone)
  })

  test('nobody takes the spelling of another by choosing its name', () => {
    const victim = wireNames([], rule).toWire('fs.read')
    const names = ['fs.read', victim]
    const { toWire, fromWire } = wireNames(names, rule)
    assert.equal(toWire(victim), victim)
    assert.notEqual(toWire('fs.read'), victim)
    for (const name of names) assert.equal(fromWire.get(toWire(name)), name)
  })

  test('a tool that is no longer offered has a name, but is not read back', () => {
    const { toWire, fromWire } = wireNames(['a'], rule)
    assert.match(toWire('old tool'), rule.pattern)
    assert.equal(fromWire.has(toWire('old tool')), false)
  })

  test('they are made once per array of tools', () => {
    const tools: ToolDeclaration[] = []
    assert.equal(toolNames(tools, rule), toolNames(tools, rule))
    assert.notEqual(toolNames(tools, rule), toolNames([], rule))
  })

  test('any set of names is mapped without loss', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string({ unit: 'binary', maxLength: 80 }), { maxLength: 20 }), names => {
        const { toWire, fromWire } = wireNames(names, rule)
        for (const name of names) {
          assert.match(toWire(name), /^[a-zA-Z0-9_-]{1,64}$/)
          assert.equal(fromWire.get(toWire(name)), name)
        }
      }),
    )
  })
})

const call = (id: string, nativeId?: string): CallPart => ({
  type: 'call',
  id,
  name: 't',
  form: 'json',
  text: '{}',
  ...(nativeId !== undefined && { nativeId }),
})
const chat = { protocol: 'openai-chat', family: 'gpt' }
const asked = (...parts: CallPart[]): AssistantEntry => ({ role: 'assistant', parts, origin: chat })
const user = (text: string): Entry => ({ role: 'user', parts: [{ type: 'text', text }] })
const done: Outcome = { kind: 'ok', parts: [{ type: 'text', text: 'ok' }], from: { source: 'runtime' } }
const answered = (...ids: string[]): Entry => ({
  role: 'tool',
  results: ids.map(callId => ({ callId, name: 't', outcome: done })),
})

describe('ids', () => {
  test('the id of the same protocol, then ours, then a hash', () => {
    assert.equal(wireId(call('call_1', 'native_1'), chat, chat, idRule), 'native_1')
    assert.equal(wireId(call('call_1', 'native_1'), { ...chat, protocol: 'other' }, chat, idRule), 'call_1')
    assert.equal(wireId(call('call_1', 'x'.repeat(500)), chat, chat, idRule), 'call_1')
    assert.equal(wireId(call('call_1', ''), chat, chat, idRule), 'call_1')
    const hashed = wireId(call('ours: odd id'), chat, chat, idRule)
    assert.match(hashed, /^call_[a-zA-Z0-9]{20,}$/)
    assert.equal(wireId(call('ours: odd id'), chat, chat, idRule), hashed)
    assert.match(
      wireId(call('call_1'), chat, chat, { pattern: /^[a-zA-Z0-9]{9}$/, maxLength: 9 }),
      /^[a-zA-Z0-9]{9}$/,
    )
  })

  test('ids that a vendor repeats are told apart, and results follow them', () => {
    const history: Entry[] = [
      asked(call('a', 'same'), call('b', 'same')),
      answered('a', 'b'),
      asked(call('c', 'same')),
      answered('c'),
      asked(call('d', 'd')),
    ]
    const ids = wireIds(history, chat, idRule)
    assert.deepEqual(
      [ids.of(0, 'a'), ids.of(0, 'b'), ids.of(2, 'c'), ids.of(4, 'd')],
      ['same', 'b', 'c', 'd'],
    )
    assert.deepEqual([ids.of(1, 'a'), ids.of(1, 'b'), ids.of(3, 'c')], ['same', 'b', 'c'])
    assert.notEqual(ids.variant(2), '')
    assert.equal(ids.variant(3), ids.variant(2))
    assert.equal(ids.variant(4), '')
  })

  test('a history that grows, and one that is another, are told apart', () => {
    const first = user('go')
    const a = asked(call('a', 'same'))
    const b = asked(call('b', 'same'))
    assert.equal(wireIds([first, a], chat, idRule).of(1, 'a'), 'same')
    const grown = wireIds([first, a, b], chat, idRule)
    assert.deepEqual([grown.of(1, 'a'), grown.of(2, 'b')], ['same', 'b'])
    const other = wireIds([first, b], chat, idRule)
    assert.deepEqual([other.of(1, 'b'), other.variant(1)], ['same', ''])
    assert.equal(grown.of(2, 'b'), 'b')
    assert.equal(wireIds([], chat, idRule).of(0, 'x'), 'x')
  })

  test('our id may be what a vendor gave to another call', () => {
    const ids = wireIds([asked(call('x', 'y')), asked(call('y'))], chat, idRule)
    assert.equal(ids.of(0, 'x'), 'y')
    assert.notEqual(ids.of(1, 'y'), 'y')
  })
})

describe('encodings', () => {
  test('each entry is encoded once per key and place', () => {
    const history: Entry[] = [asked(call('a')), answered('a')]
    let made = 0
    const encode = (entry: Entry): string => `${entry.role}${made++}`
    const run = (entries: Entry[], key: string, variant?: (index: number) => string) => {
      const { pieces, encoded } = encodeEntries(entries, key, encode, variant)
      return { pieces, encoded }
    }
    assert.deepEqual(run(history, 'k'), { pieces: ['assistant0', 'tool1'], encoded: 2 })
    const longer = [...history, asked(call('b'))]
    assert.deepEqual(run(longer, 'k'), { pieces: ['assistant0', 'tool1', 'assistant2'], encoded: 1 })
    assert.equal(run(history, 'other').encoded, 2)
    assert.equal(run(history, 'k', index => (index === 1 ? 'moved' : '')).encoded, 1)
    assert.deepEqual(run([], 'k'), { pieces: [], encoded: 0 })
  })

  test('put together from blocks, they are what they are without, however the history changes', () => {
    const said = (text: string): Entry => ({ role: 'user', parts: [{ type: 'text', text }] })
    const first = said('first')
    const step = fc.record({
      keep: fc.nat({ max: 400 }),
      add: fc.array(fc.constantFrom('a', 'b', ''), { maxLength: 150, size: 'max' }),
      moved: fc.option(fc.nat({ max: 400 })),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 8, size: 'max' }), steps => {
        let history = [first]
        const key = `blocks ${Math.random()}`
        for (const { keep, add, moved } of steps) {
          history = [...history.slice(0, keep + 1), ...add.map(said)]
          const place = (index: number): string => (index === moved ? 'moved' : '')
          const encoded = encodeEntries(
            history,
            key,
            (entry, index) => (entry.role === 'user' && textOf(entry.parts) + place(index)) || '',
            place,
          )
          const between = (before: number, index: number): string =>
            before < 0 ? '' : encoded.pieces[before] === encoded.pieces[index] ? '=' : ','
          let [text, last] = ['', -1]
          for (const [index, piece] of encoded.pieces.entries()) {
            if (piece === '') continue
            text += between(last, index) + piece
            last = index
          }
          assert.deepEqual(joinPieces(encoded, between), { text, last })
        }
      }),
    )
  })
})

describe('text tools as functions', () => {
  const unwrap = (pieces: string[]) => {
    const unwrapper = textUnwrapper()
    let text = ''
    for (const piece of pieces) text += unwrapper.push(piece)
    const { rest, closed } = unwrapper.end()
    return { text: text + rest, closed, streamed: text }
  }

  test('the text comes out as it was written, however the arguments are cut', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }),
        fc.integer({ min: 1, max: 7 }),
        fc.boolean(),
        (text, size, spaced) => {
          const well = text.toWellFormed()
          let source = spaced ? `{ "input" : ${JSON.stringify(well)} }` : JSON.stringify({ input: well })
          if (spaced)
            source = source.replace(
              /[\u0080-\uffff]/g,
              char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
            )
          const pieces = source.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []
          const { text: out, closed, streamed } = unwrap(pieces)
          assert.equal(out, well)
          assert.equal(streamed, well)
          assert.equal(closed, true)
        },
      ),
    )
  })

  test('arguments that end in the middle are not closed', () => {
    assert.deepEqual(unwrap(['{"input":"abc\\']), { text: 'abc', closed: false, streamed: 'abc' })
    assert.equal(unwrap(['{"inp']).closed, false)
  })

  test('another form is taken for what it holds, or as it is', () => {
    assert.equal(unwrap(['"just text"']).text, 'just text')
    assert.equal(unwrap(['{"why":"', 'because","input":"x"}']).text, 'x')
    assert.equal(unwrap(['{"text":"x"}']).text, '{"text":"x"}')
    assert.equal(unwrap(['*** Begin Patch']).text, '*** Begin Patch')
  })

  test('the grammar is told in words', () => {
    const tool: ToolDeclaration = {
      name: 'patch',
      description: 'Applies a patch.',
      input: { form: 'text', grammar: { syntax: 'lark', definition: 'start: "x"' } },
      kind: 'edit',
      readOnly: false,
      idempotent: false,
      destructive: false,
      side: 'server',
    }
    assert.match(textToolDescription(tool), /^Applies a patch\.\n\n.*Lark grammar:\nstart: "x"$/s)
    assert.equal(textToolDescription({ ...tool, input: { form: 'text' } }), 'Applies a patch.')
  })
})

describe('arguments', () => {
  test('a call is cut when it was never closed, or the answer hit its limit inside it', () => {
    const json = (text: string) => ({ form: 'json' as const, text })
    assert.equal(isCut(json('{"a":'), 'closed'), false)
    assert.equal(isCut(json('{"a":1}'), 'unclosed'), true)
    assert.equal(isCut(json('{"a":1}'), 'length'), false)
    for (const text of ['{"a":1', '', '1']) assert.equal(isCut(json(text), 'length'), true)
    assert.equal(isCut({ form: 'text', text: 'abc' }, 'length'), true)
  })

  test('a history never holds anything but an object', () => {
    for (const text of ['[]', '"x"', 'null', '{"a":1}{"b":2}', '{"a":'])
      assert.deepEqual(historyArguments({ ...call('a'), text }), { invalid_arguments: text })
    assert.deepEqual(historyArguments({ ...call('a'), text: ' ' }), {})
    assert.deepEqual(historyArguments({ ...call('a'), form: 'text', text: 'ls' }), { input: 'ls' })
    assert.equal(historyArgumentsText({ ...call('a'), text: '{ "a" : 1.0 }' }), '{ "a" : 1.0 }')
    assert.equal(historyArgumentsText({ ...call('a'), text: '' }), '{}')
  })
})

describe('artifacts', () => {
  test('a native block goes to its maker alone', () => {
    const part = { native: { origin: chat, data: { sealed: 'x' } } }
    assert.deepEqual(nativeFor(part, { ...chat }), { sealed: 'x' })
    assert.equal(nativeFor(part, { ...chat, family: 'other' }), undefined)
    assert.equal(nativeFor(part, { ...chat, protocol: 'other' }), undefined)
    assert.equal(nativeFor({}, chat), undefined)
  })

  test('results are never empty, and failures say so', () => {
    assert.equal(resultText({ ...done, parts: [] }), 'The tool gave no output.')
    assert.equal(
      flaggedText({ ...done, kind: 'denied', parts: [{ type: 'text', text: 'no' }] }),
      '[denied] no',
    )
    const image = { type: 'image', url: 'data:image/png;base64,AA==' } as const
    assert.equal(
      resultText({ ...done, parts: [{ type: 'text', text: 'a\ud800' }, image] }),
      'a\ufffd\n[image]',
    )
  })

  test('data URIs', () => {
    assert.deepEqual(splitDataUri('data:image/png;base64,AAA='), { mediaType: 'image/png', base64: 'AAA=' })
    assert.deepEqual(splitDataUri('data:text/plain;charset=utf-8;base64,QQ=='), {
      mediaType: 'text/plain',
      base64: 'QQ==',
    })
    assert.equal(splitDataUri('https://x/y.png'), undefined)
    assert.equal(splitDataUri('data:text/plain,hi'), undefined)
  })

  test('JSON text is well-formed, and what looks like an escape stays', () => {
    assert.equal(
      wireJson({ a: '\ud800x', b: '😀', c: '\\ud800' }),
      '{"a":"\\ufffdx","b":"😀","c":"\\\\ud800"}',
    )
  })
})
