// The operator API on a real server, used through the client SDK as the console uses it.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { newKey } from '../../../src/callers/keys.ts'
import {
  AapClient,
  type AapError,
  type FollowedItem,
  OperatorClient,
  type SessionChanged,
  vendorProtocols,
} from '../../../src/client/index.ts'
import { scripted, startServer, Turnwire, tool } from '../../../src/index.ts'
import type { ScriptStep } from '../../../src/models/scripted/index.ts'

const mail = tool({
  name: 'send_mail',
  description: 'Sends a mail.',
  input: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] },
  run: ({ to }) => `sent to ${typeof to === 'string' ? to : ''}`,
})

const callMail = (to: string): ScriptStep => ({ calls: [{ name: 'send_mail', input: { to } }] })

type RigOptions = { steps?: ScriptStep[]; keys?: ReturnType<typeof newKey>['entry'][]; data?: string }

async function serverOf(t: TestContext, { steps = [], keys, data = 'memory' }: RigOptions = {}) {
  const model = scripted({ steps: steps.length > 0 ? steps : [{ text: 'Hello.' }] })
  const turnwire = await Turnwire.open({
    data,
    models: { other: scripted({ steps: [{ text: 'From another model.' }], whenOver: 'repeat-last' }) },
    agents: [{ name: 'helper', model, tools: [mail] }],
    server: { ...(keys && { keys }), graceMs: 100 },
  })
  const server = await startServer(turnwire, { port: 0 })
  t.after(() => server.stop())
  const client = new OperatorClient({ baseUrl: server.url, retries: 0 })
  return { url: server.url, client }
}

/** Follows until `enough` holds of what came. */
async function followed(
  client: OperatorClient,
  id: string,
  enough: (items: FollowedItem[]) => boolean,
): Promise<FollowedItem[]> {
  const items: FollowedItem[] = []
  for await (const item of client.follow(id)) {
    items.push(item)
    if (enough(items)) break
  }
  return items
}

const types = (items: readonly FollowedItem[]): string[] =>
  items.flatMap(item => (item.type === 'event' ? [item.event.type] : []))
const stopped =
  (status: string) =>
  (items: FollowedItem[]): boolean =>
    items.some(item => item.type === 'status' && item.status === status)

function refused(code: string): (error: unknown) => boolean {
  return error => (error as AapError).code === code
}

/** A stream that never says what is waited for fails its test, and does not hold up the others. */
const limited = { timeout: 120_000 }

test('a session is created, followed, decided about with an edit, and read', limited, async t => {
  const { client } = await serverOf(t, { steps: [callMail('ana'), { text: 'Done.' }] })
  const { id } = await client.create({ agent: 'helper' })
  await client.command(id, { do: 'say', text: 'Mail Ana' })
  await followed(client, id, stopped('waiting'))

  const { approvals, more } = await client.approvals()
  assert.equal(more, false)
  const [waiting] = approvals
  assert.ok(waiting)
  assert.deepEqual(
    [waiting.session, waiting.tool.name, waiting.text, waiting.opening],
    [id, 'send_mail', '{"to":"ana"}', 'Mail Ana'],
  )
  assert.ok(waiting.askedAt! > 0 && waiting.argsHash)
  const listed = (await client.sessions({ status: 'waiting' })).sessions[0]
  assert.deepEqual([listed?.id, listed?.waits, listed?.wire], [id, ['send_mail'], 'operator'])

  await assert.rejects(
    client.command(id, { do: 'decide', callId: waiting.callId, granted: true, seen: 'another' }),
    refused('stale_approval'),
  )
  await client.command(id, {
    do: 'decide',
    callId: waiting.callId,
    granted: true,
    edit: { to: 'bob' },
  })
  const items = await followed(client, id, stopped('idle'))
  assert.deepEqual(types(items).slice(-5), [
    'approval.decided',
    'call.started',
    'call.settled',
    'model.answered',
    'turn.ended',
  ])
  const settled = items.find(item => item.type === 'event' && item.event.type === 'call.settled')
  assert.match(JSON.stringify(settled), /sent to bob/)
  assert.deepEqual((await client.approvals()).approvals, [])
  const state = await client.session(id)
  assert.deepEqual([state.status, state.agent, state.calls.length], ['idle', 'helper', 0])
  const { events, end } = await client.events(id, 1)
  assert.deepEqual([events[0]?.seq, end], [2, true])
})

