// Accounts of owners at an MCP server (`auth: { per: 'owner' }`): asked for by a question with an address, kept sealed, renewed,
// ended, and never used for another owner. The MCP server and its authorization server are real.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { memoryStore } from '../../../src/stores/memory.ts'
import { until } from '../../wires/rig.ts'
import { accountServer, Browser } from './accounts-rig.ts'
import { startAuthRig } from './authorization-server.ts'

test('an owner is asked to connect the first time, and the call goes on by itself', async t => {
  const auth = await startAuthRig(t)
  const rig = await accountServer(t, auth, memoryStore())
  const session = await rig.say('ana', 'whose')
  const { url, message } = await rig.question('ana', session)
  assert.match(message, /"notes" .* Open the address to connect it for "ana"/)
  assert.equal(auth.seen.length, 0, 'nobody is registered before the person presses the button')
  const page = await new Browser().open(url)
  assert.match(page.text, /Connect <code>notes<\/code>\?/)
  assert.match(page.text, /For <b>ana<\/b>/)
  const done = await new Browser().connect(auth, url, 'ana@notes')
  assert.match(done.text, /notes is connected/)
  assert.match(await rig.answer('ana', session), /the notes of ana@notes/)
  // The next session is not asked, and has the tools from its first request on.
  const next = await rig.say('ana', 'whose')
  assert.match(await rig.answer('ana', next), /the notes of ana@notes/)
  assert.deepEqual(auth.refused, [])
  const { events } = await rig.client('ana').events(next)
  assert.doesNotMatch(JSON.stringify(events), /notes__connect|question\.asked/)
})

test('an account is used for no other owner, who does not see the tools that it has', async t => {
  const auth = await startAuthRig(t)
  const store = memoryStore()
  const rig = await accountServer(t, auth, store)
  const anas = await rig.say('ana', 'whose')
  await new Browser().connect(auth, (await rig.question('ana', anas)).url, 'ana@notes')
  await rig.answer('ana', anas)
  const before = auth.headers.server.length
  const bens = await rig.say('ben', 'of_ana_notes')
  const { url } = await rig.question('ben', bens)
  assert.equal(auth.headers.server.length, before, 'nothing is sent for ben')
  await new Browser().connect(auth, url, 'ben@notes')
  // He has no tool of this name: his list is his own.
  assert.match(await rig.answer('ben', bens), /connected.*notes__of_ben_notes/)
  assert.ok(!(await rig.answer('ben', bens)).includes('of_ana_notes'))
  await rig.again('ben', bens, 'whose')
  assert.match(await rig.answer('ben', bens), /the notes of ben@notes/)
  await rig.again('ana', anas, 'of_ana_notes')
  assert.match(await rig.answer('ana', anas), /the notes of ana@notes/)
})

