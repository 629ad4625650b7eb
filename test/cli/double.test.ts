// The stand-in for a vendor's API, as a command: it plays, it refuses, it says why.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { folder, start, turnwire } from './rig.ts'

const script = `- text: Hello from the double
- calls: [{ name: look, input: { q: 1 } }]
`

test('plays its script, refuses what the real API refuses, and counts the refusals', async t => {
  const cwd = folder(t)
  writeFileSync(join(cwd, 'script.yaml'), script)
  const running = start(t, ['double', 'openai-chat', '--script', 'script.yaml'], { cwd })
  const [, url] = await running.until(/A strict openai-chat listens on (\S+): 2 turns/)
  const ask = (messages: unknown) =>
    fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: 'Bearer any', 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', messages }),
    })
  const good = await ask([{ role: 'user', content: 'Hi' }])
  assert.match(await good.text(), /Hello from the double/)
  const bad = await ask([{ role: 'tool', tool_call_id: 'nobody', content: 'x' }])
  assert.equal(bad.status, 400)
  await running.until(
    /200 {6}POST \/v1\/chat\/completions {2}turn 1\n400 {6}POST \/v1\/chat\/completions\n {9}\S+/,
  )
  running.child.kill('SIGINT')
  assert.equal(await running.exit, 1)
  assert.match(running.stdout(), /2 requests, 1 refused\.\n$/)
})

test('a script that cannot be used says where', t => {
  const cwd = folder(t)
  writeFileSync(join(cwd, 'script.yaml'), '- txet: oops\n')
  const { code, stderr } = turnwire(['double', 'gemini', '-s', 'script.yaml'], { cwd })
  assert.equal(code, 2)
  assert.match(stderr, /^The script cannot be used: script\.yaml\[0\]\.txet is not known: use one of/)
  assert.match(
    turnwire(['double', 'gemini', '-s', 'none.yaml'], { cwd }).stderr,
    /There is no file none\.yaml/,
  )
})
