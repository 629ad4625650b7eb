// The pages about other frameworks: the same program side by side prints the same. Those of frameworks outside the lock are run by
// `npm run test:migrate`.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { migratePrograms, played } from './migrate-programs.ts'

const programs = migratePrograms()

test('each page has two programs, of which one is ours and the same on every page', () => {
  const pages = Map.groupBy(programs, ({ page }) => page)
  assert.deepEqual([...pages.keys()], ['ai-sdk', 'langgraph', 'mastra', 'openai-agents'])
  for (const [page, [theirs, ours, ...more]] of pages) {
    assert.equal(ours?.of, 'Turnwire', page)
    assert.notEqual(theirs?.of, 'Turnwire', page)
    assert.deepEqual(more, [], page)
    assert.equal(ours?.code, programs.find(({ of }) => of === 'Turnwire')?.code, page)
  }
})

describe('the programs print what stands beside them, and the double refuses nothing', () => {
  for (const framework of ['Turnwire', 'AI SDK', 'OpenAI Agents'])
    test(framework, async () => {
      const program = programs.find(({ of }) => of === framework)
      assert.ok(program)
      const { status, printed, expected, refused, complaints } = await played(program, '.')
      assert.equal(expected.length, 2)
      assert.deepEqual([status, printed, refused], [0, expected, 0], complaints)
    })
})
