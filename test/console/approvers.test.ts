// The approval part as it is drawn for someone who may decide, and for someone who may not.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

const root = fileURLToPath(new URL('../../', import.meta.url))
let draw: (question: object) => string

before(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'turnwire-approval-'))
  const entry = join(root, 'test/console/drawn-approval.tsx')
  const bundle = await rolldown({ input: entry, platform: 'node', cwd: root })
  const { output } = await bundle.write({ format: 'cjs', dir: folder, entryFileNames: 'drawn.js' })
  assert.ok(output.length > 0)
  const file = join(folder, 'drawn.js')
  ;({ draw } = createRequire(file)(file) as { draw: typeof draw })
  rmSync(folder, { recursive: true })
})

const question = {
  ...{
    callId: 'c',
    tool: { name: 'pay' },
    form: 'json',
    text: '{}',
    argsHash: 'h',
    rule: 'policy[0]',
    askedAt: 1,
  },
  approvers: { roles: ['finance'], quorum: 2 },
  votes: [{ name: 'ben' }],
}
const buttons = (html: string): [string, boolean][] =>
  [...html.matchAll(/<button([^>]*)>([^<]*)<\/button>/g)].flatMap(([, given = '', label = '']) =>
    /Allow|Edit|Always|Reject/.test(label) ? [[label, !given.includes('disabled')] as [string, boolean]] : [],
  )

test('it says who is needed and who has voted, and an approver can allow it', () => {
  const html = draw(question).replaceAll('&quot;', '"')
  assert.ok(html.includes('2 people with the role "finance". 1 of 2 so far: ben'), html)
  assert.deepEqual(buttons(html), [
    ['Allow once', true],
    ['Edit…', true],
    ['Always…', true],
    ['Reject…', true],
  ])
})

test('those who may not allow it see why, and cannot', () => {
  const html = draw({ ...question, whyNot: 'joe has no role' })
  assert.ok(html.includes('You cannot allow this: joe has no role.'), html)
  assert.deepEqual(buttons(html), [
    ['Allow once', false],
    ['Edit…', false],
    ['Always…', false],
    ['Reject…', true],
  ])
})
