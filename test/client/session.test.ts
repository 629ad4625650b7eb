// A session as an application uses it: items, tools, approvals, a reload, several pages, against a real server.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { AapClient, type SessionItem, type SessionTurn, type TurnEnd } from '../../src/client/index.ts'
import { scripted, startServer, Turnwire, tool } from '../../src/index.ts'
import type { ScriptStep } from '../../src/models/scripted/index.ts'
import { clipboardText, isGranted, nestedRig, nestedScenes } from '../wires/nested-scenes.ts'
import { rig as chatRig } from '../wires/rig.ts'

const limited = { timeout: 120_000 }

const time = { name: 'local_time', description: 'The time.', parameters: { type: 'object', properties: {} } }
const callTime: ScriptStep = { calls: [{ name: 'local_time', input: {} }] }
const callBoth: ScriptStep = {
  text: 'Let me see.',
  calls: [
    { name: 'local_time', input: {} },
    { name: 'send_mail', input: { to: 'ana' } },
  ],
}

async function rig(t: TestContext, steps: ScriptStep[]) {
  const mails: string[] = []
  const mail = tool({
    name: 'send_mail',
    description: 'Sends a mail.',
    input: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] },
    run: (input, context) => {
      const to = typeof input['to'] === 'string' ? input['to'] : ''
      context.progress({ message: 'writing' })
      mails.push(to)
      return `sent to ${to}`
    },
  })
  const agents = [{ name: 'helper', model: scripted({ steps }), tools: [mail] }]
  const server = await startServer(await Turnwire.open({ agents, data: 'memory' }), { port: 0 })
  t.after(() => server.stop())
  const client = () => new AapClient({ baseUrl: server.url })
  const id = await client().createSession({
    agent: { name: 'helper', tools: [{ name: 'send_mail' }] },
    tools: [time],
  })
  return { mails, id, client, page: () => client().session(id) }
}

async function all(turn: SessionTurn): Promise<(SessionItem | TurnEnd)[]> {
  const items: (SessionItem | TurnEnd)[] = []
  for await (const item of turn) items.push(item)
  return items
}

test('a turn streams, runs the tools of the application, asks, and ends', limited, async t => {
  const { page, mails } = await rig(t, [callBoth, { text: 'It is 9:41, and Ana knows.' }])
  const asked: string[] = []
  const items = await all(
    page().send('Time? And tell Ana.', {
      tools: { local_time: () => '9:41' },
      onApproval: call => {
        asked.push(`${call.name} ${JSON.stringify(call.input)}`)
        return { granted: true, input: { to: 'bob' } }
      },
    }),
  )
  assert.deepEqual(asked, ['send_mail {"to":"ana"}'])
  assert.deepEqual(mails, ['bob'])
  const end = items.at(-1)
  assert.deepEqual(end, { type: 'done', stop: 'end', text: 'It is 9:41, and Ana knows.' })
  const text = items.flatMap(item => (item.type === 'text' ? [item.text] : [])).join('')
  assert.match(text, /Let me see.*Ana knows/s)
  const settled = items.flatMap(item =>
    item.type === 'call' && item.call.state === 'settled'
      ? [[item.call.name, item.call.outcome, item.call.output]]
      : [],
  )
  assert.deepEqual(
    new Set(settled),
    new Set([
      ['local_time', 'ok', '9:41'],
      ['send_mail', 'ok', 'sent to bob'],
    ]),
  )
  assert.ok(items.some(item => item.type === 'progress' && item.message === 'writing'))
})

test(
  'without someone to decide the turn waits, and a page that knows only the id goes on',
  limited,
  async t => {
    const { page, mails, id } = await rig(t, [callBoth, { text: 'Done.' }])
    const end = await page().send('Both, please.', { tools: { local_time: () => '9:41' } })
    assert.equal(end.type, 'waiting')
    assert.deepEqual(end.type === 'waiting' && end.pending.map(({ name, side }) => [name, side]), [
      ['send_mail', 'server'],
    ])
    const later = page()
    assert.equal(later.id, id)
    const rest = await later.resume({ onApproval: () => true })
    assert.deepEqual(rest, { type: 'done', stop: 'end', text: 'Done.' })
    assert.deepEqual(mails, ['ana'])
    assert.deepEqual(await later.resume(), { type: 'done', stop: 'end', text: '' })
  },
)