test('what was approved last for the same tool is shown beside the new arguments', limited, async t => {
  const { client } = await serverOf(t, { steps: [callMail('ana'), callMail('bob'), { text: 'Done.' }] })
  const { id } = await client.create({ agent: 'helper' })
  await client.command(id, { do: 'say', text: 'Mail both' })
  await followed(client, id, stopped('waiting'))
  const [first] = (await client.approvals()).approvals
  assert.equal(first?.last, undefined)
  const { first: seq } = await client.command(id, { do: 'decide', callId: first!.callId, granted: true })
  for await (const item of client.follow(id, { after: seq }))
    if (item.type === 'status' && item.status === 'waiting') break
  const [second] = (await client.approvals()).approvals
  assert.deepEqual([second?.text, second?.last?.text], ['{"to":"bob"}', '{"to":"ana"}'])
})

test('the list is filtered and paged, and changes are told live', limited, async t => {
  const { client } = await serverOf(t)
  const changes: SessionChanged[] = []
  const left = new AbortController()
  const opened = Promise.withResolvers<void>()
  const watching = (async () => {
    for await (const change of client.changes({ signal: left.signal })) {
      changes.push(change)
      if (change.type === 'open') opened.resolve()
      if (change.type === 'removed') return
    }
  })()
  await opened.promise
  const ids: string[] = []
  for (const text of ['find the red fox', 'a blue bird', 'the red door']) {
    const { id } = await client.create({ agent: 'helper' })
    ids.push(id)
    await client.command(id, { do: 'say', text })
    await followed(client, id, stopped('idle'))
  }
  const found = await client.sessions({ q: 'RED' })
  assert.deepEqual(
    found.sessions.map(({ id }) => id),
    [ids[2], ids[0]],
  )
  const one = await client.sessions({ limit: 2 })
  const two = await client.sessions({ limit: 2, after: one.next! })
  assert.deepEqual(
    [...one.sessions, ...two.sessions].map(({ id }) => id),
    ids.toReversed(),
  )
  assert.equal(two.next, undefined)
  assert.deepEqual((await client.sessions({ agent: 'nobody' })).sessions, [])
  await assert.rejects(client.sessions({ limit: 1000 }), refused('bad_request'))
  await client.remove(ids[1]!)
  await watching
  left.abort()
  const told = changes.flatMap(change => (change.type === 'session' ? [change.session] : []))
  assert.deepEqual([...new Set(told.map(({ id }) => id))], ids)
  assert.ok(told.some(({ status, opening }) => status === 'idle' && opening === 'a blue bird'))
  assert.deepEqual(changes.at(-1), { type: 'removed', id: ids[1] })
})

test(
  'a fork has the history up to an event, with results from the log, and runs nothing again',
  limited,
  async t => {
    const { client } = await serverOf(t, { steps: [callMail('ana'), { text: 'Done.' }] })
    const { id } = await client.create({ agent: 'helper' })
    await client.command(id, { do: 'say', text: 'Mail Ana' })
    const waiting = await followed(client, id, stopped('waiting'))
    const asked = waiting.flatMap(item => (item.type === 'event' ? [item.seq] : [])).at(-1)!
    const [{ callId } = { callId: '' }] = (await client.approvals()).approvals
    await client.command(id, { do: 'decide', callId, granted: true })
    await followed(client, id, stopped('idle'))

    const whole = await client.fork(id, { model: 'other', text: 'And now?' })
    await followed(client, whole.id, stopped('idle'))
    const state = await client.session(whole.id)
    assert.deepEqual(state.forkedFrom?.session, id)
    const { events } = await client.events(whole.id)
    assert.match(JSON.stringify(events[0]), /sent to ana/)
    assert.match(JSON.stringify(events.at(-2)), /From another model/)
    assert.equal(events.filter(({ event }) => event.type === 'call.started').length, 0)

    const early = await client.fork(id, { upTo: asked })
    const begun = await client.events(early.id)
    assert.match(JSON.stringify(begun.events[0]), /"kind":"abandoned"/)
    await assert.rejects(client.fork(id, { upTo: 10_000 }), refused('bad_request'))
  },
)

