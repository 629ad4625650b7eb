import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { parseRules, RulesFile } from './rules-file.ts'

function fileWith(t: TestContext, text: string, name = 'policy.yaml'): string {
  const folder = mkdtempSync(join(tmpdir(), 'turnwire-rules-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, name)
  writeFileSync(file, text)
  return file
}

const good = `
rules:
  - name: press
    tool: send_mail
    args: { to: "*@press.example" }
    then: deny
    reason: Not to the press.
  - tool: [send_*, post_*]
    after: { tool: web_*, outcome: ok, in: session }
    then: ask
shadow:
  - then: ask
`

test('rules are read from YAML and from JSON, as a list or with shadow rules', () => {
  const { rules, shadow } = parseRules(good, 'policy.yaml')
  assert.deepEqual(
    rules.map(({ name, then }) => [name, then]),
    [
      ['press', 'deny'],
      ['file[1]', 'ask'],
    ],
  )
  assert.deepEqual(shadow, [{ then: 'ask' }])
  assert.deepEqual(parseRules('[{"tool":"x","then":"allow"}]', 'policy.json'), {
    rules: [{ name: 'file[0]', tool: 'x', then: 'allow' }],
  })
  assert.deepEqual(parseRules('rules: []', 'policy.yaml'), { rules: [] })
})

const bad: [string, RegExp][] = [
  [
    'rules:\n  - tool: x\n    then: perhaps\n',
    /policy\.yaml:3: rules\[0\]\.then must be "allow", "ask" or "deny"/,
  ],
  [
    '- tool: x\n  then: ask\n- tool: y\n  thn: ask\n',
    /policy\.yaml:3: rules\[1\] has the unknown member "thn"/,
  ],
  ['rules:\n  - then: deny\n    when: x\n', /:3: rules\[0\]\.when is for rules in code; use "args"/],
  [
    'rules:\n  - then: deny\n    args:\n      amount: { over: 5 }\n',
    /:4: rules\[0\]\.args\.amount has the unknown member "over"/,
  ],
  [
    'rules:\n  - then: ask\n    after: { outcome: fine }\n',
    /:3: rules\[0\]\.after\.outcome must be one of: ok, error/,
  ],
  [
    'rules:\n  - { name: a, then: ask }\n  - { name: a, then: deny }\n',
    /:3: rules\[1\]\.name must be its own/,
  ],
  ['rules:\n  - { name: grant, then: ask }\n', /names verdicts that no rule gave/],
  ['rules: 5\n', /"rules" must be a list/],
  ['limits: {}\n', /"limits" is not known here/],
  ['rules:\n  - then: [\n', /policy\.yaml:\d: /],
  ['', /must hold a list of rules/],
]
for (const [text, expected] of bad)
  test(`a mistake is named with its line: ${expected.source.slice(0, 60)}`, () => {
    assert.throws(() => parseRules(text, 'policy.yaml'), { code: 'config_invalid', message: expected })
  })

test('a file that changes is put in force at once; one that is wrong is not, and is logged once', t => {
  const file = fileWith(t, good)
  const lines: string[] = []
  let now = 1_000
  const rules = new RulesFile(
    file,
    (level, message) => void lines.push(`${level} ${message}`),
    () => now,
  )
  const inForce: number[] = []
  rules.onChange(next => () => void inForce.push(next.rules.length))
  assert.equal(rules.reload(), false, 'nothing has changed')

  now = 2_000
  writeFileSync(file, 'rules:\n  - then: perhaps\n')
  assert.equal(rules.reload(), false)
  assert.equal(rules.reload(), false)
  assert.match(rules.state.problem ?? '', /:2: rules\[0\]\.then must be/)
  assert.equal(rules.state.loadedAt, 1_000)
  assert.equal(rules.rules.rules.length, 2)
  assert.deepEqual(inForce, [])

  now = 3_000
  writeFileSync(file, '- then: ask\n')
  assert.equal(rules.reload(), true)
  assert.deepEqual(inForce, [1])
  assert.deepEqual(rules.state, { file, loadedAt: 3_000 })

  rmSync(file)
  assert.equal(rules.reload(), false)
  assert.match(rules.state.problem ?? '', /cannot be read/)
  assert.deepEqual(lines, [
    'error The file of rules cannot be used. The rules before it stay in force.',
    'info The rules of the policy were loaded anew.',
    'error The file of rules cannot be used. The rules before it stay in force.',
  ])
})

test('if one agent cannot have the new rules, none gets them', t => {
  const file = fileWith(t, good)
  const rules = new RulesFile(file, () => {})
  const inForce: string[] = []
  rules.onChange(() => () => void inForce.push('first'))
  rules.onChange(() => {
    throw new Error('The name is taken.')
  })
  writeFileSync(file, '- then: ask\n')
  assert.equal(rules.reload(), false)
  assert.deepEqual(inForce, [])
  assert.match(rules.state.problem ?? '', /taken/)
})
