import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { IntRows, TripleTable } from './int-tables.ts'

const number = fc.integer({ min: -40, max: 40 })
const triples = fc.array(fc.tuple(number, number, number), { maxLength: 400 })

test('a triple is kept once and in insertion order, through growth and clearing', () => {
  fc.assert(
    fc.property(fc.array(triples, { minLength: 1, maxLength: 4 }), rounds => {
      const table = new TripleTable()
      for (const round of rounds) {
        table.clear()
        const kept = [...new Map(round.map(triple => [triple.join(), triple])).values()]
        const fresh = round.filter(([a, b, c]) => table.add(a, b, c)).length
        assert.equal(fresh, kept.length)
        assert.equal(table.size, kept.length)
        kept.forEach(([a, b, c], entry) => {
          assert.deepEqual([table.first(entry), table.second(entry), table.third(entry)], [a, b, c])
        })
      }
    }),
    { seed: 3, numRuns: 100 },
  )
})

test('rows keep their cells as the table grows', () => {
  const rows = new IntRows(3)
  for (let row = 0; row < 1_000; row++) {
    assert.equal(rows.add(), row)
    rows.set(row, 2, -row)
  }
  for (let row = 0; row < 1_000; row++)
    assert.deepEqual([rows.get(row, 0), rows.get(row, 2)], [0, row === 0 ? 0 : -row])
})
