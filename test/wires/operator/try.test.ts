// What the operator API makes of a recorded session: one thing changed and tried, a fork with another result, a case for evaluations.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { newKey } from '../../../src/callers/keys.ts'
import { type AapError, OperatorClient } from '../../../src/client/index.ts'
import { scripted, startServer, Turnwire, type TurnwireConfig, tool } from '../../../src/index.ts'
import { type Evals, runEvals } from '../../../src/testing/index.ts'

const limited = { timeout: 120_000 }
let ran = 0
const mail = tool({
  name: 'send_mail',
  description: 'Sends a mail.',
  input: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] },
  run: ({ to }) => {
    ran += 1
    return `sent to ${typeof to === 'string' ? to : ''}`
  },
})
/** Mails, then says what came of it. */
const model = scripted(({ history }) => {
  const last = history.at(-1)
  if (last?.role === 'user') return { calls: [{ name: 'send_mail', input: { to: 'ana' } }] }
  return { text: JSON.stringify(last).includes('sent to') ? 'It is sent.' : 'It is not sent.' }
})
const config: TurnwireConfig = {
  data: 'memory',
  models: { other: scripted({ steps: [{ text: 'From another model.' }], whenOver: 'repeat-last' }) },
  agents: [{ name: 'helper', model, tools: [mail] }],
}

async function sessionOf(t: TestContext) {
  const person = newKey('person')
  const operator = newKey('boss', true)
  const turnwire = await Turnwire.open({ ...config, server: { keys: [person.entry, operator.entry] } })
  const server = await startServer(turnwire, { port: 0 })
  t.after(() => server.stop())
  const clientOf = (apiKey: string) => new OperatorClient({ baseUrl: server.url, apiKey, retries: 0 })
  const [client, hers] = [clientOf(operator.key), clientOf(person.key)]
  const { id } = await hers.create({ agent: 'helper' })
  const rests = async (status: string): Promise<void> => {
    for await (const item of client.follow(id))
      if (item.type === 'status' && item.status === status && (await client.session(id)).seq > 2) return
  }
  await hers.command(id, { do: 'say', text: 'Mail Ana' })
  await rests('waiting')
  const callId = (await client.approvals()).approvals[0]?.callId ?? ''
  await client.command(id, { do: 'decide', callId, granted: true })
  await rests('idle')
  ran = 0
  return { client, hers, id, callId }
}

const refused = (code: string) => (error: unknown) => (error as AapError).code === code

test(
  'one thing of a session is changed and tried: both sides, and nothing runs or is recorded',
  limited,
  async t => {
    const { client, hers, id, callId } = await sessionOf(t)
    const { seq } = await client.session(id)
    const result = { callId, text: 'The mailbox is full.', failed: true }
    const tried = await client.try(id, { at: 1, result })
    assert.equal(tried.left?.why, 'The result of send_mail was changed.')
    assert.match(JSON.stringify(tried.events.at(-2)), /It is not sent/)
    assert.deepEqual([tried.then.steps, tried.now.steps], [2, 2])
    const denied = await client.try(id, { at: 1, rules: '- { tool: send_mail, then: deny }' })
    assert.match(
      denied.differences[0]?.text ?? '',
      /^send_mail asked .* Now: denied \(tried\[0\]\)\. boss had allowed it/,
    )
    const other = await client.try(id, { at: 2, model: 'other' })
    assert.match(JSON.stringify(other.events), /From another model/)
    assert.equal(ran, 0)
    assert.equal((await client.session(id)).seq, seq)
    // It has the agent's instructions and asks models.
    await assert.rejects(hers.try(id, { at: 1, result }), refused('forbidden'))
    await assert.rejects(client.try(id, { at: seq + 1 }), refused('bad_request'))
    await assert.rejects(client.try(id, { at: 1, rules: '- tool: [' }), refused('bad_request'))
    await assert.rejects(client.try(id, { at: 1, model: 'none' }), refused('unknown_model'))
    await assert.rejects(client.try('sess_none', { at: 1 }), refused('session_not_found'))
  },
)

test(
  'a fork may have another result of a call, and the session it came from keeps its own',
  limited,
  async t => {
    const { hers, id, callId } = await sessionOf(t)
    const { events } = await hers.events(id)
    const upTo = events.find(({ event }) => event.type === 'call.settled')?.seq ?? 0
    const results = [{ callId, text: 'The mailbox is full.', failed: true }]
    const fork = await hers.fork(id, { upTo, results })
    const [created] = (await hers.events(fork.id)).events
    assert.match(JSON.stringify(created), /"kind":"error".*The mailbox is full/)
    assert.ok(!JSON.stringify(created).includes('sent to ana'))
    assert.deepEqual((await hers.events(id)).events, events)
    const early = hers.fork(id, { upTo: 2, results })
    await assert.rejects(early, refused('bad_request'))
  },
)

test('a session becomes a case for evaluations, which passes as it is', limited, async t => {
  const { hers, id } = await sessionOf(t)
  const text = await hers.evalCase(id)
  const folder = mkdtempSync(join(tmpdir(), 'eval-case-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'case.ts')
  const testing = pathToFileURL(resolve('src/testing/index.ts')).href
  writeFileSync(file, text.replace("'turnwire/testing'", JSON.stringify(testing)))
  const { default: evals } = (await import(pathToFileURL(file).href)) as { default: Evals }
  assert.deepEqual(evals.cases[0]?.expect.asks, ['send_mail'])
  const { ok, plays } = await runEvals(evals, config)
  assert.deepEqual([ok, plays[0]?.failures], [true, []])
})
