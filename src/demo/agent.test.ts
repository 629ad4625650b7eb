import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { ToolContext } from '../engine/ports/index.ts'
import type { Json } from '../lib/json/index.ts'
import { Turnwire } from '../library/turnwire.ts'
import { contextFor } from '../testing/contracts/tool.ts'
import { demoConfig } from './agent.ts'
import { demoTools } from './tools.ts'

function folder(t: TestContext): string {
  const made = mkdtempSync(join(tmpdir(), 'turnwire-demo-test-'))
  t.after(() => rmSync(made, { recursive: true, force: true }))
  return made
}

function context(key: string, options: Record<string, string> = {}): ToolContext {
  return contextFor({ idempotencyKey: key, options })
}

async function use(data: string, name: string, input: Json, made = context('k')): Promise<string> {
  const found = demoTools(data).find(tool => tool.name === name) ?? assert.fail(name)
  const { parts } = await found.run(input, made)
  return parts.map(part => (part.type === 'text' ? part.text : part.type)).join('')
}

test('one message calls every kind of tool', async t => {
  const data = folder(t)
  const turnwire = await Turnwire.open(demoConfig({ data }))
  const session = await turnwire.session('helper', { options: { detail: 'full', api_token: 'hush' } })
  const asked = await session.send(
    'What is the weather in Paris, what is 17 * 23, add a note "buy milk", and mail ana@example.org that I am late',
  )
  assert.ok(asked.status === 'waiting')
  assert.deepEqual(
    asked.pending.map(call => [call.needs, call.tool]),
    [
      ['permission', 'add_note'],
      ['permission', 'send_mail'],
    ],
  )
  const answered = await session.answer({
    decisions: asked.pending.map(({ callId }) => ({ callId, granted: true, by: 'ana' })),
  })
  assert.match(answered.text, /Paris: \d+ °C, .*humidity \d+ %/)
  assert.match(answered.text, /17 \* 23 = 391/)
  assert.match(answered.text, /Noted: buy milk/)
  await turnwire.close()
  assert.match(readFileSync(join(data, 'notes.jsonl'), 'utf8'), /"text":"buy milk"/)
  const [mail = ''] = readdirSync(join(data, 'outbox'))
  const sent = readFileSync(join(data, 'outbox', mail), 'utf8')
  assert.match(sent, /^To: ana@example\.org\r$/m)
  assert.match(sent, /^X-Api-Token: given\r$/m)
  assert.ok(!sent.includes('hush'))
})

test('a call that runs twice with one idempotency key has one effect', async t => {
  const data = folder(t)
  for (let attempt = 0; attempt < 2; attempt += 1) {
    await use(data, 'add_note', { text: 'only once' })
    await use(data, 'send_mail', { to: 'a@b.example', body: 'once' })
  }
  assert.equal(readFileSync(join(data, 'notes.jsonl'), 'utf8').trim().split('\n').length, 1)
  assert.equal(readdirSync(join(data, 'outbox')).length, 1)
  await use(data, 'send_mail', { to: 'a@b.example', body: 'twice' }, context('another'))
  assert.equal(readdirSync(join(data, 'outbox')).length, 2)
})

test('notes are found by whole words; an empty query lists them', async t => {
  const data = folder(t)
  assert.equal(
    await use(data, 'search_notes', { query: 'is' }),
    await use(data, 'search_notes', { query: '' }),
  )
  assert.match(
    await use(data, 'search_notes', { query: 'About Lisbon?' }),
    /^2026-01-05: The train to Lisbon/,
  )
  assert.equal(await use(data, 'search_notes', { query: 'unicorns' }), 'No note speaks of "unicorns".')
})

test('a mail header cannot inject another header', async t => {
  const data = folder(t)
  await use(data, 'send_mail', { to: 'a@b.example', subject: 'x\r\nBcc: eve@evil.example', body: 'Grüße' })
  await use(data, 'send_mail', { to: 'a@b.example', subject: 'Grüße', body: '' }, context('umlaut'))
  const mails = readdirSync(join(data, 'outbox')).map(name =>
    readFileSync(join(data, 'outbox', name), 'utf8'),
  )
  assert.ok(mails.every(mail => !/^Bcc:/m.test(mail)))
  assert.ok(mails.some(mail => mail.includes('Subject: =?utf-8?B?R3LDvMOfZQ==?=')))
})

test('the weather is made up, but the same for the same city', async t => {
  const data = folder(t)
  assert.equal(
    await use(data, 'get_weather', { city: 'Oslo' }),
    await use(data, 'get_weather', { city: 'Oslo' }),
  )
  assert.match(await use(data, 'get_weather', { city: 'Rome' }), /^Rome: \d+ °C, [a-z ]+$/)
})

test('one tool is hidden from clients', async () => {
  const { agents, data } = demoConfig({ data: 'memory' })
  assert.equal(data, 'memory')
  assert.deepEqual(
    agents[0]?.tools?.filter(tool => !tool.exposed).map(tool => tool.name),
    ['clock'],
  )
  assert.deepEqual(
    agents[0]?.options?.map(option => option.type),
    ['text', 'select', 'secret'],
  )
})
