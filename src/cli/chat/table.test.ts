import assert from 'node:assert/strict'
import { test } from 'node:test'
import { styles } from '../style.ts'
import { tableLines } from './table.ts'

const plain = styles(false)

test('a table is shown as aligned columns, also with wide characters', () => {
  const rows = {
    columns: ['file', 'lines'],
    rows: [
      ['a.ts', '7'],
      ['日本.ts', '12'],
    ],
  }
  assert.deepEqual(tableLines(rows, plain, 80, 10), [
    '    file     lines\n',
    '    a.ts     7\n',
    '    日本.ts  12\n',
  ])
})

test('cells are escaped, lines end at the width of the terminal, and further rows are counted', () => {
  const rows = { columns: ['a', 'b'], rows: [['\u001b[2J', 'one\ntwo'], ['x'.repeat(100), 'y'], ['z']] }
  const lines = tableLines(rows, plain, 20, 1)
  assert.deepEqual(lines, ['    a          b\n', '    \\u001b[2J  one\\n\n', '    … 2 more rows\n'])
})
