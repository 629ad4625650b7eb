// The vendors' own shell, patch and editor with the real executors: a folder on disk and bubblewrap.
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { anthropic, type Model, openai, shell, type Tool, Turnwire, workspace } from '../../src/index.ts'
import { type RunningDouble, startDouble } from '../../src/testing/index.ts'
import { skip as noBubblewrap } from '../tools/shell/bubblewrap.ts'

const skip = existsSync('/proc/self/fd') ? noBubblewrap : 'files are confined on Linux only'

async function play(t: TestContext, double: RunningDouble, model: Model, tools: Tool[]): Promise<string> {
  t.after(() => double.close())
  const turnwire = await Turnwire.open({ agents: [{ name: 'a', model, tools }], data: 'memory' })
  t.after(() => turnwire.close())
  const reply = await (await turnwire.session('a')).send('go')
  assert.deepEqual(double.rejections(), [])
  assert.equal(reply.text, 'Done.')
  return JSON.stringify(double.exchanges.at(-1)?.body)
}

function folder(t: TestContext): string {
  const root = mkdtempSync(join(tmpdir(), 'turnwire-typed-'))
  t.after(() => rmSync(root, { recursive: true, force: true }))
  writeFileSync(join(root, 'a.txt'), 'one\n')
  return root
}

test('OpenAI: shell runs commands in the sandbox, apply_patch changes files', { skip }, async t => {
  const root = folder(t)
  const double = await startDouble({
    vendor: 'openai-responses',
    script: [
      {
        native: [
          {
            type: 'apply_patch_call',
            call_id: 'p1',
            operation: { type: 'update_file', path: 'a.txt', diff: '@@\n-one\n+two\n' },
            status: 'completed',
          },
        ],
      },
      {
        native: [
          {
            type: 'shell_call',
            call_id: 's1',
            action: { commands: ['cat a.txt', 'exit 3'], timeout_ms: null, max_output_length: null },
            status: 'completed',
          },
        ],
      },
      { text: 'Done.' },
    ],
  })
  const model = openai({ model: 'gpt-5.2', apiKey: 'k', baseUrl: `${double.url}/v1` })
  const sent = await play(t, double, model, [
    shell({ root, trust: 'trusted', vendorTyped: ['shell'] }),
    ...workspace({ root, tools: ['patch'], trust: 'trusted', vendorTyped: ['apply_patch'] }),
  ])
  assert.equal(readFileSync(join(root, 'a.txt'), 'utf8'), 'two\n')
  assert.ok(sent.includes('"type":"apply_patch_call_output","call_id":"p1","status":"completed"'))
  assert.ok(sent.includes('{"stdout":"two\\n","stderr":"","outcome":{"type":"exit","exit_code":0}}'), sent)
  assert.ok(sent.includes('"outcome":{"type":"exit","exit_code":3}'))
})

test('Anthropic: bash keeps its folder and variables, the text editor changes files', { skip }, async t => {
  const root = folder(t)
  const double = await startDouble({
    vendor: 'anthropic',
    script: [
      { calls: [{ name: 'bash', input: { command: 'mkdir sub && cd sub && export A=kept' } }] },
      { calls: [{ name: 'bash', input: { command: 'echo "$PWD $A"' } }] },
      {
        calls: [
          {
            name: 'str_replace_based_edit_tool',
            input: { command: 'str_replace', path: 'a.txt', old_str: 'one', new_str: 'two' },
          },
        ],
      },
      { text: 'Done.' },
    ],
  })
  const model = anthropic({ model: 'claude-sonnet-4-6', apiKey: 'k', baseUrl: double.url })
  const sent = await play(t, double, model, [
    shell({ root, trust: 'trusted', vendorTyped: ['bash_20250124'] }),
    ...workspace({ root, tools: ['editor'], trust: 'trusted', vendorTyped: ['text_editor_20250728'] }),
  ])
  assert.ok(sent.includes('/workspace/sub kept'), sent)
  assert.equal(readFileSync(join(root, 'a.txt'), 'utf8'), 'two\n')
})
