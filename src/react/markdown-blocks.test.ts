import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Token } from 'marked'
import { closeEnd, type GrowingBlocks, growBlocks, readBlocks } from './markdown-blocks.ts'

const sample = `# Totals of *last* week

The cart **adds prices only**: see \`total()\` and [the ticket](https://example.org/t/7).

| day | orders | note |
|:----|-------:|------|
| Monday | 12 | **slow** |
| Tuesday | 7 | ok |

1. Read the file
2. Mend it:
   - one *line*
   - another ~~old~~ one

\`\`\`ts
const a = 1 // **no emphasis**
\`\`\`

> That is all. 2 * 3 is 6, and snake_case_name stays.
`

/** What a person reads, without any mark. */
function plain(token: Token): string {
  if (token.type === 'table') {
    const rows = [token['header'], ...token['rows']] as { tokens: Token[] }[][] // as marked gives a table
    return rows.map(row => row.map(cell => cell.tokens.map(plain).join('')).join(' ')).join(' ')
  }
  const inside = (token.type === 'list' ? token['items'] : 'tokens' in token ? token.tokens : undefined) as
    | Token[]
    | undefined
  return inside ? inside.map(plain).join(' ') : 'text' in token ? String(token['text']) : ''
}
const read = (text: string): string =>
  readBlocks(text)
    .map(({ token }) => plain(token))
    .join(' ')
    .replace(/\s+/g, '')

test('a text that arrives in pieces shows no mark that is not closed, and takes back no word', () => {
  const whole = read(sample)
  for (let end = 1; end <= sample.length; end += 1) {
    const shown = read(closeEnd(sample.slice(0, end)))
    assert.ok(
      whole.startsWith(shown),
      `after ${JSON.stringify(sample.slice(Math.max(0, end - 30), end))}: ${shown.slice(-60)}`,
    )
  }
})

test('the kinds of blocks are those of the whole text, but for the last', () => {
  const kinds = (text: string): string[] =>
    readBlocks(text).flatMap(({ token: { type } }) => (type === 'space' ? [] : [type]))
  const whole = kinds(sample)
  for (let end = 1; end <= sample.length; end += 1) {
    const now = kinds(closeEnd(sample.slice(0, end)))
    assert.deepEqual(now.slice(0, -1), whole.slice(0, Math.max(0, now.length - 1)))
  }
})

test('blocks that are settled stay the same objects, and piece by piece gives what the whole gives', () => {
  let grown: GrowingBlocks | undefined
  let kept = 0
  for (let end = 1; end <= sample.length; end += 1) {
    const before = grown
    grown = growBlocks(before, sample.slice(0, end))
    if (before?.blocks[0] && grown.blocks[0] === before.blocks[0]) kept += 1
  }
  assert.deepEqual(grown?.blocks, readBlocks(sample))
  assert.ok(kept > sample.length / 2, `${kept} of ${sample.length}`)
})

test('the work for a piece does not grow with the text before it', () => {
  const long = sample.repeat(40)
  let grown: GrowingBlocks | undefined
  for (let end = sample.length; end <= long.length; end += sample.length)
    grown = growBlocks(grown, long.slice(0, end))
  assert.ok(grown)
  const next = growBlocks(grown, `${long}more`)
  const same = next.blocks.filter((block, at) => block === grown.blocks[at]).length
  assert.ok(next.blocks.length - same <= 5, `${next.blocks.length - same} blocks were read again`)
})
