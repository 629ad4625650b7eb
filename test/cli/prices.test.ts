import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { priceTable, priceTableDate } from '../../src/models/index.ts'
import { root, turnwires } from './rig.ts'

test('turnwire prices lists every model with the day of the list; one name shows how it would be counted', () => {
  const [all, one, dated, json, unknown] = turnwires([
    ['prices'],
    ['prices', 'gpt-5.4'],
    ['prices', 'anthropic/claude-sonnet-4-5-20250929'],
    ['prices', '--json'],
    ['prices', 'no-such-model'],
  ])
  assert.ok(all && one && dated && json && unknown)
  assert.equal(all.code, 0)
  assert.match(all.stdout, new RegExp(`as of ${priceTableDate}`))
  for (const { provider, model } of priceTable) assert.ok(all.stdout.includes(`${provider}/${model} `), model)
  const guide = readFileSync(join(root, 'docs/guide/models.md'), 'utf8')
  assert.ok(guide.includes(`$ turnwire prices gpt-5.4\n${one.stdout}\`\`\``), one.stdout)
  assert.match(dated.stdout, /^anthropic\/claude-sonnet-4-5 +3 +15 +0\.3 +3\.75$/m)
  assert.deepEqual(JSON.parse(json.stdout), {
    date: priceTableDate,
    currency: 'USD',
    perTokens: 1_000_000,
    models: JSON.parse(JSON.stringify(priceTable)),
  })
  assert.deepEqual(
    [unknown.code, unknown.stderr.split('.')[0]],
    [2, 'There is no list price for "no-such-model"'],
  )
})
