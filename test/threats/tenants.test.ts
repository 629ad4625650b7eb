// Two tenants, known by bearer tokens, on one server: every route of the server's table is tried by one with everything that the
// other has. No answer shows anything of the other's, and afterwards everything of the other's is as it was. A route with a
// parameter that is not known here fails the test, so that new routes are tried too. WebSockets by token are at the end.
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { WebSocket } from 'ws'
import { OperatorClient } from '../../src/client/index.ts'
import { scripted, tool } from '../../src/index.ts'
import type { JsonObject } from '../../src/lib/json/index.ts'
import { Browser } from '../tools/mcp/accounts-rig.ts'
import { startAuthRig } from '../tools/mcp/authorization-server.ts'
import { type Answer, type ServerRig, serverRig } from './server-rig.ts'

const limited = { timeout: 300_000 }
/** In every text of the first tenant: her messages, arguments, results, names. */
const canary = 'CANARY7f3aACME'
const issuer = 'https://id.example/'

const look = tool({
  name: 'look',
  description: 'Looks.',
  input: { type: 'object' },
  readOnly: true,
  trust: 'trusted',
  outputLimit: 256,
  run: () => `${canary} `.repeat(2_000),
})
const mail = tool({
  name: 'mail',
  description: 'Sends.',
  input: { type: 'object', properties: { to: { type: 'string' } } },
  run: () => 'sent',
})

/** Looks when told so, mails when told so, else repeats nothing of what was said. */
const model = scripted(({ history }) => {
  const last = history.at(-1)
  const said = JSON.stringify(last)
  if (last?.role !== 'user') return { text: 'Done.' }
  if (said.includes('look')) return { calls: [{ name: 'look', input: {} }] }
  return said.includes('mail') ? { calls: [{ name: 'mail', input: { to: canary } }] } : { text: 'Hello.' }
})

type Tokens = (owner: string, roles?: string[]) => Promise<string>

async function tenants(t: TestContext): Promise<{ rig: ServerRig; token: Tokens }> {
  const auth = await startAuthRig(t)
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true })
  const keys = [{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256' }] as unknown as JsonObject[]
  const rig = await serverRig(t, {
    agents: [{ name: 'helper', model, tools: [look, mail], serveMcp: { tools: true } }],
    receipts: true,
    mcp: { notes: { url: auth.url, auth: { per: 'owner' } } },
    webhooks: { hook: { url: 'https://hook.example/x' } },
    server: {
      jwt: { issuer, audience: 'turnwire', keys, operatorRole: 'ops' },
      ...{ acp: true, heartbeatMs: 100 },
      perOwner: { requests: 100_000, streams: 1_000, sessions: 10_000, turns: 1_000 },
    },
  })
  const token: Tokens = (sub, roles = []) =>
    new SignJWT({ sub, roles })
      .setProtectedHeader({ alg: 'ES256', kid: 'one' })
      .setIssuer(issuer)
      .setAudience('turnwire')
      .setExpirationTime('1h')
      .sign(privateKey)
  const account = await new OperatorClient({ baseUrl: rig.url, apiKey: await token('acme') }).connect('notes')
  await new Browser().connect(auth, account, canary)
  return { rig, token }
}

/** Everything that a tenant can have, by what names it. */
type Belongings = {
  session: string
  waiting: string
  call: string
  waitingCall: string
  grant: string
  blob: string
  response: string
  conversation: string
  item: string
  job: string
  chat: string
  thread: string
}

async function settled(client: OperatorClient, id: string, text: string): Promise<void> {
  await client.command(id, { do: 'say', text })
  for await (const item of client.follow(id))
    if (item.type === 'status' && item.status !== 'running' && (await client.session(id)).seq > 2) return
}

/** The id that an answer names its object by. */
function readId(answer: JsonObject, member = 'id'): string {
  const id = answer[member]
  assert.ok(typeof id === 'string', JSON.stringify(answer))
  return id
}

async function settle(rig: ServerRig, token: string): Promise<Belongings> {
  const client = new OperatorClient({ baseUrl: rig.url, apiKey: token })
  const send = async (path: string, body: object): Promise<JsonObject> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const answer = await fetch(rig.url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    const text = await answer.text()
    assert.ok(answer.ok, `${path} ${answer.status} ${text}`)
    return text.startsWith('{') ? (JSON.parse(text) as JsonObject) : {}
  }
  const { id: session } = await client.create({ agent: 'helper' })
  await settled(client, session, `look ${canary}`)
  const { id: waiting } = await client.create({ agent: 'helper' })
  await settled(client, waiting, `mail ${canary}`)
  const { events } = await client.events(session)
  const ran = events.find(({ event }) => event.type === 'call.settled')?.event
  const [approval] = (await client.approvals()).approvals
  assert.ok(ran?.type === 'call.settled' && approval)
  const blob = JSON.stringify(events).match(/"blob":"([^"]+)"/)?.[1] ?? 'kept'
  const granted = await client.command(session, {
    do: 'grant',
    tool: 'mail',
    toolHash: approval.toolHash ?? '',
  })
  const chat = `chat-${canary}`
  const thread = `thread-${canary}`
  const response = await send('/v1/responses', { model: 'helper', input: canary, store: true })
  const conversation = await send('/v1/conversations', {
    items: [{ type: 'message', role: 'user', content: canary }],
  })
  const items = await fetch(`${rig.url}/v1/conversations/${readId(conversation)}/items`, {
    headers: { authorization: `Bearer ${token}` },
  })
  const [item] = ((await items.json()) as { data: { id: string }[] }).data
  const job = await send('/api/jobs', { message: canary })
  await send('/ui/helper', {
    id: chat,
    messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: canary }] }],
  })
  await send('/agui/helper', agui(thread))
  return {
    ...{ session, waiting, call: ran.callId, waitingCall: approval.callId, grant: granted.grant ?? '' },
    ...{ blob, chat, thread, item: item?.id ?? '' },
    response: readId(response),
    conversation: readId(conversation),
    job: readId(job, 'job_id'),
  }
}

