// Sessions over sockets against the strict doubles of the vendors, played again: each request is the same to the byte, and a change
// of the rules, the instructions or the model is found where it matters.
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { Agent, Session } from '../../src/engine/index.ts'
import type { Event } from '../../src/language/events.ts'
import { scripted } from '../../src/models/scripted/index.ts'
import { createGate } from '../../src/policy/index.ts'
import { readRecording } from '../../src/replay/recording.ts'
import { type ReplayOptions, replay } from '../../src/replay/replay.ts'
import { tool } from '../../src/tools/index.ts'
import { makeAgent, until } from '../engine/rig.ts'
import {
  begin,
  openTable,
  say,
  startVendors,
  type Table,
  tell,
  type Vendor,
  vendorNames,
} from '../models/rig.ts'

const input = { type: 'object', properties: { to: { type: 'string' } } }
const declared = { description: 'For a replay.', input }

function makeTools(run: (name: string) => string) {
  return [
    tool({ ...declared, name: 'find', readOnly: true, trust: 'trusted', run: () => run('find') }),
    tool({ ...declared, name: 'mail', trust: 'ask', run: () => run('mail') }),
  ]
}

const neverRun = (name: string): never => assert.fail(`A replay ran ${name}.`)

/** Looks something up, then sends a mail that a person allows, then answers. */
async function playTurn(table: Table, session: Session, vendor: Vendor): Promise<void> {
  const { vendors } = table
  say(vendors, session, vendor, { text: 'Let me see.', calls: [{ name: 'find', input: { to: 'Bo' } }] })
  say(vendors, session, vendor, { calls: [{ name: 'mail', input: { to: 'bo@example.org' } }] })
  say(vendors, session, vendor, { text: 'It is sent.' })
  await tell(session, 'Write to Bo.', vendor)
  const callId = session.state.batch[0]?.part.id ?? ''
  const decisions = [{ callId, granted: true, by: 'maria' }]
  await until(session, () => session.respond({ results: [], decisions }))
}

suite('sessions with five vendors', () => {
  let table: Table
  let events: Event[]
  let id = ''

  before(async () => {
    table = openTable(await startVendors(), { tools: makeTools(name => `${name} was run`) })
    const session = await begin(table, 'anthropic')
    for (const vendor of vendorNames) await playTurn(table, session, vendor)
    await session.flushed()
    id = session.id
    events = (await table.store.read(id)).map(({ event }) => event)
  })
  after(() => table.vendors.close())

  const play = (over: Partial<Agent> = {}, options: Partial<ReplayOptions> = {}) => {
    const agent = makeAgent({
      tools: makeTools(neverRun),
      agent: {
        model: ({ model = 'anthropic' }) => table.vendors.models[model as Vendor], // As in the recording.
        system: 'You are careful.',
        ...over,
      },
    })
    const log = events.map((event, index) => ({ seq: index + 1, event }))
    return replay(readRecording(id, log), { agents: [agent], ...options })
  }

  test('a session is played again with nothing outside, and every request is the same to the byte', async () => {
    const asked = () =>
      vendorNames.reduce((sum, name) => sum + table.vendors.doubles[name].exchanges.length, 0)
    const sent = asked()
    const { differences, left, requests, then, now } = await play()
    assert.deepEqual({ differences, left }, { differences: [], left: undefined })
    assert.deepEqual(requests, { compared: 15, byBytes: 15 })
    assert.deepEqual(now, then)
    assert.equal(asked(), sent, 'no vendor was asked')
  })

  test('other instructions are found in the bytes of each request, and the recorded answers still hold', async () => {
    const { differences, left } = await play({ system: 'You are quick.' })
    assert.equal(left, undefined)
    assert.equal(differences.length, 15)
    assert.match(differences[0]?.text ?? '', /^The bytes of the request differ, and its history does not/)
  })

  test('a rule that asks is reported with who had allowed it, and the session goes the same way', async () => {
    const gate = createGate({ rules: [{ tool: 'find', then: 'ask', reason: 'Looks into private mail.' }] })
    const { differences, left, now, then } = await play({ gate })
    assert.equal(left, undefined)
    assert.deepEqual(
      differences.map(({ text }) => text),
      Array.from({ length: 5 }, () => 'find ran unasked (operator-trust). Now: asked (policy[0]).'),
    )
    assert.deepEqual([then.asked, now.asked], [5, 10])
  })

  test('a rule that lets something run shows which person decided about it', async () => {
    const gate = createGate({ rules: [{ tool: 'mail', then: 'allow' }] })
    const { differences, now } = await play({ gate })
    assert.equal(
      differences[0]?.text,
      'mail asked (operator-trust). Now: ran unasked (policy[0]). maria had allowed it.',
    )
    assert.equal(now.asked, 0)
  })

  test('a rule that denies leads another way, of which the recorded model can say nothing', async () => {
    const gate = createGate({ rules: [{ tool: 'mail', then: 'deny', reason: 'No mail.' }] })
    const { left, differences, now } = await play({ gate })
    assert.equal(left?.why, 'The calls before this step came to something else than they did.')
    assert.equal(events[(left?.seq ?? 0) - 1]?.type, 'model.answered')
    const request = differences.find(({ about }) => about === 'request')
    const lines = request?.diff?.map(line => ('text' in line ? line.text.trim() : '')) ?? []
    assert.ok(lines.includes('"kind": "denied",'), lines.join('\n'))
    assert.equal(now.denied, 1)
  })

  test('another model is asked; its calls get the recorded results as long as they are the same, then none', async () => {
    const calls = [{ name: 'find', input: { to: 'Bo' } }]
    const model = scripted(
      [
        { calls, usage: { input: 10, output: 1 } },
        {
          expect: { results: [{ text: 'find was run' }] },
          calls: [{ name: 'mail', input: { to: 'eve@example.org' } }],
        },
        {
          expect: { results: [{ kind: 'ok', text: /was not run: this is a replay/ }] },
          text: 'Sent to Eve.',
        },
      ],
      { whenOver: 'repeat-last' },
    )
    const { left, now, newCalls } = await play({ model: () => model }, { live: true })
    assert.deepEqual(
      newCalls.map(({ tool, arguments: text, verdict }) => `${tool} ${text} ${verdict}`),
      ['mail {"to":"eve@example.org"} asked (operator-trust)'],
    )
    assert.equal(left?.why, 'The model made other calls: mail.')
    assert.equal(now.steps, 3 + 4, 'three in the first turn, and one in each of the others')
  })

  test('calls that are not recorded are simulated on request', async () => {
    const model = scripted([
      { calls: [{ name: 'find', input: { to: 'Cy' } }] },
      { expect: { results: [{ text: 'Cy is on leave' }] }, text: 'On leave.' },
    ])
    const simulate = { find: (input: unknown) => `${(input as { to: string }).to} is on leave` }
    const { left, log } = await play({ model: () => model }, { live: true, simulate })
    assert.equal(events[(left?.seq ?? 0) - 1]?.type, 'model.answered')
    const answers = log.filter(event => event.type === 'model.answered')
    assert.deepEqual(answers[1]?.parts, [{ type: 'text', text: 'On leave.' }])
  })
})
