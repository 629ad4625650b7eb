// What tools report, from the tool to the library and the log: live, with the outcome, and before a person decides.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { scripted, type Tool, type TurnItem, Turnwire, tool } from '../../src/index.ts'

const diffs = [{ path: 'a.txt', oldText: 'one', newText: 'two' }]

async function open(given: Tool, policy = {}) {
  const turnwire = await Turnwire.open({
    agents: [
      {
        name: 'a',
        model: scripted([{ calls: [{ name: given.name, input: {} }] }, { text: 'ok' }]),
        tools: [given],
      },
    ],
    policy,
    data: 'memory',
  })
  return { turnwire, session: await turnwire.session('a') }
}

async function itemsOf(turn: AsyncIterable<TurnItem>): Promise<TurnItem[]> {
  const items: TurnItem[] = []
  for await (const item of turn) items.push(item)
  return items
}

const base = { name: 'work', description: 'Works.', input: { type: 'object' } } as const

describe('reports', () => {
  test('are live items, and the last of each kind stays with the outcome', async t => {
    const work = tool({
      ...base,
      trust: 'trusted',
      run(_input, { report }) {
        report({ locations: [{ path: 'first' }] })
        report({ locations: [{ path: 'second', line: 2 }] })
        return { parts: [], structured: null, report: { diffs } }
      },
    })
    const { turnwire, session } = await open(work)
    t.after(() => turnwire.close())
    const items = await itemsOf(session.send('go'))
    const reports = items.flatMap(item => (item.type === 'report' ? [item.report] : []))
    assert.deepEqual(reports, [
      { locations: [{ path: 'first' }] },
      { locations: [{ path: 'second', line: 2 }] },
    ])
    const result = items.find(item => item.type === 'result')
    assert.deepEqual(result?.outcome.report, { locations: [{ path: 'second', line: 2 }], diffs })
  })

  test('may have rows, which the last report replaces and the log keeps', async t => {
    const columns = ['order', 'sum']
    const work = tool({
      ...base,
      trust: 'trusted',
      run(_input, { report }) {
        report({ rows: { columns, rows: [['1', '10']] } })
        report({ rows: { columns, rows: [['1', '10'], ['2']] } })
        return 'two orders'
      },
    })
    const { turnwire, session } = await open(work)
    t.after(() => turnwire.close())
    await session.send('go')
    const [outcome] = (await session.history()).flatMap(entry =>
      entry.role === 'tool' ? entry.results.map(result => result.outcome) : [],
    )
    assert.deepEqual(outcome?.report, {
      rows: {
        columns,
        rows: [
          ['1', '10'],
          ['2', ''],
        ],
      },
    })
  })

  test('of a tool that failed stay too', async t => {
    const work = tool({
      ...base,
      trust: 'trusted',
      run(_input, { report }) {
        report({ diffs })
        throw new Error('half way')
      },
    })
    const { turnwire, session } = await open(work)
    t.after(() => turnwire.close())
    const result = (await itemsOf(session.send('go'))).find(item => item.type === 'result')
    assert.equal(result?.outcome.kind, 'error')
    assert.deepEqual(result?.outcome.report, { diffs })
  })
})

describe('a preview', () => {
  test('is made of the input alone, redacted, and shown with the question', async t => {
    const seen: unknown[] = []
    const work = tool({
      ...base,
      preview(input, { callId, signal }) {
        seen.push([input, typeof callId, signal.aborted])
        return { diffs: [{ path: 'a', oldText: null, newText: 'PIN1' }] }
      },
      run: () => 'done',
    })
    const { turnwire, session } = await open(work, { redact: [{ name: 'pin', pattern: 'PIN[0-9]' }] })
    t.after(() => turnwire.close())
    const reply = await session.send('go')
    assert.equal(reply.status, 'waiting')
    const [pending] = reply.pending
    assert.deepEqual(pending?.preview, { diffs: [{ path: 'a', oldText: null, newText: '[redacted: pin]' }] })
    assert.deepEqual(seen, [[{}, 'string', false]])
    assert.equal((await session.approve(pending!.callId)).text, 'ok')
  })

  test('that fails leaves the question as it is, and one of a trusted tool is never made', async t => {
    let made = 0
    const failing = tool({
      ...base,
      preview() {
        made += 1
        throw new Error('no')
      },
      run: () => 'done',
    })
    const { turnwire, session } = await open(failing)
    t.after(() => turnwire.close())
    const reply = await session.send('go')
    assert.equal(reply.status === 'waiting' && reply.pending[0]?.preview, undefined)
    assert.equal(made, 1)
    const trusted = await open({ ...failing, trust: 'trusted' })
    t.after(() => trusted.turnwire.close())
    assert.equal((await trusted.session.send('go')).text, 'ok')
    assert.equal(made, 1)
  })
})
