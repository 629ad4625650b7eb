import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deepestNesting } from '../../lib/json/index.ts'
import { readJson } from './json-read.ts'

const nested = (levels: number, inside = '1'): string => '['.repeat(levels) + inside + ']'.repeat(levels)

test('a text within the depth is parsed as it is', () => {
  for (const text of ['{"a":[1,"]"]}', nested(deepestNesting), JSON.stringify(Array(5_000).fill([{}]))])
    assert.equal(JSON.stringify(readJson(text)), text)
})

test('a text that nests deeper is given with its deep values as text', () => {
  const text = `{"keep":"]}","deep":${nested(10_000, '"x"')},"last":[{"y":${nested(1_000)}}]}`
  const value = readJson(text)
  const written = JSON.stringify(value)
  assert.match(written, /^\{"keep":"\]\}","deep":\[\[\[/)
  // No character is lost: the innermost text is the rest of the value.
  let inside = (value as { deep: unknown }).deep
  let levels = 0
  while (Array.isArray(inside)) {
    levels += 1
    inside = inside[0]
  }
  assert.equal(inside, nested(10_000 - levels, '"x"'))
  assert.equal(levels, deepestNesting - 1)
})

test('what is not JSON is not, at any depth', () => {
  for (const text of ['{', '[1', '['.repeat(10_000), nested(2_000).slice(0, -1), `${nested(2_000)}]`])
    assert.equal(readJson(text), undefined)
})
