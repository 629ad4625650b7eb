import assert from 'node:assert/strict'
import { test } from 'node:test'
import { styles } from '../style.ts'
import { previewLines } from './preview.ts'

test('a preview is shown as lines that differ, escaped and bounded', () => {
  const report = {
    diffs: [
      { path: 'a.txt', oldText: 'one\ntwo\n', newText: 'one\n\u001b[2Jtwo\n' },
      { path: 'b.txt', oldText: null, newText: '1\n2\n3\n' },
      { path: 'c.txt', oldText: 'x', newText: null },
    ],
    rows: { columns: ['to', 'sum'], rows: [['Ann', '10']] },
    leftOut: 2,
  }
  const lines = previewLines(report, styles(false), 5, 80)
  assert.deepEqual(
    lines.map(line => line.trimEnd()),
    [
      '    a.txt',
      '        one',
      '      - two',
      '      + \\u001b[2Jtwo',
      '    b.txt (new)',
      '      + 1',
      '      + 2',
      '      … 1 more lines',
      '    c.txt (deleted)',
      '      … 1 more lines',
      '    to   sum',
      '    Ann  10',
      '    2 more changes are too large to show',
    ],
  )
})
