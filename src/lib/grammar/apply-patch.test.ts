// The apply_patch grammar that a real client declares, with patches that models write.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { compileGrammar } from './index.ts'

const definition = readFileSync(new URL('./fixtures/apply-patch.lark', import.meta.url), 'utf8')
const recogniser = compileGrammar('lark', definition)

function patch(...lines: string[]): string {
  return ['*** Begin Patch', ...lines, '*** End Patch', ''].join('\n')
}

const MATCHING: Record<string, string> = {
  'an added file': patch('*** Add File: src/a.ts', '+export const a = 1', '+', '+// ünïcode 🎉'),
  'a deleted file': patch('*** Delete File: old name.txt'),
  'an update with context': patch('*** Update File: a.ts', '@@ class A', ' keep', '-old', '+new'),
  'an update with bare @@ and an empty context line': patch('*** Update File: a.ts', '@@', ' ', '-x'),
  'a rename with changes': patch('*** Update File: a.ts', '*** Move to: b.ts', '@@', '-x', '+y'),
  'a rename alone': patch('*** Update File: a.ts', '*** Move to: b.ts'),
  'an end-of-file mark': patch('*** Update File: a.ts', '@@', '+last', '*** End of File'),
  'several files': patch(
    '*** Add File: a',
    '+1',
    '*** Delete File: b',
    '*** Update File: c',
    '@@',
    '-1',
    '+2',
  ),
  'added lines that look like marks': patch('*** Add File: a', '+*** End Patch', '+*** Begin Patch'),
  'no line break at the end': patch('*** Delete File: a').slice(0, -1),
}

for (const [name, text] of Object.entries(MATCHING)) {
  test(`accepts ${name}`, () => assert.equal(recogniser.match(text), null))
}

const REFUSED: Record<string, { text: string; offset: number; expects: string }> = {
  'an empty text': { text: '', offset: 0, expects: '"*** Begin Patch"' },
  'a patch with no hunk': { text: patch(), offset: 20, expects: '"*** Add File: "' },
  'a missing end mark': {
    text: patch('*** Delete File: a').replace('*** End Patch\n', ''),
    offset: 35,
    expects: '"*** End Patch"',
  },
  'a misspelt end mark': {
    text: patch('*** Delete File: a').replace('End Patch', 'End Pitch'),
    offset: 44,
    expects: '"*** End Patch"',
  },
  'an empty file name': { text: patch('*** Delete File: '), offset: 33, expects: '/(.+)/' },
  'an added file with no lines': {
    text: patch('*** Add File: a', '*** Delete File: b'),
    offset: 32,
    expects: '"+"',
  },
  'a line without its mark': { text: patch('*** Update File: a', '@@', 'x'), offset: 38, expects: '"-"' },
  'text after the end': {
    text: `${patch('*** Delete File: a')}more`,
    offset: 49,
    expects: 'the end of the text',
  },
}

for (const [name, { text, offset, expects }] of Object.entries(REFUSED)) {
  test(`refuses ${name}, with the position and what was expected`, () => {
    const mismatch = recogniser.match(text)
    assert.equal(mismatch?.offset, offset)
    assert.ok(mismatch.expected.includes(expects), mismatch.message)
    assert.ok(mismatch.message.includes(`line ${mismatch.line}, column ${mismatch.column}`))
    assert.ok(mismatch.message.includes(expects), mismatch.message)
  })
}

test('the mismatch of a long text names its line and what was expected', () => {
  const mismatch = recogniser.match(patch('*** Update File: a', '@@', '+x', '?y'))
  assert.deepEqual({ line: mismatch?.line, column: mismatch?.column }, { line: 5, column: 1 })
  assert.match(mismatch?.message ?? '', /found "\?y", but expected one of: .*"\+"/)
  assert.ok(!mismatch?.expected.includes('LF'), 'a terminal that just ended is not expected')
})

test('matches a patch of 300 kB and ten thousand lines within the default budget', () => {
  const lines = Array.from({ length: 2_500 }, (_, i) => [
    `@@ function number${i}() {`,
    `   const context = ${i} // stays as it is, at some length`,
    `-  return ${i}`,
    `+  return ${i + 1} // with a comment at the end of the line`,
  ]).flat()
  const text = patch('*** Update File: long.ts', ...lines)
  assert.ok(text.length > 300_000)
  assert.equal(recogniser.match(text), null)
  assert.equal(recogniser.match(text.slice(0, -1 - '*** End Patch'.length))?.offset, text.length - 14)
})
