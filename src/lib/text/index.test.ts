import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  closeReason,
  cutMiddle,
  cutUtf8,
  printable,
  printableEnds,
  printableJson,
  utf8Length,
} from './index.ts'

const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 80 }),
  fc.string({ unit: 'grapheme', maxLength: 80 }),
  fc
    .array(fc.integer({ min: 0xd700, max: 0xe010 }), { maxLength: 30 })
    .map(codes => String.fromCharCode(...codes)),
)

test('a reason fits into the frame that closes a WebSocket, whatever its characters are', () => {
  assert.equal(closeReason('Too many frames.'), 'Too many frames.')
  fc.assert(fc.property(anyText, text => assert.ok(utf8Length(closeReason(text.repeat(9))) <= 123)))
})

test('utf8Length counts the bytes of the well-formed text', () => {
  fc.assert(
    fc.property(anyText, text => {
      assert.equal(utf8Length(text), new TextEncoder().encode(text).length)
    }),
  )
})

test('utf8Length counts the same where there is no Buffer', () => {
  const { Buffer: native } = globalThis
  fc.assert(
    fc.property(anyText, text => {
      const expected = utf8Length(text)
      Reflect.set(globalThis, 'Buffer', undefined)
      try {
        assert.equal(utf8Length(text), expected)
      } finally {
        Reflect.set(globalThis, 'Buffer', native)
      }
    }),
  )
})

test('cutUtf8 returns a well-formed prefix within the limit and the number of bytes cut', () => {
  fc.assert(
    fc.property(anyText, fc.nat(120), (text, maxBytes) => {
      const cut = cutUtf8(text, maxBytes)
      assert.ok(utf8Length(cut.text) <= maxBytes)
      assert.ok(cut.text.isWellFormed())
      assert.ok(text.toWellFormed().startsWith(cut.text))
      assert.equal(utf8Length(cut.text) + cut.cutBytes, utf8Length(text))
      if (utf8Length(text) <= maxBytes) assert.equal(cut.cutBytes, 0)
    }),
  )
})

test('cutUtf8 does not separate a character from its marks and joiners', () => {
  const family = '👨‍👩‍👧'
  assert.deepEqual(cutUtf8(`ab${family}`, 10), { text: 'ab', cutBytes: 18 })
  assert.equal(cutUtf8('xe\u0301y', 2).text, 'x')
  assert.equal(cutUtf8('日本', 3).text, '日')
  assert.equal(cutUtf8('a😀', 4).text, 'a')
  assert.equal(cutUtf8('abc', 0).text, '')
})

test('cutUtf8 cuts a very long run of marks like plain text', () => {
  const cut = cutUtf8(`a${'\u0301'.repeat(10_000)}`, 2001)
  assert.equal(utf8Length(cut.text), 2001)
})

test('cutMiddle keeps head and tail within the limit and passes the bytes cut to the marker', () => {
  const marker = (bytes: number) => `…[${bytes} bytes cut]…`
  const text = `${'h'.repeat(500)}${'t'.repeat(500)}`
  const cut = cutMiddle(text, 100, marker)
  assert.match(cut.text, /^h+…\[\d+ bytes cut\]…t+$/)
  assert.ok(utf8Length(cut.text) <= 100)
  assert.ok(cut.text.includes(String(cut.cutBytes)))
  assert.deepEqual(cutMiddle('short', 100, marker), { text: 'short', cutBytes: 0 })
  assert.equal(cutMiddle(text, 5, marker).text, 'hhhhh')
})

test('cutMiddle stays within the limit for any text', () => {
  fc.assert(
    fc.property(anyText, fc.nat(120), (text, maxBytes) => {
      const cut = cutMiddle(text, maxBytes, bytes => `<${bytes}>`)
      assert.ok(utf8Length(cut.text) <= maxBytes)
      assert.ok(cut.text.isWellFormed())
    }),
  )
})

test('printable leaves no character that a terminal acts upon', () => {
  assert.equal(printable('a\u001b[31mb\u0007\u009b0m'), 'a\\u001b[31mb\\u0007\\u009b0m')
  assert.equal(printable('\u001b]8;;http://x\u0007y'), '\\u001b]8;;http://x\\u0007y')
  assert.equal(printable('a\r\nb\tc\u0000'), 'a\\r\\nb\\tc\\u0000')
  assert.equal(printable('\u202eabc\u2066\u200b\ufeff\u2028'), '\\u202eabc\\u2066\\u200b\\ufeff\\u2028')
  assert.equal(printable('\u{e0041}\ud800'), '\\u{e0041}\\ud800')
  assert.equal(printable('naïve 日本 😀 ❤️'), 'naïve 日本 😀 ❤️')
})

test('printable with multiline keeps line feeds and tabs, and nothing else', () => {
  assert.equal(printable('a\nb\tc\rd', { multiline: true }), 'a\nb\tc\\rd')
})

test('printable cuts its output to maxChars', () => {
  assert.equal(printable('abcdef', 4), 'abc…')
  assert.equal(printable('abcd', 4), 'abcd')
  assert.equal(printable('\u001b\u001b\u001b', { maxChars: 7 }), '\\u001b…')
  fc.assert(
    fc.property(anyText, fc.integer({ min: 1, max: 40 }), (text, maxChars) => {
      const shown = printable(text, maxChars)
      assert.ok(shown.length <= maxChars)
      assert.ok(shown.isWellFormed())
    }),
  )
})

test('what is too long to print shows its beginning, what is left out, and its end', () => {
  assert.equal(printableEnds('short\u001b', { maxChars: 20 }), 'short\\u001b')
  const command = `ls -l ${'a'.repeat(5000)}; rm -rf EVERYTHING`
  const shown = printableEnds(command, { maxChars: 100 })
  assert.match(shown, /^ls -l a+ \[…4,9\d\d characters…\] a+; rm -rf EVERYTHING$/)
  const [, head = '', count = '', tail = ''] = /^(.*) \[…([\d,]+) characters…\] (.*)$/.exec(shown) ?? []
  assert.equal(head.length + Number(count.replace(',', '')) + tail.length, command.length)
  // Escapes are longer than what they stand for, and characters are not split.
  const escaped = printableEnds('\u202e'.repeat(500), { maxChars: 80 })
  assert.ok(escaped.length < 120 && escaped.endsWith('\\u202e'))
  assert.doesNotMatch(printableEnds('😀'.repeat(99), { maxChars: 21 }), /\\u/)
  assert.equal(printableEnds('a\nb', { maxChars: 20, multiline: true }), 'a\nb')
})

test('JSON for a terminal has no hidden character and the same value', () => {
  fc.assert(
    fc.property(anyText, fc.boolean(), (text, pretty) => {
      const json = JSON.stringify({ [text]: [text] }, null, pretty ? 2 : undefined)
      const shown = printableJson(json)
      assert.deepEqual(JSON.parse(shown), JSON.parse(json))
      assert.doesNotMatch(shown, /[^\P{Cc}\n]|\p{Cf}|\p{Zl}|\p{Zp}/u)
    }),
  )
  assert.equal(printableJson('"\u009b\u{e0041}"'), '"\\u009b\\udb40\\udc41"')
})