function agui(thread: string): object {
  const messages = [{ id: 'm1', role: 'user', content: canary }]
  return { threadId: thread, runId: 'r1', messages, tools: [], context: [], state: {}, forwardedProps: {} }
}

/** The values of a route's parameters, of the first tenant. Throws for a parameter that this test does not know. */
function fill(path: string, of: Belongings): string {
  const id = path.startsWith('/v1/responses')
    ? of.response
    : path.startsWith('/v1/conversations')
      ? of.conversation
      : path.startsWith('/api/jobs')
        ? of.job
        : path.startsWith('/ui/')
          ? of.chat
          : of.session
  const values: Record<string, string> = {
    ...{ id, agent: 'helper', agentId: 'helper', token: 'x', callId: of.call, call: of.call },
    ...{ messageId: 'm1', message: 'm1', item: of.item, link: of.call, delivery: 'd1' },
    server: 'notes',
    name: path.includes('blobs') ? of.blob : path.includes('webhooks') ? 'hook' : 'acme',
  }
  return path
    .replace(/\/v1(?:beta)?\/models\/:\w+\{\.\+\}/, '/v1/models/helper')
    .replace(/:(\w+)\??/g, (_, name: string) => {
      assert.ok(values[name] !== undefined, `say what :${name} of ${path} is for another tenant`)
      return encodeURIComponent(values[name])
    })
    .replace(/\*$/, 'x')
}

const user = { messages: [{ role: 'user', content: 'hi' }] }

