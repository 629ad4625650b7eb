// The three layers of faults, as pure functions. `double.test.ts` sees their effect through a server.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bendFrames, cutBytes, FAULT_KINDS, type FaultKind, frameText, reshapeTurn } from './faults.ts'
import { type DoubleFrame, scriptedStop } from './script.ts'

test('bytes cut inside characters join to the same bytes', () => {
  const bytes = Buffer.from('a č 😀 b', 'utf8')
  const cuts = cutBytes(bytes, 'inside-utf8')
  assert.ok(cuts.length > 1)
  assert.deepEqual(Buffer.concat(cuts), bytes)
  assert.ok(cuts.slice(1).every(part => ((part[0] ?? 0) & 0xc0) === 0x80))
})

test("each line of a frame's data gets a data line of its own", () => {
  assert.equal(frameText({ event: 'e', data: 'a\nb' }), 'event: e\ndata: a\ndata: b\n\n')
  assert.equal(frameText({ data: 'hi', comment: true }, '\r\n'), ': hi\r\n\r\n')
})

test('max-tokens-in-arguments cuts the last call, and the turn stops for length', () => {
  const cut = reshapeTurn({
    calls: [{ name: 'a' }, { name: 'b', input: { long: 'text' } }],
    fault: { kind: 'max-tokens-in-arguments' },
  })
  assert.deepEqual(cut.calls?.[1]?.text, '{"long"')
  assert.equal(scriptedStop(cut, {}), 'length')
})

test('a stream without marks can still end early', () => {
  const frames: DoubleFrame[] = [{ data: '1' }, { data: '2' }]
  const maker = { errorFrame: () => ({ data: 'e' }), noiseFrame: () => null }
  assert.deepEqual(bendFrames(frames, [{ kind: 'eof-before-end' }], maker), [{ data: '1' }])
  assert.deepEqual(bendFrames(frames, [{ kind: 'eof-after-tool-name' }], maker), frames)
})

// The compiler demands every kind here, and no other.
const EVERY_KIND = {
  'rate-limit': true,
  overloaded: true,
  'server-error': true,
  unauthorized: true,
  forbidden: true,
  hang: true,
  reset: true,
  'max-tokens-in-arguments': true,
  'call-ids': true,
  'tool-not-offered': true,
  arguments: true,
  'same-function-twice': true,
  'error-event': true,
  'eof-before-end': true,
  'eof-after-tool-name': true,
  'unknown-events': true,
  'ping-flood': true,
  'one-byte-writes': true,
  crlf: true,
  'split-utf8': true,
  'hang-after-headers': true,
  'hang-after-frames': true,
  'reset-after-frames': true,
  'usage-only-delta': true,
  index: true,
  'malformed-function-call': true,
  'signature-on-empty-part': true,
  'omit-ids': true,
  'omit-arguments-done': true,
} satisfies Record<FaultKind, true>

test('every kind of fault is listed, once', () => {
  assert.deepEqual([...FAULT_KINDS].sort(), Object.keys(EVERY_KIND).sort())
})