test(
  'the next request is shown as each vendor would receive it, and breaks no rule of any',
  limited,
  async t => {
    const { client } = await serverOf(t, { steps: [callMail('ana'), { text: 'Done.' }] })
    const { id } = await client.create({ agent: 'helper' })
    await client.command(id, { do: 'say', text: 'Mail Ana' })
    await followed(client, id, stopped('waiting'))
    for (const protocol of vendorProtocols) {
      const { body, findings } = await client.request(id, protocol)
      assert.match(JSON.stringify(body), /Mail Ana/)
      assert.deepEqual(findings, [], protocol)
    }
    await assert.rejects(client.request(id, 'morse' as 'gemini'), refused('bad_request'))
  },
)

test('manual control: one action at a time, recorded under the name of the caller', limited, async t => {
  const { client } = await serverOf(t)
  const { id } = await client.create({ agent: 'helper' })
  await client.command(id, { do: 'take-control' })
  await client.command(id, { do: 'say', text: 'Hi' })
  assert.deepEqual((await client.session(id)).next.do, 'ask-model')
  await client.command(id, { do: 'answer-model', text: 'A person says hello.' })
  await client.command(id, { do: 'perform' })
  await client.command(id, { do: 'release-control' })
  const { events } = await client.events(id)
  assert.match(JSON.stringify(events), /A person says hello/)
  assert.deepEqual((await client.session(id)).status, 'idle')
})

test('a tool is tried through the gate with no model', limited, async t => {
  const { client } = await serverOf(t)
  const { id } = await client.create({ agent: 'helper' })
  await client.command(id, { do: 'call', tool: 'send_mail', input: { to: 'ana' } })
  await followed(client, id, stopped('waiting'))
  const [asked] = (await client.approvals()).approvals
  await client.command(id, { do: 'decide', callId: asked!.callId, granted: false, reason: 'not now' })
  const denied = await followed(client, id, stopped('idle'))
  assert.match(JSON.stringify(denied), /not now/)
})

test('a client tool is answered', limited, async t => {
  const { client } = await serverOf(t, {
    steps: [{ calls: [{ name: 'local_time', input: {} }] }, { text: 'It is late.' }],
  })
  const { id } = await client.create({
    agent: 'helper',
    tools: [{ name: 'local_time', description: 'The time.', parameters: { type: 'object' } }],
  })
  const { first } = await client.command(id, { do: 'say', text: 'What time is it?' })
  for await (const item of client.follow(id, { after: first }))
    if (item.type === 'status' && item.status === 'waiting') break
  const [call] = (await client.session(id)).calls
  await client.command(id, { do: 'result', callId: call!.part.id, text: '23:59' })
  const items = await followed(client, id, stopped('idle'))
  assert.match(JSON.stringify(items), /It is late/)
})

