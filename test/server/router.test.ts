// All routes of a server fit into one regular expression. With two paths that are spelled differently and mean the same, the framework
// would search a tree for every request.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Keys } from '../../src/callers/keys.ts'
import { scripted, Turnwire } from '../../src/index.ts'
import { runtimeOf } from '../../src/library/turnwire.ts'
import { openService } from '../../src/server/server.ts'
import { WireTable } from '../../src/server/wires.ts'

test('the routes of all wires are matched by the fast router', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'turnwire-router-'))
  const agents = [{ name: 'helper', model: scripted([{ text: 'Hello.' }]) }]
  const turnwire = await Turnwire.open({ agents, data: folder, server: { log: 'silent' } })
  const options = { table: new WireTable(), keys: new Keys([]), hostname: '127.0.0.1', shared: false }
  const service = await openService(runtimeOf(turnwire), options)
  t.after(async () => {
    service.close()
    await service.closeWires()
    await turnwire.close()
    rmSync(folder, { recursive: true, force: true })
  })
  // The first match builds it.
  service.app.router.match('GET', '/health/live')
  assert.equal(service.app.router.name, 'SmartRouter + RegExpRouter')
})
