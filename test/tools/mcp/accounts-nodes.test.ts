// Accounts of owners on three whole servers that share a PostgreSQL: connected at one, used, renewed and ended at any other.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NodeStore } from '../../../src/engine/index.ts'
import { postgresStore } from '../../../src/stores/postgres/index.ts'
import { databaseUrl, newSchema, own } from '../../stores/postgres/server.ts'
import { accountServer, Browser } from './accounts-rig.ts'
import { startAuthRig } from './authorization-server.ts'

const secret = 'a secret of the cluster, for tests only'

test('two owners on many nodes: each account is known everywhere, renewed once, and ended everywhere', {
  skip: own.skip,
}, async t => {
  const auth = await startAuthRig(t)
  const url = await databaseUrl()
  const schema = newSchema()
  const start = () => {
    const store: NodeStore = postgresStore({ url, schema, connections: 4 })
    return accountServer(t, auth, store, { server: { cluster: { secret } } })
  }
  const [a, b, c] = [await start(), await start(), await start()]

  // The question is asked at one node; its address is opened at another, and the way back comes to that one.
  const anas = await a.say('ana', 'whose')
  const asked = await b.question('ana', anas)
  await new Browser().connect(auth, asked.url.replace(a.url, c.url), 'ana@notes')
  assert.match(await b.answer('ana', anas), /the notes of ana@notes/)
  const bens = await b.say('ben', 'whose')
  await new Browser().connect(auth, (await c.question('ben', bens)).url, 'ben@notes')
  assert.match(await a.answer('ben', bens), /the notes of ben@notes/)

  // At nodes that had nothing to do with it, and of each owner its own.
  for (const node of [a, b, c]) {
    const hers = await node.say('ana', 'whose')
    assert.equal(await node.answer('ana', hers), 'the notes of ana@notes')
    const his = await node.say('ben', 'whose')
    assert.equal(await node.answer('ben', his), 'the notes of ben@notes')
  }

  // Three nodes find the token void at the same time: a refresh token that is used twice is refused.
  auth.expireTokens()
  const before = auth.seen.filter(seen => seen === 'grant refresh_token').length
  const sessions = await Promise.all([a, b, c].map(node => node.say('ana', 'whose')))
  for (const session of sessions) assert.equal(await a.answer('ana', session), 'the notes of ana@notes')
  assert.equal(auth.seen.filter(seen => seen === 'grant refresh_token').length - before, 1)
  assert.deepEqual(auth.refused, [])

  // Ended at one node, it is used at none.
  assert.equal((await a.request('ana', 'DELETE', '/operator/connections/notes')).status, 204)
  for (const node of [b, c]) {
    const session = await node.say('ana', 'whose')
    assert.match((await node.question('ana', session)).url, /\/connect\//)
  }
  const his = await c.say('ben', 'whose')
  assert.equal(await c.answer('ben', his), 'the notes of ben@notes')
})