test('commands that make no sense are refused with what belongs there', limited, async t => {
  const { client, url } = await serverOf(t)
  const { id } = await client.create({ agent: 'helper' })
  const post = async (body: unknown): Promise<string> => {
    const answer = await fetch(`${url}/operator/sessions/${id}/commands`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    assert.equal(answer.status, 400)
    return answer.text()
  }
  assert.match(await post({ do: 'dance' }), /\\"do\\" must be one of: say, decide/)
  assert.match(await post({ do: 'say' }), /\\"text\\" must be a text/)
  assert.match(await post({ do: 'cancel', now: true }), /no field \\"now\\"/)
  await assert.rejects(client.session('ses_none'), refused('session_not_found'))
  await assert.rejects(client.create({ agent: 'nobody' }), refused('unknown_agent'))
})

test('an address of the console that is no file of it is 404', limited, async t => {
  const { url } = await serverOf(t)
  for (const path of [
    '%E0%A4%A',
    '..%2f..%2fpackage.json',
    'assets/../../package.json',
    'assets',
    '%00.js',
    'a\\b.js',
  ])
    assert.equal((await fetch(`${url}/console/${path}`)).status, 404, path)
})

test('the log is exported as JSON lines', limited, async t => {
  const { client, url } = await serverOf(t)
  const { id } = await client.create({ agent: 'helper' })
  await client.command(id, { do: 'say', text: 'Hi' })
  await followed(client, id, stopped('idle'))
  const text = await (await fetch(url + client.exportPath(id))).text()
  const lines = text.trimEnd().split('\n')
  assert.deepEqual(
    lines.map(line => (JSON.parse(line) as { seq: number }).seq),
    lines.map((_, index) => index + 1),
  )
})

const ana = newKey('ana')
const boss = newKey('boss', true)

test('a key without the scope sees its own sessions only, and neither system nor keys', limited, async t => {
  const { url } = await serverOf(t, { keys: [ana.entry, boss.entry] })
  const asAna = new OperatorClient({ baseUrl: url, apiKey: ana.key, retries: 0 })
  const asBoss = new OperatorClient({ baseUrl: url, apiKey: boss.key, retries: 0 })
  await assert.rejects(new OperatorClient({ baseUrl: url, retries: 0 }).me(), refused('unauthorized'))
  assert.deepEqual((await asAna.me()).operator, false)
  const theirs = await asBoss.create({ agent: 'helper' })
  const own = await asAna.create({ agent: 'helper', owner: 'boss' })
  assert.deepEqual(
    (await asAna.sessions()).sessions.map(({ id, owner }) => [id, owner]),
    [[own.id, 'ana']],
  )
  assert.equal((await asBoss.sessions()).sessions.length, 2)
  assert.equal((await asBoss.sessions({ owner: 'ana' })).sessions.length, 1)
  await assert.rejects(asAna.session(theirs.id), refused('session_not_found'))
  await assert.rejects(asAna.command(theirs.id, { do: 'say', text: 'x' }), refused('session_not_found'))
  assert.equal((await asBoss.session(own.id)).owner, 'ana')
  await assert.rejects(asAna.system(), refused('forbidden'))
  await assert.rejects(asAna.keys(), refused('forbidden'))
  const system = await asBoss.system()
  assert.equal(system.store.ok, true)
  assert.deepEqual(
    system.models.map(({ name, requests }) => [name, requests]),
    [
      ['other', 0],
      ['helper', 0],
    ],
  )
})

test(
  'a key without the scope cannot speak for the model or the tools of its own sessions',
  limited,
  async t => {
    const ran: string[] = []
    const hidden = tool({
      name: 'hidden',
      description: 'Not for clients.',
      exposed: false,
      input: { type: 'object' },
      run: () => void ran.push('hidden'),
    })
    const turnwire = await Turnwire.open({
      data: 'memory',
      agents: [
        {
          name: 'helper',
          system: 'The instructions.',
          model: scripted({ steps: [callMail('ana'), { text: 'Done.' }] }),
          tools: [mail, hidden],
          options: [
            { name: 'token', type: 'secret', default: 'sk-of-the-operator' },
            { name: 'mood', type: 'text', default: 'good' },
          ],
        },
      ],
      server: { keys: [ana.entry, boss.entry], graceMs: 100 },
    })
    const server = await startServer(turnwire, { port: 0 })
    t.after(() => server.stop())
    const asAna = new OperatorClient({ baseUrl: server.url, apiKey: ana.key, retries: 0 })
    const asBoss = new OperatorClient({ baseUrl: server.url, apiKey: boss.key, retries: 0 })
    const { id } = await asAna.create({ agent: 'helper' })
    await asAna.command(id, { do: 'say', text: 'Mail Ana' })
    await followed(asAna, id, stopped('waiting'))
    const [waiting] = (await asAna.approvals()).approvals
    const { callId } = waiting!
    const before = await asAna.session(id)
    for (const command of [
      { do: 'call', tool: 'hidden', input: {} },
      { do: 'call', tool: 'send_mail', input: { to: 'eve' } },
      { do: 'take-control' },
      { do: 'take-control', force: true },
      { do: 'perform' },
      { do: 'answer-model', text: 'I am the model.' },
      { do: 'answer-call', callId, text: 'It was sent.' },
      { do: 'replace-arguments', callId, input: { to: 'eve' } },
      { do: 'release-control' },
    ] as const)
      await assert.rejects(asAna.command(id, command), refused('forbidden'), command.do)
    await assert.rejects(
      asAna.command(id, { do: 'configure', tools: [{ name: 'hidden', trust: true }] }),
      refused('unknown_tool'),
    )
    for (const protocol of vendorProtocols)
      await assert.rejects(asAna.request(id, protocol), refused('forbidden'))
    assert.deepEqual([(await asAna.session(id)).seq, ran], [before.seq, []], 'nothing was recorded')

    const seen = await asAna.agents()
    assert.deepEqual(
      seen.agents.map(({ name, system, tools }) => [name, system, tools.map(each => each.name)]),
      [['helper', undefined, ['send_mail']]],
    )
    const whole = await asBoss.agents()
    assert.deepEqual(
      whole.agents.map(({ system, tools }) => [system, tools.map(each => each.name)]),
      [['The instructions.', ['send_mail', 'hidden']]],
    )
    for (const { agents } of [seen, whole])
      assert.deepEqual(
        agents[0]?.options.map(option => option.default),
        ['***', 'good'],
      )

    // What applications may do with their own sessions is done here too.
    await asAna.command(id, { do: 'decide', callId, granted: true })
    await followed(asAna, id, stopped('idle'))
    await asAna.fork(id)
    await asAna.remove(id)
  },
)

test(
  'a browser signs in with a key; the cookie counts with its secret only, and ends with the key',
  limited,
  async t => {
    const folder = mkdtempSync(join(tmpdir(), 'turnwire-operator-'))
    t.after(() => rmSync(folder, { recursive: true, force: true }))
    const { url } = await serverOf(t, { keys: [boss.entry], data: folder })
    const asBoss = new OperatorClient({ baseUrl: url, apiKey: boss.key, retries: 0 })
    const { key } = await asBoss.addKey('eve', true)
    await assert.rejects(asBoss.addKey('eve'), refused('bad_request'))
    const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
      fetch(url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      })
    assert.equal((await post('/operator/sign-in', { key: 'tw_wrong' })).status, 401)
    const signedIn = await post('/operator/sign-in', { key })
    assert.equal(signedIn.status, 200)
    const { secret } = (await signedIn.json()) as { secret: string }
    const given = signedIn.headers.get('set-cookie') ?? ''
    assert.match(given, /HttpOnly; SameSite=Strict/)
    const cookie = given.split(';')[0]!
    assert.ok(!cookie.includes(key) && !cookie.includes(secret))
    const withHeader = { cookie, 'x-turnwire-console': secret }
    const me = await fetch(`${url}/operator/me`, { headers: withHeader })
    assert.equal(((await me.json()) as { name: string }).name, 'eve')
    const other = (await (await post('/operator/sign-in', { key })).json()) as { secret: string }
    for (const headers of [
      { cookie },
      { cookie, 'x-turnwire-console': '1' },
      { cookie, 'x-turnwire-console': '' },
      { cookie, 'x-turnwire-console': other.secret },
      { 'x-turnwire-console': secret },
    ]) {
      for (const path of ['me', 'keys', 'sessions', 'changes'])
        assert.equal((await fetch(`${url}/operator/${path}`, { headers })).status, 401, path)
      assert.equal((await fetch(`${url}/sessions`, { headers })).status, 401)
      assert.equal((await post('/operator/sessions', { agent: 'helper' }, headers)).status, 401)
      assert.equal((await post('/operator/keys', { name: 'mallory', operator: true }, headers)).status, 401)
    }
    assert.equal((await post('/operator/sessions', { agent: 'helper' }, withHeader)).status, 201)
    // The other wires take it too.
    const fetchWithCookie: typeof fetch = (address, init) =>
      fetch(address, { ...init, headers: { ...(init?.headers as object), ...withHeader } })
    const aap = new AapClient({ baseUrl: url, fetch: fetchWithCookie })
    assert.ok(await aap.createSession({ agent: { name: 'helper' } }))
    assert.equal(
      (await fetch(`${url}/operator/me`, { headers: { ...withHeader, cookie: `${cookie}x` } })).status,
      401,
    )
    assert.deepEqual(
      (await asBoss.keys()).keys.map(({ name, operator, fixed }) => [name, operator, fixed]),
      [
        ['boss', true, true],
        ['eve', true, false],
      ],
    )
    await asBoss.removeKey('eve')
    assert.equal((await fetch(`${url}/operator/me`, { headers: withHeader })).status, 401)
    await assert.rejects(asBoss.removeKey('boss'), refused('not_found'))
  },
)