test('two pages have the session open: the tool runs in one of them', limited, async t => {
  const { page } = await rig(t, [callTime, { text: 'It is late.' }])
  const runs: string[] = []
  const tools = (name: string) => ({
    local_time: async () => {
      runs.push(name)
      await new Promise(resolve => setTimeout(resolve, 50))
      return '23:59'
    },
  })
  const first = all(page().send('What time is it?', { tools: tools('first') }))
  const second = (async () => {
    // It joins as soon as there is a turn.
    for (;;) {
      const items = await all(page().resume({ tools: tools('second') }))
      const end = items.at(-1)
      if (end?.type === 'done' && (end.text !== '' || runs.length > 0)) return items
    }
  })()
  const [one] = await Promise.all([first, second])
  assert.deepEqual(one.at(-1), { type: 'done', stop: 'end', text: 'It is late.' })
  assert.equal(runs.length, 1)
})

test('a call that another client has claimed is left alone until the claim is over', limited, async t => {
  const { page, id, client: newClient } = await rig(t, [callTime, { text: 'Done.' }])
  const end = await page().send('What time is it?')
  const callId = end.type === 'waiting' ? end.pending[0]!.id : ''
  const client = newClient()
  await client.claim(id, callId, 'gone', 300)
  await client.claim(id, callId, 'gone', 300)
  await assert.rejects(client.claim(id, callId, 'other'), { code: 'call_claimed' })
  assert.deepEqual(await page().resume({ tools: { local_time: () => '9:41' } }), {
    type: 'done',
    stop: 'end',
    text: 'Done.',
  })
  await assert.rejects(client.claim(id, callId, 'late'), { status: 400 })
})

test('a tool that throws, or takes too long, is told to the model', limited, async t => {
  const { page } = await rig(t, [callTime, callTime, { text: 'Then not.' }])
  let runs = 0
  const items = await all(
    page().send('What time is it?', {
      toolTimeoutMs: 50,
      tools: {
        local_time: (_input, { signal }) => {
          if (++runs === 1) throw new Error('no clock')
          return new Promise((_, reject) =>
            signal.addEventListener('abort', () => reject(signal.reason as Error)),
          )
        },
      },
    }),
  )
  const outputs = items.flatMap(item => (item.type === 'call' && item.call.output ? [item.call.output] : []))
  assert.match(outputs.join(), /no clock.*did not finish within 50 ms/s)
})

test('a signal cancels the turn at the server', limited, async t => {
  const { page } = await rig(t, [callBoth])
  const stop = new AbortController()
  const session = page()
  const turn = session.send('Both.', {
    signal: stop.signal,
    onApproval: () => {
      stop.abort()
      return new Promise<boolean>(() => {})
    },
  })
  const end = await turn
  assert.deepEqual([end.type, end.type === 'done' && end.stop], ['done', 'cancelled'])
})

test('a request that the server refuses is thrown, and a turn is read once', limited, async t => {
  const { page, client } = await rig(t, [callTime])
  const missing = client().session('ses_none')
  await assert.rejects(all(missing.send('Hi')), { code: 'session_not_found' })
  const turn = page().resume()
  await turn
  await assert.rejects(all(turn), /read once/)
})

test('what programs and other agents wait for is answered, also after a reload', limited, async t => {
  for (const scene of nestedScenes) {
    const ran: string[] = []
    const at = await chatRig(t, nestedRig(scene, ran))
    const fetchAs: typeof fetch = (input, init) =>
      fetch(input, { ...init, headers: { ...(init?.headers as Record<string, string>), ...at.headers() } })
    const client = () => new AapClient({ baseUrl: at.url, fetch: fetchAs })
    const agent = { name: 'helper', tools: [{ name: 'mail' }] }
    const tools = [{ name: 'clipboard', description: 'The clipboard.', parameters: { type: 'object' } }]
    const id = await client().createSession({ agent, tools })
    const first = await all(client().session(id).send('Go on.'))
    assert.equal(first.at(-1)?.type, 'waiting', scene.name)
    const rest = await all(
      client()
        .session(id)
        .resume({
          tools: { clipboard: () => clipboardText },
          onApproval: call => isGranted({ name: call.name, input: call.input }),
        }),
    )
    assert.deepEqual(rest.at(-1), { type: 'done', stop: 'end', text: 'All done.' }, scene.name)
    assert.deepEqual(ran.toSorted(), scene.ran)
  }
})
