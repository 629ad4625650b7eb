// A copy of the data folder, taken beside a server that is at work in it.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { AapClient } from '../../src/client/index.ts'
import { folder, serve, turnwire } from './rig.ts'

test('a backup of a running server holds what was acknowledged, and can be served', async t => {
  const cwd = folder(t)
  const key = /^tw_\S+$/m.exec(turnwire(['keys', 'add', 'ana'], { cwd }).stdout)?.[0] ?? ''
  const { url } = await serve(t, { cwd })
  const client = new AapClient({ baseUrl: url, apiKey: key })
  const sessionId = await client.createSession({
    agent: { name: 'helper', tools: [{ name: 'get_weather', trust: true }] },
  })
  await client.runTurn({ sessionId, text: 'What is the weather in Oslo?' })

  const { code, stdout } = turnwire(['backup', 'copy'], { cwd })
  assert.deepEqual(
    [code, stdout],
    [0, '.turnwire is backed up in copy: sessions.db, keys.json, vault.key.\n'],
  )
  assert.deepEqual(readdirSync(join(cwd, 'copy')).sort(), ['keys.json', 'sessions.db', 'vault.key'])
  assert.equal(statSync(join(cwd, 'copy')).mode & 0o777, 0o700)
  for (const name of readdirSync(join(cwd, 'copy')))
    assert.equal(statSync(join(cwd, 'copy', name)).mode & 0o777, 0o600)
  for (const name of ['keys.json', 'vault.key'])
    assert.equal(
      readFileSync(join(cwd, 'copy', name), 'utf8'),
      readFileSync(join(cwd, '.turnwire', name), 'utf8'),
    )

  const again = await serve(t, { cwd, args: ['--data', 'copy'] })
  const other = new AapClient({ baseUrl: again.url, apiKey: key })
  assert.deepEqual(await other.getHistory(sessionId), await client.getHistory(sessionId))

  const twice = turnwire(['backup', 'copy'], { cwd })
  assert.deepEqual(
    [twice.code, twice.stderr],
    [1, '.turnwire cannot be backed up to copy: it is not empty.\n'],
  )
  const nothing = turnwire(['backup', 'copy', '--data', 'nowhere'], { cwd })
  assert.equal(
    nothing.stderr,
    'There are no sessions in nowhere. Name the data folder with --data <folder>.\n',
  )
})