test('someone in control answers in place of the model, with words and with calls', async t => {
  const { client } = await serverOf(t)
  const { id } = await client.create({ agent: 'helper' })
  await client.command(id, { do: 'take-control' })
  await client.command(id, { do: 'say', text: 'Mail ana' })
  const calls = [{ tool: 'send_mail', input: { to: 'ana@example.org' } }]
  await client.command(id, { do: 'answer-model', text: 'I will.', calls })
  await client.command(id, { do: 'perform' })
  const { calls: waiting, next } = await client.session(id)
  assert.deepEqual([waiting[0]?.part.name, waiting[0]?.stage, next.do], ['send_mail', 'asking', 'wait'])
  await assert.rejects(client.command(id, { do: 'answer-model' }), { code: 'bad_request' })
})

test('an answer to a question that nobody asked is refused', async t => {
  const { client } = await serverOf(t)
  const { id } = await client.create({ agent: 'helper' })
  const answer = { do: 'answer', question: 'q_none', action: 'decline' } as const
  await assert.rejects(
    client.command(id, answer),
    (error: AapError) => error.status >= 400 && error.status < 500,
  )
})

test('a grant with patterns lets matching calls run, and asks about all others', limited, async t => {
  const { client } = await serverOf(t, {
    steps: [
      callMail('ana@example.org'),
      callMail('bob@example.org'),
      callMail('eve@evil.example,bob@example.org'),
      { text: 'Over.' },
    ],
  })
  const { id } = await client.create({ agent: 'helper' })
  await client.command(id, { do: 'say', text: 'Mail them' })
  await followed(client, id, stopped('waiting'))
  const [first] = (await client.approvals()).approvals
  const grant = { do: 'grant', tool: 'send_mail', toolHash: first!.toolHash! } as const
  for (const where of [{}, { to: '' }])
    await assert.rejects(client.command(id, { ...grant, where }), { status: 400 })
  await assert.rejects(client.command(id, { ...grant, where: { to: '*' }, argsHash: 'x' }), { status: 400 })
  await client.command(id, { ...grant, where: { to: '*@example.org' } })
  await client.command(id, { do: 'decide', callId: first!.callId, granted: true, seen: first!.argsHash! })
  await followed(client, id, items => types(items).filter(type => type === 'approval.requested').length === 2)
  const [second] = (await client.approvals()).approvals
  assert.match(second!.text, /eve@evil/)
  const { grants, calls } = await client.session(id)
  assert.deepEqual(grants[0]?.where, { to: '*@example.org' })
  assert.equal(calls.length, 1)
})

