// `turnwire prepare` and `turnwire doctor` as they are run: without a key, on files and on recorded sessions.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { rehearsal, tool } from '../../src/index.ts'
import type { Json } from '../../src/lib/json/index.ts'
import { Turnwire } from '../../src/library/turnwire.ts'
import { checkHistory, doctorVendors } from '../../src/testing/index.ts'
import { folder, turnwire } from '../cli/rig.ts'

const config = `
import { defineConfig, rehearsal, tool } from 'turnwire'
const remove = tool({ name: 'fs.remove', description: 'Remove a file.', input: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] }, run: () => 'gone' })
export default defineConfig({ agents: [{ name: 'helper', system: 'Be brief.', model: rehearsal(), tools: [remove] }] })
`

/** A session that waits for a permission, and the folder that it was recorded in. */
async function waiting(t: TestContext): Promise<{ cwd: string; id: string }> {
  const cwd = folder(t)
  writeFileSync(join(cwd, 'turnwire.config.mts'), config)
  const input = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] }
  const remove = tool({ name: 'fs.remove', description: 'Remove a file.', input, run: () => 'gone' })
  const agent = { name: 'helper', system: 'Be brief.', model: rehearsal(), tools: [remove] }
  const running = await Turnwire.open({ data: join(cwd, '.turnwire'), agents: [agent] })
  const conversation = await running.session('helper')
  assert.equal((await conversation.send('Remove the file notes.txt')).status, 'waiting')
  await running.close()
  return { cwd, id: conversation.id }
}

describe('prepare', () => {
  test('prints the body that each vendor would be sent, and each accepts it', async t => {
    const { cwd, id } = await waiting(t)
    for (const vendor of doctorVendors) {
      const { code, stdout, stderr } = turnwire(['prepare', id, '--as', vendor, '--say', 'Never mind.'], {
        cwd,
      })
      assert.equal(code, 0, stderr)
      const body = JSON.parse(stdout) as Json // It prints a request body.
      assert.deepEqual(checkHistory(vendor, body), [])
      assert.match(stdout, /Be brief\./)
      assert.match(stdout, /Never mind\./)
      assert.match(stdout, /notes\.txt/)
      assert.match(stderr, /^POST \/\S+\ncontent-type: application\/json\n/)
      assert.doesNotMatch(stderr, /authorization|api-key/i)
      if (vendor === 'anthropic') assert.match(stderr, /anthropic-version: /)
    }
    const named = turnwire(['prepare', id, '--as', 'gemini', '--model', 'gemini-9', '--pretty'], { cwd })
    assert.match(named.stderr, /models\/gemini-9:streamGenerateContent/)
    assert.match(named.stdout, /^\{\n {2}"/)
    const seen = turnwire(['sessions', 'show', id], { cwd })
    assert.doesNotMatch(seen.stdout, /next message|Never mind/, 'nothing was recorded')
  })

  test('reports wrong arguments', async t => {
    const { cwd, id } = await waiting(t)
    const cases: [string[], number, RegExp][] = [
      [['prepare'], 2, /Say which session/],
      [['prepare', 'sess_none', '--as', 'gemini'], 2, /There is no session sess_none here/],
      [['prepare', id, '--as', 'gemni'], 2, /Did you mean "gemini"\?/],
      [['prepare', id, '--model', 'x'], 2, /--model needs --as/],
      [['prepare', id], 1, /sends no requests\. Say whose form is wanted: --as anthropic/],
      [['prepare', id, '--data', 'nowhere', '--as', 'gemini'], 2, /There are no sessions in nowhere/],
    ]
    for (const [args, code, words] of cases) {
      const done = turnwire(args, { cwd })
      assert.deepEqual(
        [done.code, words.test(done.stderr)],
        [code, true],
        `${args.join(' ')}: ${done.stderr}`,
      )
    }
  })
})

describe('doctor', () => {
  const broken = [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'fs.read', input: {} }] },
    { role: 'user', content: 'and?' },
  ]

  test('reports the broken rules and the repair, and prints the repaired body', t => {
    const cwd = folder(t)
    writeFileSync(join(cwd, 'history.json'), JSON.stringify(broken))
    const seen = turnwire(['doctor', 'history.json', '--as', 'anthropic'], { cwd })
    assert.equal(seen.code, 1)
    assert.match(seen.stdout, /anthropic would refuse this history/)
    assert.match(seen.stdout, /A-01 {2}A call has no result[^\n]*\n.*ids were found without/)
    assert.match(
      seen.stdout,
      /The least repair\n {2}- Changed messages\[1\]\.content\[0\]\.name from "fs\.read" to /,
    )
    assert.match(seen.stdout, /passes every rule/)
    const fixed = turnwire(['doctor', 'history.json', '--as', 'anthropic', '--fix'], { cwd })
    assert.equal(fixed.code, 1)
    assert.deepEqual(checkHistory('anthropic', JSON.parse(fixed.stdout) as Json), []) // It prints a request body.
    assert.match(fixed.stderr, /A-01/)
    const again = turnwire(['doctor', '-', '--as', 'anthropic'], { cwd, input: fixed.stdout })
    assert.deepEqual([again.code, again.stdout], [0, 'Sound. anthropic takes this history as it is.\n'])
    const json = JSON.parse(
      turnwire(['doctor', 'history.json', '--as', 'anthropic', '--json'], { cwd }).stdout,
    )
    assert.deepEqual([json.vendor, json.left, json.findings[0].rule], ['anthropic', [], 'A-07'])
  })

  test('a recorded session can be sent to each vendor as it is', async t => {
    const { cwd, id } = await waiting(t)
    for (const vendor of doctorVendors) {
      const { code, stdout, stderr } = turnwire(['doctor', id, '--as', vendor], { cwd })
      assert.deepEqual([code, stdout], [0, `Sound. ${vendor} takes this history as it is.\n`], stderr)
    }
  })

  test('reports wrong arguments and files', t => {
    const cwd = folder(t)
    writeFileSync(join(cwd, 'words.json'), '"hi"')
    writeFileSync(join(cwd, 'half.json'), '{"a":')
    const cases: [string[], RegExp][] = [
      [['doctor'], /Say what to look at/],
      [['doctor', 'words.json'], /Say whose rules are asked/],
      [['doctor', 'words.json', '--as', 'antropic'], /Did you mean "anthropic"\?/],
      [['doctor', 'words.json', '--as', 'anthropic'], /must hold a request body/],
      [['doctor', 'half.json', '--as', 'anthropic'], /is not JSON/],
      [['doctor', 'none.json', '--as', 'anthropic'], /There is no file none\.json/],
    ]
    for (const [args, words] of cases) {
      const done = turnwire(args, { cwd })
      assert.deepEqual([done.code, words.test(done.stderr)], [2, true], `${args.join(' ')}: ${done.stderr}`)
    }
  })
})
