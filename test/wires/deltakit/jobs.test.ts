// Background runs: started, read from the start or from where one was, cancelled, and found again after a restart.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cites } from '../../requirements/manifest.ts'
import { type Rig, rig, until } from '../rig.ts'
import { blocksOf, eventsOf, readEvents, textIn, type Wire } from './reference-client.ts'

type Started = { runId: string; job_id: string; status: string; sessionId: string }
type Job = {
  job_id: string
  status: string
  error?: string
  finished_at?: string
  created_at: string
  waiting?: true
}

async function start(at: Rig, body: object = {}): Promise<Started> {
  const answer = await at.request('POST', '/api/jobs', { message: 'go', ...body })
  assert.equal(answer.status, 200)
  return (await answer.json()) as Started
}

const events = (at: Rig, id: string, query = '', headers?: Record<string, string>): Promise<Response> =>
  at.request('GET', `/api/jobs/${id}/events${query}`, undefined, headers && { headers })
const job = async (at: Rig, id: string): Promise<Job> =>
  (await (await at.request('GET', `/api/jobs/${id}`)).json()) as Job

type Numbered = { id: number; event: Wire }

/** Blocks with their numbers; the last must be [DONE], without one. */
async function numbered(answer: Response): Promise<Numbered[]> {
  const blocks = await blocksOf(answer)
  assert.equal(blocks.pop(), 'data: [DONE]')
  return blocks.map(block => {
    const [, id, data] = /^id: (\d+)\ndata: (.*)$/.exec(block) ?? []
    return { id: Number(id), event: JSON.parse(data!) as Wire }
  })
}

const script = [
  {
    thinking: 'hm, let me see',
    text: 'Looking it up now. ',
    calls: [{ name: 'search', input: { q: 'a' } }],
    chunk: 3,
  },
  { text: 'It was found where it was lost.', chunk: 5 },
]

test(cites('DK-JOB-01', 'DK-JOB-02', 'DK-JOB-03', 'a run from its start to done'), async t => {
  const at = await rig(t, { script })
  const { runId, job_id, status, sessionId } = await start(at)
  assert.equal(runId, job_id)
  assert.equal(status, 'pending')
  assert.ok(runId.startsWith(sessionId))
  const all = await numbered(await events(at, runId))
  assert.deepEqual(
    all.map(({ id }) => id),
    all.map((_, index) => index),
  )
  assert.deepEqual(all.at(-1)?.event, { type: 'done' })
  const text = textIn(all.map(({ event }) => event))
  assert.equal(text, 'Looking it up now. It was found where it was lost.')
})

test(
  cites('DK-JOB-04', 'DK-JOB-05', 'the same events have the same numbers, from any starting point'),
  async t => {
    const at = await rig(t, { script })
    const { runId } = await start(at)
    const live = await numbered(await events(at, runId))
    assert.deepEqual(await numbered(await events(at, runId)), live)
    for (const { id } of live) {
      const rest = live.slice(id + 1)
      assert.deepEqual(await numbered(await events(at, runId, `?last_event_id=${id}`)), rest)
      assert.deepEqual(await numbered(await events(at, runId, '', { 'last-event-id': String(id) })), rest)
    }
    assert.deepEqual(await numbered(await events(at, runId, '?last_event_id=-1')), live)
    assert.equal((await events(at, runId, '?last_event_id=first')).status, 400)
  },
)

test(cites('DK-JOB-05', 'a reader that was cut off in mid-answer continues where it was'), async t => {
  const at = await rig(t, {
    script: [
      { text: 'one two three four ', calls: [{ name: 'slow' }], chunk: 1 },
      { text: 'five six', chunk: 1 },
    ],
  })
  const { runId } = await start(at)
  const seen: Wire[] = []
  let last = -1
  const gone = new AbortController()
  const answer = await at.request('GET', `/api/jobs/${runId}/events`, undefined, { signal: gone.signal })
  for await (const event of eventsOf(answer)) {
    last += 1
    seen.push(event)
    if (event['delta'] === 'two ') break
  }
  gone.abort()
  at.release()
  const rest = await numbered(await events(at, runId, `?last_event_id=${last}`))
  assert.equal(rest[0]?.id, last + 1)
  const text = textIn([...seen, ...rest.map(({ event }) => event)])
  assert.equal(text, 'one two three four five six')
})

test(cites('DK-JOB-06', 'the status of a job at each stage'), async t => {
  const at = await rig(t, { script: [{ calls: [{ name: 'slow' }] }, { text: 'ok' }] })
  const { runId, sessionId } = await start(at)
  const running = await job(at, runId)
  assert.deepEqual([running.job_id, running.status, running.finished_at], [runId, 'running', undefined])
  at.release()
  await until(async () => (await job(at, runId)).status === 'completed')
  const done = await job(at, runId)
  assert.ok(Date.parse(done.finished_at!) >= Date.parse(done.created_at))
  assert.equal((await start(at, { sessionId })).sessionId, sessionId)
})