/** Right bodies that name what is the first tenant's, by the route's form. All of them are sent to every route that takes one. */
function bodies(of: Belongings): object[] {
  const { session, waiting, call, waitingCall, grant, chat, thread } = of
  const decision = { type: 'tool_permission', tool_call_id: waitingCall, granted: true }
  return [
    {},
    user,
    { ...user, id: chat, model: 'helper', max_tokens: 5 },
    { messages: [decision] },
    { id: chat, messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'hi' }] }] },
    { ...agui(thread), messages: [{ id: 'm2', role: 'user', content: 'hi' }] },
    { model: 'helper', input: 'hi', previous_response_id: of.response },
    { model: 'helper', input: 'hi', conversation: of.conversation },
    { items: [{ type: 'message', role: 'user', content: 'hi' }] },
    ...[session, waiting].map(sessionId => ({ message: 'hi', sessionId })),
    { sessionId: waiting, approvals: [{ toolCallId: waitingCall, approved: true }] },
    { sessionId: session },
    { do: 'say', text: 'hi' },
    { do: 'decide', callId: waitingCall, granted: true },
    { do: 'cancel' },
    { do: 'cancel-call', callId: waitingCall },
    { do: 'reconcile', callId: call },
    { do: 'revoke', grantId: grant },
    { do: 'configure', tools: [] },
    { text: 'hi' },
    { agent: 'helper', owner: 'acme' },
    { tool: 'mail', input: {}, session, owner: 'acme' },
    { name: 'acme', operator: true },
    { approver: 'beta' },
    { key: 'x' },
    { uri: 'x' },
    { jsonrpc: '2.0', id: 1, method: 'tasks/get', params: { taskId: waiting } },
    {
      jsonrpc: '2.0',
      id: 1,
      method: 'session/load',
      params: { sessionId: session, cwd: '/', mcpServers: [] },
    },
  ]
}

