// The index of 5,000 tools stays small, whatever the tools say of themselves, and searches leave nothing behind.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Tool } from '../../../src/engine/index.ts'
import { contextFor } from '../../../src/testing/contracts/tool.ts'
import { tool } from '../../../src/tools/index.ts'
import { findTools } from '../../../src/tools/search/index.ts'
import { collectGarbage } from '../../collect-garbage.ts'

const count = 5_000
const MiB = 1024 * 1024

/** A tool's description: the n-th word of the tool at this place. */
type Words = { count: number; word: (at: number, n: number) => string }

const spelled = (n: number): string => `w${(n * 7919).toString(36)}`

function toolsOf({ count: words, word }: Words): Tool[] {
  return Array.from({ length: count }, (_, at) =>
    tool({
      name: `service_${Math.floor(at / 100)}__task_${at}`,
      description: Array.from({ length: words }, (__, n) => word(at, n)).join(' '),
      input: { type: 'object', properties: { [`id_${at % 100}`]: { type: 'string' } } },
      trust: 'trusted',
      run: () => 'done',
    }),
  )
}

function used(): number {
  collectGarbage()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

const cases: [what: string, words: Words, mostMiB: number][] = [
  // The bar of the benchmark `tool-search`.
  [
    'descriptions as people write them',
    { count: 40, word: (at, n) => spelled((at * 13 + n * n) % 3_000) },
    32,
  ],
  // Of a description of 20,000 characters, 4,000 are searched.
  [
    'descriptions without end, of words of their own',
    { count: 3_000, word: (at, n) => spelled(at * 31 + n) },
    96,
  ],
]

for (const [what, words, mostMiB] of cases)
  test(`${what}: the index takes less than ${mostMiB} MiB, and two hundred searches take nothing more`, async t => {
    const tools = toolsOf(words)
    const byName = new Map(tools.map(each => [each.name, each]))
    const context = contextFor({ tools: { shared: tools, find: name => byName.get(name) } })
    const search = findTools()
    const before = used()
    search.warm(tools)
    const index = used() - before
    t.diagnostic(`${(index / MiB).toFixed(1)} MiB`)
    assert.ok(index < mostMiB * MiB, `${(index / MiB).toFixed(1)} MiB`)
    const ask = (n: number) => search.run({ query: `${spelled(n)} service ${n % 50}`, limit: 20 }, context)
    await ask(0)
    const warm = used()
    for (let n = 0; n < 200; n++) await ask(n)
    const more = used() - warm
    assert.ok(more < 2 * MiB, `${(more / MiB).toFixed(1)} MiB more after the searches`)
  })