test(cites('DK-JOB-07', 'a cancelled run ends with done'), async t => {
  const at = await rig(t, {
    script: [{ text: 'so far ', chunk: 3, calls: [{ name: 'slow' }] }, { text: 'never' }],
  })
  const { runId } = await start(at)
  await until(() => at.runs.length === 1)
  const watching = events(at, runId).then(numbered)
  const cancelled = await at.request('POST', `/api/jobs/${runId}/cancel`)
  assert.deepEqual([cancelled.status, await cancelled.json()], [200, { status: 'ok' }])
  const all = await watching
  assert.deepEqual(
    all.slice(-2).map(({ event }) => event),
    [{ type: 'stopped', reason: 'cancelled' }, { type: 'done' }],
  )
  assert.ok(all.some(({ event }) => event.type === 'tool_result'))
  assert.equal((await job(at, runId)).status, 'cancelled')
  assert.equal((await at.request('POST', `/api/jobs/${runId}/cancel`)).status, 200)
  assert.deepEqual(await numbered(await events(at, runId)), all)
})

test(cites('DK-JOB-07', 'cancelling a run that is over does not affect the next one'), async t => {
  const at = await rig(t, { script: [{ text: 'first' }, { calls: [{ name: 'slow' }] }, { text: 'second' }] })
  const first = await start(at)
  await readEvents(await events(at, first.runId))
  const second = await start(at, { sessionId: first.sessionId })
  await until(() => at.runs.length === 1)
  await at.request('POST', `/api/jobs/${first.runId}/cancel`)
  at.release()
  const all = await readEvents(await events(at, second.runId))
  assert.deepEqual(all.at(-1), { type: 'done' })
  assert.equal((await job(at, second.runId)).status, 'completed')
})

test(cites('DK-JOB-08', 'an unknown job'), async t => {
  const at = await rig(t)
  const { runId, sessionId } = await start(at)
  await readEvents(await events(at, runId))
  for (const id of [
    'nothing',
    'sess_none.2',
    `${sessionId}.1`,
    `${sessionId}.999`,
    `${sessionId}.0`,
    `${runId}0`,
    '%00.1',
  ])
    for (const [method, tail] of [
      ['GET', ''],
      ['GET', '/events'],
      ['POST', '/cancel'],
    ] as const) {
      const answer = await at.request(method, `/api/jobs/${id}${tail}`)
      assert.deepEqual([answer.status, await answer.json()], [404, { detail: 'Job not found' }], id + tail)
    }
})

test(
  cites('DK-JOB-14', 'the hook stops a run without a key: its id is enough, and good for nothing else'),
  async t => {
    const at = await rig(t, { script: [{ calls: [{ name: 'slow' }] }, { text: 'late' }] })
    const { runId, sessionId } = await start(at)
    await until(() => at.runs.length === 1)
    const keyless = (path: string, method = 'POST') => fetch(`${at.url}/api/jobs/${path}`, { method })
    const [session, first, owner, signed] = runId.split('.')
    const bob = Buffer.from('bob').toString('base64url')
    for (const id of [
      `${session}.${first}`,
      `${session}.${first}.${owner}`,
      `${session}.${first}.${bob}.${signed}`,
      `${session}.${Number(first) + 1}.${owner}.${signed}`,
      `${session}.${first}.${owner}.${'A'.repeat(43)}`,
    ])
      assert.equal((await keyless(`${id}/cancel`)).status, 401, id)
    assert.equal((await keyless(runId, 'GET')).status, 401)
    assert.equal((await keyless(`${runId}/events`, 'GET')).status, 401)
    assert.equal((await at.sessions.peek('alice', sessionId)).lastStop, undefined)
    const stopped = await keyless(`${runId}/cancel`)
    assert.deepEqual([stopped.status, await stopped.json()], [200, { status: 'ok' }])
    await until(async () => (await at.sessions.peek('alice', sessionId)).lastStop?.stop === 'cancelled')
  },
)

test(cites('DK-JOB-09', 'a run that fails'), async t => {
  const at = await rig(t, { script: [{ fail: { code: 'model_failed', message: 'The provider is away.' } }] })
  const { runId } = await start(at)
  const all = await numbered(await events(at, runId))
  assert.deepEqual(all.at(-1)?.event, {
    type: 'error',
    message: 'The provider is away.',
    code: 'model_failed',
  })
  const { status, error } = await job(at, runId)
  assert.deepEqual([status, error], ['failed', 'The provider is away.'])
})