/** The answer, or the beginning of one that never ends. */
async function ask(url: string, method: string, token: string, body?: object): Promise<Answer> {
  const stop = new AbortController()
  const answer = await fetch(url, {
    method,
    signal: stop.signal,
    headers: {
      authorization: `Bearer ${token}`,
      accept: 'application/json, text/event-stream',
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  })
  let text = ''
  const isStream = answer.headers.get('content-type')?.includes('event-stream') === true
  const decoder = new TextDecoder()
  for await (const piece of answer.body ?? []) {
    text += decoder.decode(piece as Uint8Array, { stream: true })
    // Heartbeats come after what there was to say.
    if (isStream && text.length > 2_000) break
    if (isStream && (text.match(/^:/gm)?.length ?? 0) > 1) break
  }
  stop.abort()
  return { status: answer.status, headers: {}, text }
}

/** The server signs each log a moment after its turn, by itself. */
const isNotSignature = (line: string): boolean => !line.includes('"type":"log.signed"')

/** Everything of this owner, as an operator sees it. */
async function everythingOf(rig: ServerRig, operator: string, owner: string): Promise<string> {
  const client = new OperatorClient({ baseUrl: rig.url, apiKey: operator })
  const { sessions } = await client.sessions({ owner, limit: 100 })
  const logs = await Promise.all(
    sessions
      .map(({ id }) => id)
      .sort()
      .map(async id => [id, ...(await (await client.export(id)).text()).split('\n').filter(isNotSignature)]),
  )
  const [keys, webhooks, connections] = await Promise.all(
    ['keys', 'webhooks', 'connections'].map(
      async name => (await ask(`${rig.url}/operator/${name}`, 'GET', operator)).text,
    ),
  )
  assert.ok(logs.length >= 6, `${logs.length} sessions`)
  assert.match(connections ?? '', /"owner":"acme"/)
  return JSON.stringify([logs, keys, webhooks, connections], undefined, 1)
}

/** Ids that are the server's own choice: with one of someone else's the answer is always a refusal. */
const named = /:(?:id|callId|call|item|link|delivery|messageId)\b/
/** Ids that each tenant chooses, so that the same one names something of their own; and what is no tenant's. */
const ownNames = /^\/(?:ui|v1\/models|v1beta|approvals|sessions\/:id$|compare)/

describe('a tenant', () => {
  test('sees and changes nothing of another’s on any route', limited, async t => {
    const { rig, token } = await tenants(t)
    const [acme, beta, ops] = [await token('acme'), await token('beta'), await token('watch', ['ops'])]
    const hers = await settle(rig, acme)
    for (const [name, value] of Object.entries(hers)) assert.ok(value !== '' && value !== 'undefined', name)
    const before = await everythingOf(rig, ops, 'acme')
    assert.ok(before.split(canary).length > 10, 'the canary is in what she has')
    const query = new URLSearchParams({
      ...{ owner: 'acme', sessionId: hers.session, session: hers.session, q: canary, type: 'full' },
      ...{ runId: hers.job, protocol: 'anthropic', threadId: hers.thread },
    })
    let tried = 0
    for (const { method, path } of rig.routes) {
      const filled = fill(path, hers)
      const methods = method === 'ALL' ? ['GET', 'POST', 'DELETE'] : [method]
      for (const each of methods)
        for (const search of each === 'GET' ? ['', `?${query}`] : [''])
          for (const body of each === 'POST' || each === 'PUT' ? bodies(hers) : [undefined]) {
            const answer = await ask(rig.url + filled + search, each, beta, body)
            const where = `${each} ${path}${search} ${JSON.stringify(body) ?? ''} → ${answer.status}`
            tried += 1
            // An answer may repeat what was asked for: the names that were sent.
            const shown = answer.text
              .replaceAll(hers.chat, '')
              .replaceAll(hers.thread, '')
              .replaceAll(encodeURIComponent(canary), '')
            if (!search.includes(canary) || answer.status < 400) assert.ok(!shown.includes(canary), where)
            assert.ok(answer.status < 500, `${where} ${answer.text}`)
            if (named.test(path) && !ownNames.test(path))
              assert.ok(answer.status >= 400, `${where} ${answer.text}`)
          }
    }
    assert.ok(tried > 1_000, `${tried} requests`)
    assert.equal(await everythingOf(rig, ops, 'acme'), before, 'everything of hers is as it was')
    // The same names are her own, and still work.
    for (const path of [`/operator/sessions/${hers.session}`, `/v1/responses/${hers.response}`])
      assert.equal((await ask(rig.url + path, 'GET', acme)).status, 200)
    const receipt = `/operator/sessions/${hers.session}/receipts/${hers.call}`
    assert.equal((await ask(rig.url + receipt, 'GET', acme)).status, 200)
    assert.equal((await ask(rig.url + receipt, 'GET', beta)).status, 404)
  })

  const frames: Record<string, (of: Belongings) => object[]> = {
    '/api/ws': of => [{ message: 'hi', sessionId: of.session }],
    '/api/ws/helper': of => [{ message: 'hi', sessionId: of.waiting }],
    '/v1/responses': of => [
      {
        type: 'response.create',
        response: { model: 'helper', input: 'hi', previous_response_id: of.response },
      },
    ],
    '/acp': of => [
      { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: 1, clientCapabilities: {} } },
      {
        jsonrpc: '2.0',
        id: 2,
        method: 'session/load',
        params: { sessionId: of.session, cwd: '/', mcpServers: [] },
      },
    ],
  }
  for (const [path, make] of Object.entries(frames))
    test(`reaches ${path} with a token, and nothing of another’s there`, limited, async t => {
      const { rig, token } = await tenants(t)
      const [acme, beta, ops] = [await token('acme'), await token('beta'), await token('watch', ['ops'])]
      const hers = await settle(rig, acme)
      const before = await everythingOf(rig, ops, 'acme')
      await assert.rejects(socket(t, rig, path, `${beta}x`), /401/)
      const { send, got } = await socket(t, rig, path, beta)
      const wanted = make(hers)
      for (const frame of wanted) send(frame)
      const answers = await got(wanted.length)
      assert.match(answers.at(-1) ?? '', /not.?found|no such|unknown|error/i)
      assert.ok(!answers.join('').includes(canary))
      assert.equal(await everythingOf(rig, ops, 'acme'), before)
    })
})

async function socket(t: TestContext, rig: ServerRig, path: string, token: string) {
  const headers = { authorization: `Bearer ${token}` }
  const peer = new WebSocket(rig.url.replace('http', 'ws') + path, { headers })
  t.after(() => peer.terminate())
  const frames: string[] = []
  let tell = (): void => {}
  peer.on('message', data => {
    frames.push((data as Buffer).toString()) // A text frame is a buffer here.
    tell()
  })
  await new Promise((resolve, reject) => peer.once('open', resolve).once('error', reject))
  return {
    send: (frame: object) => peer.send(JSON.stringify(frame)),
    /** So many frames, once they have come. */
    got: (count: number) =>
      new Promise<string[]>(resolve => {
        tell = () => {
          if (frames.length >= count) resolve(frames)
        }
        tell()
      }),
  }
}
