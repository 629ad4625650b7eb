import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { createGate } from './index.ts'

const gate = createGate({ redact: ['secrets', { name: 'pin', pattern: 'PIN[0-9]{4}' }] })

/** The output after each piece, and at the end. */
function shown(pieces: readonly string[]): string[] {
  const live = gate.live()
  assert.ok(live)
  return [...pieces.map(piece => live.take(piece)), live.rest()]
}

describe('live output of a tool', () => {
  test('is not changed when there are no rules', () => {
    assert.equal(createGate().live(), undefined)
  })

  test('is shown line by line, and the last line at the end', () => {
    assert.deepEqual(shown(['one\ntw', 'o\r', 'three']), ['one\n', 'two\r', '', 'three'])
  })

  test('never shows a secret that arrives in pieces', () => {
    const key = 'sk-abcdefghijklmnop1234'
    for (let at = 1; at < key.length; at++) {
      const all = shown([`key ${key.slice(0, at)}`, `${key.slice(at)} and PIN`, '1234\n', 'end'])
      assert.equal(all.join(''), 'key [redacted: api-keys] and [redacted: pin]\nend')
    }
  })

  test('holds back a key of several lines until it ends', () => {
    const lines = [
      '-----BEGIN PRIVATE KEY-----\n',
      'MIIEvQ\n',
      'IBADAN\n',
      '-----END PRIVATE KEY-----\n',
      'ok\n',
    ]
    assert.deepEqual(shown(lines), ['', '', '', '[redacted: private-keys]\n', 'ok\n', ''])
    assert.equal(shown(lines.slice(0, 3)).join(''), '[redacted: private-keys]')
  })

  test('is held back only up to a limit', () => {
    const words = 'word '.repeat(2000)
    assert.ok(shown([words])[0]!.length > 9000)
    const block = 'x'.repeat(100_000)
    assert.equal(shown([block])[0], block)
  })

  test('is shown completely and redacted like one text, however it is split', () => {
    const line = fc.constantFrom('plain', 'PIN12', 'PIN1234', ' ', '\n', '\r\n', 'bearer ', 'é', '😀', 'sk-')
    fc.assert(
      fc.property(
        fc.array(line, { maxLength: 30 }),
        fc.array(fc.nat(200), { maxLength: 8 }),
        (words, cuts) => {
          const text = words.join('')
          const places = [
            0,
            ...cuts.map(cut => Math.min(cut, text.length)).sort((a, b) => a - b),
            text.length,
          ]
          const pieces = places.slice(1).map((end, index) => text.slice(places[index], end))
          const whole = gate.finish(
            { parts: [{ type: 'text', text }] },
            { name: 't', outputLimit: 1e6 },
            'c',
            'o',
          )
          assert.ok(!(whole instanceof Promise))
          const [part] = whole.outcome.parts
          const expected = text.trim() === '' ? text : part?.type === 'text' ? part.text : ''
          assert.equal(shown(pieces).join(''), expected)
        },
      ),
    )
  })
})