test('a record that is moved to another owner opens for nobody, and none shows a token', async t => {
  const auth = await startAuthRig(t)
  const store = memoryStore()
  const rig = await accountServer(t, auth, store)
  const session = await rig.say('ana', 'whose')
  await new Browser().connect(auth, (await rig.question('ana', session)).url, 'ana@notes')
  await rig.answer('ana', session)
  const bens = await rig.say('ben', 'whose')
  await new Browser().connect(auth, (await rig.question('ben', bens)).url, 'ben@notes')
  await rig.answer('ben', bens)
  assert.ok(store.records)
  const { rows } = await store.records.list({ kind: 'mcp-account', limit: 10 })
  assert.equal(rows.length, 2)
  for (const { body } of rows) assert.doesNotMatch(body, /access-|refresh-|client_secret/)
  const [one, other] = rows
  assert.ok(one && other)
  await store.records.change(one, { body: other.body })
  await rig.again('ana', session, 'whose')
  await rig.again('ben', bens, 'whose')
  const owner = (body: string): string => (JSON.parse(body) as { owner: string }).owner
  const robbed = owner(one.body) === 'ana' ? ('ana' as const) : ('ben' as const)
  const { url } = await rig.question(robbed, robbed === 'ana' ? session : bens)
  assert.match(url, /\/connect\//)
})

test('a token is renewed before anyone is asked, once although two calls need it', async t => {
  const auth = await startAuthRig(t)
  const rig = await accountServer(t, auth, memoryStore())
  const session = await rig.say('ana', 'whose')
  await new Browser().connect(auth, (await rig.question('ana', session)).url, 'ana@notes')
  await rig.answer('ana', session)
  const other = await rig.say('ana', 'read_note')
  await rig.answer('ana', other)
  auth.expireTokens()
  await Promise.all([rig.again('ana', session, 'whose'), rig.again('ana', other, 'whose')])
  for (const id of [session, other]) assert.match(await rig.answer('ana', id), /the notes of ana@notes/)
  assert.equal(auth.seen.filter(seen => seen === 'grant refresh_token').length, 1)
  assert.deepEqual(auth.refused, [])
})

test('more scopes are asked for in the call that needs them', async t => {
  const auth = await startAuthRig(t)
  const rig = await accountServer(t, auth, memoryStore())
  const session = await rig.say('ana', 'whose')
  await new Browser().connect(auth, (await rig.question('ana', session)).url, 'ana@notes')
  await rig.answer('ana', session)
  await rig.again('ana', session, 'write')
  const { url, message } = await rig.question('ana', session)
  assert.match(message, /has to allow more than before \(read write\)/)
  await new Browser().connect(auth, url, 'ana@notes')
  assert.equal(await rig.answer('ana', session), 'as read write')
})

test('a person who declines ends the call with words, and the turn goes on', async t => {
  const auth = await startAuthRig(t)
  const rig = await accountServer(t, auth, memoryStore())
  const session = await rig.say('ana', 'whose')
  const { id, url } = await rig.question('ana', session)
  await rig.client('ana').command(session, { do: 'answer', question: id, action: 'decline' } as never)
  assert.match(await rig.answer('ana', session), /was not connected: the person did not want it/)
  assert.equal((await new Browser().open(url)).status, 410, 'the address works as long as the call asks')
})

test('an owner lists and ends connections; the tokens are revoked there and the next call asks again', async t => {
  const auth = await startAuthRig(t)
  const rig = await accountServer(t, auth, memoryStore())
  const session = await rig.say('ana', 'whose')
  await new Browser().connect(auth, (await rig.question('ana', session)).url, 'ana@notes')
  await rig.answer('ana', session)
  const list = async (who: 'ana' | 'ben' | 'root'): Promise<{ owner: string; server: string }[]> =>
    ((await (await rig.request(who, 'GET', '/operator/connections')).json()) as { connections: never[] })
      .connections
  assert.deepEqual(
    (await list('ana')).map(({ owner, server }) => [owner, server]),
    [['ana', 'notes']],
  )
  assert.deepEqual(await list('ben'), [])
  assert.equal((await list('root')).length, 1)
  assert.equal((await rig.request('nobody', 'GET', '/operator/connections')).status, 401)
  // Another owner cannot name her.
  assert.equal((await rig.request('ben', 'DELETE', '/operator/connections/notes?owner=ana')).status, 404)
  assert.equal((await list('ana')).length, 1)
  assert.equal((await rig.request('ana', 'DELETE', '/operator/connections/notes')).status, 204)
  const revoked = auth.seen.filter(seen => seen.startsWith('revoked'))
  assert.deepEqual(revoked, ['revoked refresh', 'revoked access'])
  assert.deepEqual(await list('root'), [])
  await rig.again('ana', session, 'whose')
  assert.match((await rig.question('ana', session)).url, /\/connect\//)
})

test('an owner connects without a call, by an address that expires', async t => {
  const auth = await startAuthRig(t)
  const rig = await accountServer(t, auth, memoryStore())
  const { url } = (await (await rig.request('ana', 'POST', '/operator/connections/notes')).json()) as {
    url: string
  }
  await new Browser().connect(auth, url, 'ana@notes')
  const session = await rig.say('ana', 'whose')
  assert.equal(await rig.answer('ana', session), 'the notes of ana@notes')
})

test('another browser than the one that began cannot finish, and a way back works once', async t => {
  const auth = await startAuthRig(t)
  const rig = await accountServer(t, auth, memoryStore())
  const session = await rig.say('ana', 'whose')
  const { url } = await rig.question('ana', session)
  const mallory = new Browser()
  const sent = await mallory.press(url)
  auth.account = 'victim@notes'
  // The victim is sent the second half of the way.
  const victim = await new Browser().open(sent)
  assert.equal(victim.status, 401)
  assert.match(victim.text, /was not begun in this browser/)
  assert.equal(
    ((await (await rig.request('root', 'GET', '/operator/connections')).json()) as { connections: [] })
      .connections.length,
    0,
  )
  const ana = new Browser()
  const on = await ana.press(url)
  auth.account = 'ana@notes'
  const location = (await fetch(on, { redirect: 'manual' })).headers.get('location') ?? ''
  assert.equal((await ana.open(location)).status, 200)
  assert.equal((await ana.open(location)).status, 401)
  assert.match(await rig.answer('ana', session), /the notes of ana@notes/)
})

test('an address with a changed owner, and one that nobody signed, are refused', async t => {
  const auth = await startAuthRig(t)
  const rig = await accountServer(t, auth, memoryStore())
  const { url } = (await (await rig.request('ben', 'POST', '/operator/connections/notes')).json()) as {
    url: string
  }
  const [, token = ''] = url.split('/connect/')
  const [body = '', signature] = token.split('.')
  const parts = JSON.parse(Buffer.from(body, 'base64url').toString()) as string[]
  parts[1] = 'ana'
  const forged = `${Buffer.from(JSON.stringify(parts)).toString('base64url')}.${signature}`
  assert.equal((await new Browser().open(`${rig.url}/connect/${forged}`)).status, 401)
  assert.equal((await new Browser().open(`${rig.url}/connect/x.y`)).status, 401)
  assert.equal((await new Browser().open(`${rig.url}/connect/back?state=x&code=y`)).status, 401)
})

test('after a restart the question stands, its address works, and the same call goes on', async t => {
  const auth = await startAuthRig(t)
  const store = mkdtempSync(join(tmpdir(), 'turnwire-accounts-'))
  t.after(() => rmSync(store, { recursive: true, force: true }))
  const first = await accountServer(t, auth, store)
  const session = await first.say('ana', 'whose')
  const { url, id } = await first.question('ana', session)
  await first.stop()
  const second = await accountServer(t, auth, store)
  assert.equal((await second.question('ana', session)).id, id)
  await new Browser().connect(auth, url.replace(first.url, second.url), 'ana@notes')
  await until(async () => (await second.client('ana').session(session)).status === 'idle')
  assert.match(await second.answer('ana', session), /the notes of ana@notes/)
})
