// The configuration that `init` writes: it loads, it serves, and it is never written over.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { AapClient } from '../../src/client/index.ts'
import { folder, serve, turnwire } from './rig.ts'

test('the written configuration can be served unchanged, in a folder where nothing is installed', async t => {
  const cwd = folder(t)
  const made = turnwire(['init', 'shop'], { cwd })
  assert.equal(made.code, 0)
  assert.match(made.stdout, /^Wrote shop\/turnwire\.config\.ts\.$/m)
  assert.match(made.stdout, /cd shop && turnwire serve/)
  const { url, stdout, stderr } = await serve(t, { cwd: join(cwd, 'shop') })
  assert.match(stdout(), /agents {4}clerk \(turnwire\.config\.ts\)/)
  assert.doesNotMatch(stderr(), /Warning/)
  const client = new AapClient({ baseUrl: url })
  const [agent] = (await client.getMeta()).agents
  assert.equal(agent?.name, 'clerk')
  const tools = [
    { name: 'look_up_order', trust: true },
    { name: 'cancel_order', trust: true },
  ]
  const sessionId = await client.createSession({ agent: { name: 'clerk', tools } })
  const found = await client.runTurn({ sessionId, text: 'Where is order 4711?' })
  assert.equal(found.stopReason, 'end_turn')
  assert.match(JSON.stringify(found.messages), /Order 4711 was packed this morning/)
  // The policy asks about it even though the client trusts it.
  const asked = await client.runTurn({ sessionId, text: 'Cancel order 12' })
  assert.deepEqual([asked.stopReason, asked.pending.map(call => call.name)], ['tool_use', ['cancel_order']])
})

test('existing files are not changed', t => {
  const cwd = folder(t)
  const file = join(cwd, 'turnwire.config.ts')
  writeFileSync(file, '// mine')
  const { code, stderr } = turnwire(['init'], { cwd })
  assert.equal(code, 2)
  assert.match(
    stderr,
    /turnwire\.config\.ts exists and is left as it is\. Choose another folder: turnwire init <folder>/,
  )
  assert.equal(readFileSync(file, 'utf8'), '// mine')
})
