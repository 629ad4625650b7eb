// Holds the manifests of this folder against the tests of the whole tree.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Manifest } from './manifest.ts'

const here = fileURLToPath(new URL('.', import.meta.url))
const root = join(here, '..', '..')

async function manifests(): Promise<Manifest[]> {
  const files = readdirSync(here).filter(
    file => file.endsWith('.ts') && !file.endsWith('.test.ts') && file !== 'manifest.ts',
  )
  const found: Manifest[] = []
  for (const file of files) {
    const module = (await import(new URL(file, import.meta.url).href)) as { default?: Manifest }
    assert.ok(module.default?.clauses, `${file} must have a Manifest as its default export`)
    found.push(module.default)
  }
  return found
}

function testFiles(): string[] {
  return ['src', 'test'].flatMap(folder =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter(file => file.endsWith('.test.ts') && !file.endsWith('requirements.test.ts'))
      .map(file => join(root, folder, file)),
  )
}

/** The ids that stand first in `cites(…)` calls. */
function citations(source: string): string[] {
  const ids: string[] = []
  for (const [, list] of source.matchAll(/\bcites\(\s*((?:['"][A-Z][A-Z0-9]*(?:-[A-Z0-9]+)+['"],\s*)+)/g))
    for (const [id] of list!.matchAll(/[A-Z][A-Z0-9]*(?:-[A-Z0-9]+)+/g)) ids.push(id)
  return ids
}

test('the ids of clauses are well-formed and unique', async () => {
  const seen = new Set<string>()
  for (const { prefix, protocol, clauses } of await manifests())
    for (const { id, clause, versions, where } of clauses) {
      assert.match(id, new RegExp(`^${prefix}-[A-Z]+-\\d{2,}$`), `an id of ${protocol}`)
      assert.ok(!seen.has(id), `${id} stands twice`)
      assert.ok(clause.length > 10 && where !== '' && versions.length > 0, `${id} is not filled in`)
      seen.add(id)
    }
})

test('every clause is cited by a test, and tests cite only what exists', async () => {
  const cited = new Map<string, string>()
  for (const file of testFiles()) for (const id of citations(readFileSync(file, 'utf8'))) cited.set(id, file)
  const all = await manifests()
  const known = new Set(all.flatMap(({ clauses }) => clauses.map(({ id }) => id)))
  assert.deepEqual(
    [...known].filter(id => !cited.has(id)),
    [],
    'clauses without a test',
  )
  assert.deepEqual(
    [...cited].filter(([id]) => !known.has(id)).map(([id, file]) => `${id} in ${file}`),
    [],
    'citations of clauses that do not exist',
  )
})

test('the checker reads ids out of calls, not out of words', () => {
  assert.deepEqual(citations(`test(cites('AAP-X-01', 'AAP-X-02', 'says (so) AAP-X-03'), run)`), [
    'AAP-X-01',
    'AAP-X-02',
  ])
  assert.deepEqual(citations(`// AAP-X-04\ntest('AAP-X-05', run)`), [])
})
