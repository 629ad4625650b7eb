import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deepestNesting, parseBounded } from './index.ts'

const nested = (levels: number, inside = '1'): string => '['.repeat(levels) + inside + ']'.repeat(levels)

test('a text within the depth is parsed as it is', () => {
  for (const text of ['{"a":[1,"]"]}', nested(deepestNesting), JSON.stringify(Array(5_000).fill([{}]))])
    assert.equal(JSON.stringify(parseBounded(text)), text)
})

test('a text that nests deeper is refused', () => {
  assert.equal(parseBounded(`{"keep":"]}","deep":${nested(10_000, '"x"')}}`), undefined)
})

test('what is not JSON is not, at any depth', () => {
  for (const text of ['{', '[1', '['.repeat(10_000), nested(2_000).slice(0, -1), `${nested(2_000)}]`])
    assert.equal(parseBounded(text), undefined)
})
