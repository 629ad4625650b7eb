// The rough size is near the length of the JSON for everything that is large because of its texts.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { roughSize } from './rough-size.ts'

test('the rough size of a value is near the length of its JSON', () => {
  const values = [
    'x'.repeat(1000),
    { type: 'text', text: 'y'.repeat(5000), at: 1_700_000_000_000, more: [true, null, 1.5] },
    Array.from({ length: 200 }, (_, n) => ({ name: `member ${n}`, n, deep: { list: [n, `${n}`] } })),
  ]
  for (const value of values) {
    const exact = JSON.stringify(value).length
    const rough = roughSize(value)
    assert.ok(rough > exact * 0.7 && rough < exact * 1.4, `${rough} for ${exact}`)
  }
})
