import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Tool } from '../../engine/ports/index.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import { AcceptedTools } from './accepted.ts'

function named(name: string, description = 'A tool.'): Tool {
  return {
    name,
    description,
    input: { form: 'json', schema: { type: 'object' } },
    kind: 'other',
    readOnly: false,
    idempotent: false,
    destructive: true,
    side: 'server',
    exposed: true,
    trust: 'trusted',
    timeoutMs: 1_000,
    retries: 0,
    outputLimit: 1_000,
    run: async () => ({ parts: [] }),
  }
}

function rig(mostTools: number) {
  let saved: readonly ToolDeclaration[] = []
  const warnings: string[] = []
  const definitions = {
    load: () => saved,
    save: (next: readonly ToolDeclaration[]) => {
      saved = next
    },
  }
  const open = () =>
    new AcceptedTools(definitions, { server: 's', mostTools, warn: words => void warnings.push(words) })
  return { open, saved: () => saved, warnings }
}

test('a server that renames its tools for ever keeps a limited number of definitions', () => {
  const { open, saved, warnings } = rig(5)
  const accepted = open()
  for (let round = 0; round < 1_000; round += 1)
    accepted.meet(Array.from({ length: 5 }, (_, index) => named(`t${round}_${index}`)))
  assert.equal(saved().length, 10)
  assert.match(warnings[0] ?? '', /too many tools/)
})

test('large definitions are limited by their bytes', () => {
  const { open, saved } = rig(500)
  const accepted = open()
  for (let round = 0; round < 100; round += 1) accepted.meet([named(`t${round}`, 'x'.repeat(200_000))])
  assert.ok(JSON.stringify(saved()).length < 9 * 1024 * 1024)
  assert.ok(saved().length > 30)
})

test('a tool that goes, and comes back changed after a flood of others, asks', () => {
  const { open } = rig(5)
  const accepted = open()
  accepted.meet([named('pay')])
  for (let round = 0; round < 100; round += 1) accepted.meet([named(`t${round}`)])
  assert.match(accepted.describeChange(named('pay', 'Another.')) ?? '', /has changed/)
  assert.equal(accepted.describeChange(named('pay')), undefined)
  const fresh = named('fresh')
  accepted.meet([fresh])
  for (const each of [accepted, open()]) assert.match(each.describeChange(fresh) ?? '', /is new/)
})

test('what a person allows is kept in place of one that is gone, never of one that is there', () => {
  const { open, saved } = rig(2)
  const accepted = open()
  accepted.meet(['a', 'b', 'c', 'd'].map(name => named(name)))
  const fresh = named('fresh')
  accepted.allow(fresh, new Set(['a', 'fresh']))
  assert.equal(accepted.describeChange(fresh), undefined)
  assert.deepEqual(
    saved()
      .map(({ name }) => name)
      .sort(),
    ['a', 'c', 'd', 'fresh'],
  )
  assert.match(accepted.describeChange(named('b')) ?? '', /is new/)
})
