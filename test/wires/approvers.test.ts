// People of one owner who come with tokens: who may allow a call is checked by the engine, whatever wire they use and whatever
// they say of themselves. And people of other owners reach nothing, by any route of any wire.
import assert from 'node:assert/strict'
import { before, describe, type TestContext, test } from 'node:test'
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import { Keys } from '../../src/callers/keys.ts'
import { scripted } from '../../src/index.ts'
import type { JsonObject } from '../../src/lib/json/index.ts'
import { runtimeOf } from '../../src/library/turnwire.ts'
import { ConsoleCookies } from '../../src/server/console-cookie.ts'
import { makeHost, servedHost } from '../../src/server/server.ts'
import { WireTable } from '../../src/server/wires.ts'
import { type Rig, type RigOptions, rig, until } from './rig.ts'

const issuer = 'https://id.example/'
let secret: CryptoKey
let jwk: JWK
before(async () => {
  const pair = await generateKeyPair('ES256', { extractable: true })
  secret = pair.privateKey
  jwk = { ...(await exportJWK(pair.publicKey)), kid: 'k', alg: 'ES256' }
})

async function bearer(sub: string, roles: string[] = [], org = 'acme'): Promise<Record<string, string>> {
  const token = await new SignJWT({ org, roles })
    .setProtectedHeader({ alg: 'ES256', kid: 'k' })
    .setIssuer(issuer)
    .setAudience('turnwire')
    .setSubject(sub)
    .setExpirationTime('1h')
    .sign(secret)
  return { authorization: `Bearer ${token}` }
}

const approvers = { roles: ['finance'], notRequester: true, quorum: 2 }
const mail = { calls: [{ name: 'mail', input: { to: 'bo' } }] }

async function open(t: TestContext, over: RigOptions = {}): Promise<Rig> {
  const jwt = { issuer, audience: 'turnwire', keys: [jwk as JsonObject], owner: 'org' } // A JWK is JSON.
  const policy = { rules: [{ tool: 'mail', then: 'ask' as const, approvers }] }
  return rig(t, { script: [mail, { text: 'Sent.' }], policy, server: { jwt }, ...over })
}

type Person = { name: string; roles?: string[] }
const ana: Person = { name: 'ana', roles: ['finance'] }
const ben: Person = { name: 'ben', roles: ['finance'] }
const eve: Person = { name: 'eve', roles: ['finance'] }
const joe: Person = { name: 'joe', roles: ['sales'] }

/** Sends as this person, and gives the status and the body as text. */
async function send(on: Rig, { name, roles }: Person, method: string, path: string, body?: unknown) {
  const headers = await bearer(name, roles)
  const answer = await on.request(method, path, body, { who: 'nobody', headers })
  return { status: answer.status, text: await answer.text() }
}

/** Ana asks for a mail. Gives the session and the call that waits. */
async function waiting(on: Rig, who = ana): Promise<{ session: string; callId: string; hash: string }> {
  const made = await send(on, who, 'POST', '/operator/sessions', { agent: 'helper' })
  const { id: session } = JSON.parse(made.text)
  await send(on, who, 'POST', `/operator/sessions/${session}/commands`, { do: 'say', text: 'Write to Bo.' })
  for (;;) {
    const { calls, status } = JSON.parse((await send(on, who, 'GET', `/operator/sessions/${session}`)).text)
    if (status === 'waiting') return { session, callId: calls[0].part.id, hash: calls[0].argsHash }
  }
}

/** Until nothing runs in the session. */
async function rest(on: Rig, session: string): Promise<void> {
  await until(async () => {
    const { status } = JSON.parse((await send(on, ana, 'GET', `/operator/sessions/${session}`)).text)
    return status === 'idle'
  })
}

/** How each wire says that the call is allowed. */
const wires: Record<string, (session: string, callId: string) => { path: string; body: object }> = {
  operator: (session, callId) => ({
    path: `/operator/sessions/${session}/commands`,
    body: { do: 'decide', callId, granted: true },
  }),
  aap: (session, callId) => ({
    path: `/sessions/${session}/turns`,
    body: {
      stream: 'none',
      messages: [{ role: 'tool_permission', toolCallId: callId, granted: true, by: 'ben' }],
    },
  }),
}

