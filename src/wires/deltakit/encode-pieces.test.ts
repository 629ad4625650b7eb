import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { AnswerPart } from '../../language/history.ts'
import { hostedText, type Piece, Pieces } from './encode-pieces.ts'

const textOfPiece = (piece: Piece): string => (piece.type === 'text_delta' ? piece.delta : piece.text)

/** The pieces of a whole answer. */
function piecesOf(parts: readonly AnswerPart[]): Piece[] {
  const cutter = new Pieces()
  const pieces = parts.flatMap(part =>
    part.type === 'text' || part.type === 'thinking' ? cutter.add(part.type, part.text) : [],
  )
  for (const part of parts)
    if (part.type === 'hosted') pieces.push(...cutter.add('thinking', hostedText(part)))
  return [...pieces, ...cutter.flush()]
}

const runs = fc.array(
  fc.record({
    type: fc.constantFrom('text' as const, 'thinking' as const),
    text: fc.string({
      unit: fc.constantFrom('a', 'bc', ' ', '\n', '😀', 'é', 'x'.repeat(30)),
      maxLength: 40,
    }),
  }),
  { maxLength: 6 },
)

test('the same text has the same pieces, however it arrives', () => {
  fc.assert(
    fc.property(runs, fc.infiniteStream(fc.integer({ min: 1, max: 9 })), (parts, sizes) => {
      const cutter = new Pieces()
      const live = parts.flatMap(({ type, text }) => {
        const pieces = []
        for (let at = 0; at < text.length; ) {
          const size = sizes.next().value ?? 1
          pieces.push(...cutter.add(type, text.slice(at, at + size)))
          at += size
        }
        return pieces
      })
      assert.deepEqual([...live, ...cutter.flush()], piecesOf(parts.filter(({ text }) => text !== '')))
    }),
  )
})

test('nothing is lost, nothing is torn, and no piece is long', () => {
  fc.assert(
    fc.property(runs, parts => {
      const pieces = piecesOf(parts)
      assert.equal(pieces.map(textOfPiece).join(''), parts.map(({ text }) => text).join(''))
      for (const piece of pieces) {
        assert.ok(textOfPiece(piece).isWellFormed())
        assert.ok(textOfPiece(piece).length <= 25)
      }
    }),
  )
})

test('what a vendor ran on its own side is told last, as reasoning', () => {
  const native = { origin: { protocol: 'p', family: 'f' }, data: null }
  assert.deepEqual(
    piecesOf([
      { type: 'hosted', tool: 'search', summary: 'two hits', native },
      { type: 'text', text: 'ok' },
    ]),
    [
      { type: 'text_delta', delta: 'ok' },
      { type: 'reasoning', text: '[search] ' },
      { type: 'reasoning', text: 'two ' },
      { type: 'reasoning', text: 'hits\n' },
    ],
  )
})