test(
  'a search leads to the event, rows are ordered and counted, and what was done is counted',
  limited,
  async t => {
    const { url } = await serverOf(t, { keys: [ana.entry, boss.entry] })
    const asAna = new OperatorClient({ baseUrl: url, apiKey: ana.key, retries: 0 })
    const asBoss = new OperatorClient({ baseUrl: url, apiKey: boss.key, retries: 0 })
    const ids: string[] = []
    for (const [client, text] of [
      [asAna, 'Where is my Zürich parcel?'],
      [asBoss, 'A parcel for Ghent'],
      [asBoss, 'Nothing of the kind'],
    ] as const) {
      const { id } = await client.create({ agent: 'helper' })
      ids.push(id)
      await client.command(id, { do: 'say', text })
      await followed(client, id, stopped('idle'))
    }
    const found = await asBoss.sessions({ q: 'zurich parc' })
    assert.deepEqual([found.total, found.behind, found.sessions.map(({ id }) => id)], [1, 0, [ids[0]]])
    const hit = found.sessions[0]?.found
    assert.ok(hit, 'the event is told')
    const { events } = await asBoss.events(ids[0]!, hit.seq - 1)
    assert.deepEqual([events[0]?.event.type, hit.in], ['turn.started', 'said'])
    assert.match(hit.text, /Zürich parcel/)
    assert.deepEqual(
      (await asAna.sessions({ q: 'parcel' })).sessions.map(({ id }) => id),
      [ids[0]],
      'nothing of another owner',
    )
    const oldest = await asBoss.sessions({ sort: 'created', ascending: true, limit: 2 })
    assert.deepEqual([oldest.total, oldest.sessions.map(({ id }) => id)], [3, ids.slice(0, 2)])
    const rest = await asBoss.sessions({ sort: 'created', ascending: true, limit: 2, after: oldest.next! })
    assert.deepEqual(
      [rest.total, rest.next, rest.sessions.map(({ id }) => id)],
      [undefined, undefined, ids.slice(2)],
    )
    assert.equal((await asBoss.sessions({ to: 1 })).total, 0)
    await assert.rejects(asBoss.sessions({ after: 'x' }), refused('bad_request'))

    const { all, agents, slots, slotMs } = await asBoss.activity({ days: 1, zone: 60 })
    assert.deepEqual([all.turns.turns, all.turns.failed, agents.map(({ name }) => name)], [3, 0, ['helper']])
    assert.equal(slotMs, 3_600_000)
    assert.equal(
      slots.reduce((sum, { turns }) => sum + turns.turns, 0),
      3,
    )
    await assert.rejects(asAna.activity(), refused('forbidden'))
    await assert.rejects(asBoss.activity({ days: 0 }), refused('bad_request'))
  },
)

test('a turn that failed or was stopped is told so in the list, as in the session', limited, async t => {
  const { client } = await serverOf(t, {
    steps: [{ fail: { code: 'model_failed', message: 'Overloaded.' } }],
  })
  const { id: failed } = await client.create({ agent: 'helper' })
  await client.command(failed, { do: 'say', text: 'Go' })
  await followed(client, failed, items => types(items).includes('turn.ended'))
  const { id: fresh } = await client.create({ agent: 'helper' })
  const { sessions } = await client.sessions()
  assert.deepEqual(
    sessions.map(({ id, stop }) => [id, stop]),
    [
      [fresh, undefined],
      [failed, 'error'],
    ],
  )
  assert.equal((await client.session(failed)).lastStop?.stop, 'error')
  const listed = await client.sessions({ status: 'failed' })
  assert.deepEqual(
    listed.sessions.map(({ id }) => id),
    [failed],
  )
})