test(cites('DK-JOB-10', 'a finished run is the same after a restart'), async t => {
  const at = await rig(t, { script })
  const { runId } = await start(at)
  const live = await numbered(await events(at, runId))
  const again = await at.restart()
  assert.deepEqual(await numbered(await events(again, runId)), live)
  assert.deepEqual(await numbered(await events(again, runId, '?last_event_id=4')), live.slice(5))
  assert.equal((await job(again, runId)).status, 'completed')
})

test(cites('DK-JOB-10', 'DK-JOB-11', 'a run that waits continues after a restart'), async t => {
  const waits = [{ text: 'May I? ', calls: [{ name: 'mail', input: { to: 'ana' } }] }, { text: 'Sent.' }]
  const first = await rig(t, { script: waits })
  const { runId, sessionId } = await start(first)
  await until(async () => (await job(first, runId)).waiting === true)
  const at = await first.restart()
  assert.equal((await job(at, runId)).status, 'running')
  const answer = await events(at, runId)
  const seen: Wire[] = []
  for await (const event of eventsOf(answer)) {
    seen.push(event)
    if (event.type !== 'tool_approval_request') continue
    await at.request('POST', '/api/chat/answer', {
      sessionId,
      stream: false,
      approvals: [{ call_id: event['call_id'], approved: true }],
    })
  }
  assert.deepEqual(
    seen.map(({ type }) => type),
    ['text_delta', 'text_delta', 'tool_call', 'tool_approval_request', 'tool_result', 'text_delta', 'done'],
  )
  assert.deepEqual(at.runs, [{ tool: 'mail', input: { to: 'ana' } }])
})

test(cites('DK-JOB-12', 'several readers, early and late, see the same'), async t => {
  const at = await rig(t, {
    script: [
      { text: 'a b c ', calls: [{ name: 'slow' }], chunk: 1 },
      { text: 'd e f', chunk: 1 },
    ],
  })
  const { runId } = await start(at)
  const early = events(at, runId).then(numbered)
  await until(() => at.runs.length === 1)
  const middle = events(at, runId).then(numbered)
  const gone = new AbortController()
  await at.request('GET', `/api/jobs/${runId}/events`, undefined, { signal: gone.signal })
  gone.abort()
  at.release()
  const all = await early
  assert.deepEqual(await middle, all)
  assert.deepEqual(await numbered(await events(at, runId)), all)
})

test(cites('DK-JOB-13', 'the active run is found until it is over'), async t => {
  const at = await rig(t, { script: [{ text: 'a b ', calls: [{ name: 'slow' }] }, { text: 'c' }] })
  const { runId, sessionId } = await start(at)
  await until(() => at.runs.length === 1)
  type Active = { run_id: string | null; status: string | null; message: string | null; events: Wire[] }
  const active = async (): Promise<Active> =>
    (await (await at.request('GET', `/api/active-run?sessionId=${sessionId}`)).json()) as Active
  const { run_id, status, message, events: soFar } = await active()
  assert.deepEqual([run_id, status, message], [runId, 'running', 'go'])
  assert.deepEqual(
    soFar.map(({ type }) => type),
    ['run_started', 'text_delta', 'text_delta', 'tool_call'],
  )
  at.release()
  await readEvents(await events(at, runId))
  assert.deepEqual(await active(), { run_id: null, status: null, message: null, events: [] })
})

test(cites('DK-JOB-05', 'DK-JOB-10', 'a stream that breaks off takes no number of the run'), async t => {
  const at = await rig(t, {
    script: [{ text: 'one two three ', calls: [{ name: 'slow' }], chunk: 4 }, { text: 'four' }],
  })
  const { runId } = await start(at)
  await until(() => at.runs.length === 1)
  const answer = await events(at, runId)
  const read = (async () => {
    let text = ''
    try {
      for await (const piece of answer.body!.pipeThrough(new TextDecoderStream())) text += piece
    } catch {
      return { text, broken: true }
    }
    return { text, broken: false }
  })()
  const again = await at.restart()
  again.release()
  const { text, broken } = await read
  const blocks = text.split('\n\n').filter(block => block.startsWith('id: ') || block.startsWith('data: '))
  assert.match(blocks.at(-1) ?? '', /^data: \{"type":"error",/)
  assert.ok(broken, 'the client sees that the stream broke off')
  assert.ok(!text.includes('[DONE]'))
  const last = blocks.length - 2
  const rest = await numbered(await events(again, runId, `?last_event_id=${last}`))
  const whole = await numbered(await events(again, runId))
  assert.deepEqual(rest, whole.slice(last + 1))
  assert.equal(textIn(whole.map(({ event }) => event)), 'one two three four')
})