for (const [wire, toAllow] of Object.entries(wires))
  describe(`a call that two people have to allow, over ${wire}`, () => {
    test('runs at the second of them, and not for those who may not or who asked', async t => {
      const on = await open(t)
      const { session, callId } = await waiting(on)
      const { path, body } = toAllow(session, callId)
      const allow = (who: Person) => send(on, who, 'POST', path, body)
      for (const who of [joe, ana]) {
        const refused = await allow(who)
        assert.equal(refused.status, 403, refused.text)
        assert.match(refused.text, /2 people with the role/)
      }
      assert.ok((await allow(ben)).status < 300)
      assert.equal((await allow(ben)).status, 409)
      assert.deepEqual(on.runs, [])
      const shown = await send(on, ana, 'GET', `/operator/sessions/${session}`)
      assert.deepEqual(
        JSON.parse(shown.text).calls[0].votes.map(({ name }: Person) => name),
        ['ben'],
      )
      assert.ok((await allow(eve)).status < 300)
      await rest(on, session)
      assert.equal(on.runs.length, 1)
      const { events } = JSON.parse((await send(on, ana, 'GET', `/operator/sessions/${session}/events`)).text)
      const types = events.map(({ event }: { event: { type: string; by?: string } }) => event)
      const about = types
        .filter(({ type }: { type: string }) => type.startsWith('approval.'))
        .map(({ type, by }: { type: string; by?: string }) => [type, by].join(' ').trim())
      assert.deepEqual(about, [
        'approval.requested',
        'approval.refused joe',
        'approval.refused ana',
        'approval.voted ben',
        'approval.decided eve',
      ])
    })
  })

test('votes survive a restart', async t => {
  const on = await open(t)
  const { session, callId } = await waiting(on)
  const { path, body } = wires['operator']!(session, callId)
  await send(on, ben, 'POST', path, body)
  const again = await on.restart({ script: [{ text: 'Sent.' }] })
  assert.equal((await send(again, ben, 'POST', path, body)).status, 409)
  assert.ok((await send(again, eve, 'POST', path, body)).status < 300)
  await rest(again, session)
  assert.deepEqual(again.runs, [{ tool: 'mail', input: { to: 'bo' } }])
})

test('a key of another owner does not even learn that the call waits', async t => {
  const on = await open(t)
  const { session, callId } = await waiting(on)
  const alice = await on.request('POST', `/operator/sessions/${session}/commands`, {
    do: 'decide',
    callId,
    granted: true,
  })
  assert.equal(alice.status, 404)
})

test('nobody reaches a session of another owner, by any route of any wire', async t => {
  const marker = 'marker-of-acme'
  const on = await open(t, { model: scripted([{ text: marker }], { whenOver: 'repeat-last' }) })
  const made = await send(on, ana, 'POST', '/operator/sessions', { agent: 'helper' })
  const { id: session } = JSON.parse(made.text)
  await send(on, ana, 'POST', `/operator/sessions/${session}/commands`, { do: 'say', text: marker })
  await rest(on, session)
  const log = async () => (await send(on, ana, 'GET', `/operator/sessions/${session}/events`)).text
  const written = await log()
  const runtime = runtimeOf(on.turnwire)
  const keys = new Keys([])
  const host = await servedHost(
    runtime,
    await makeHost(runtime),
    keys,
    new ConsoleCookies(keys, runtime.vault),
  )
  const served = await new WireTable().serve(host)
  const routes = served
    .flatMap(({ routes: app, keyless }) => [...(app?.routes ?? []), ...(keyless?.routes ?? [])])
    .filter(({ method }) => method !== 'ALL')
  assert.ok(routes.length > 60, `${routes.length} routes`)
  const other = await bearer('mallory', ['finance'], 'evil')
  const names = [
    'session',
    'sessionId',
    'session_id',
    'id',
    'threadId',
    'thread_id',
    'chatId',
    'conversation',
  ]
  const body = Object.fromEntries([...names, 'previous_response_id', 'callId'].map(name => [name, session]))
  let reached = 0
  for (const { method, path } of routes) {
    const filled = path
      .replace(/:agent\b(\{[^}]*\})?/g, 'helper')
      .replace(/:\w+(\{[^}]*\})?/g, session)
      .replaceAll('*', session)
    const signal = AbortSignal.timeout(5_000)
    const init = { who: 'nobody' as const, headers: other, signal }
    const answer = await on.request(method, filled, method === 'GET' ? undefined : body, init)
    const text = await answer.text().catch(() => '')
    reached += 1
    assert.ok(!text.includes(marker), `${method} ${filled} answered ${answer.status}: ${text.slice(0, 300)}`)
  }
  assert.equal(reached, routes.length)
  assert.equal(await log(), written)
  assert.ok(written.includes(marker))
})
