// Streams of every wire that can be resumed, on nodes that do not have the session: live and in order while the turn is at work,
// and from every id exactly the suffix that is missing, the same on every node.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AllWires } from '../wires/all-wires.ts'
import { until } from '../wires/rig.ts'
import { framesOf } from '../wires/stateless/rig.ts'
import { type WireNodes, wireNodes } from './wire-nodes.ts'

const text = 'one two three four five six seven eight'

type Started = { sessionId: string; runId: string }

type ResumableStream = {
  name: string
  /** Starts a turn in the background, which goes on until the test releases it. */
  start(at: AllWires): Promise<Started>
  /** The stream after this id; undefined: all of it. It ends with the turn. */
  open(at: AllWires, run: Started, after?: string): Promise<Response>
  /** The id of a frame, if it has one. */
  idOf: (frame: string) => string | undefined
  /** What frames say, if the same can be said in fewer or more of them. */
  meaning?: (frames: readonly string[]) => unknown
}

async function json<Body>(answer: Promise<Response>): Promise<Body> {
  const given = await answer
  if (!given.ok) throw new Error(`${given.status} ${await given.text()}`)
  return (await given.json()) as Body
}

const idLine = (frame: string): string | undefined => /^id: ?(\S+)$/m.exec(frame)?.[1]

const streams: readonly ResumableStream[] = [
  {
    name: 'AAP',
    async start(at) {
      const tools = [{ name: 'slow', trust: true }]
      const { sessionId } = await json<{ sessionId: string }>(
        at.request('POST', '/sessions', { agent: { name: 'helper', tools } }),
      )
      void at.request('POST', `/sessions/${sessionId}/turns`, {
        messages: [{ role: 'user', content: 'Go.' }],
      })
      return { sessionId, runId: '' }
    },
    open: (at, { sessionId }, after = '0') =>
      at.request('GET', `/sessions/${sessionId}/events`, undefined, { headers: { 'last-event-id': after } }),
    idOf: idLine,
  },
  {
    name: 'DeltaKit',
    async start(at) {
      const body = await json<{ job_id?: string; run_id?: string; sessionId: string }>(
        at.request('POST', '/api/jobs', { message: 'Go.' }),
      )
      return { sessionId: body.sessionId, runId: body.run_id ?? body.job_id ?? '' }
    },
    open: (at, { runId }, after) =>
      at.request('GET', `/api/jobs/${runId}/events`, undefined, {
        headers: after === undefined ? {} : { 'last-event-id': after },
      }),
    idOf: idLine,
  },
  {
    name: 'Responses',
    async start(at) {
      const body = { model: 'helper', input: 'Go.', background: true, store: true }
      const { id, conversation } = await json<{ id: string; conversation: { id: string } }>(
        at.request('POST', '/v1/responses', body),
      )
      return { sessionId: conversation.id, runId: id }
    },
    open: (at, { runId }, after) =>
      at.request(
        'GET',
        `/v1/responses/${runId}?stream=true${after === undefined ? '' : `&starting_after=${after}`}`,
      ),
    idOf: frame => /"sequence_number":(\d+)/.exec(frame)?.[1],
    // Who comes late is given text that was said before as one piece.
    meaning: frames => {
      const said: unknown[] = []
      for (const frame of frames) {
        const { sequence_number: _, ...event } = JSON.parse(frame.slice(frame.indexOf('data: ') + 6)) as Delta
        const last = said.at(-1) as Delta | undefined // `said` has nothing else.
        const isMore = typeof event.delta === 'string' && last?.item_id === event.item_id
        if (isMore && typeof last?.delta === 'string') last.delta += event.delta
        else said.push(event)
      }
      return said
    },
  },
]

type Delta = { sequence_number?: number; type: string; item_id?: string; delta?: string }

/** Frames of a stream up to the one that ends the turn; AAP's own goes on for ever. */
async function framesUntilEnd(answer: Response): Promise<string[]> {
  assert.equal(answer.status, 200)
  let whole = ''
  const decoder = new TextDecoder()
  for await (const bytes of answer.body!) {
    whole += decoder.decode(bytes, { stream: true })
    if (/"type":"turn\.ended"[^\n]*\n\n/.test(whole)) break
  }
  return whole.split('\n\n').filter(frame => frame !== '' && !frame.startsWith(':'))
}

/** Durable frames: what a client can go on after. */
const numbered = ({ idOf }: ResumableStream, frames: readonly string[]): string[] =>
  frames.filter(frame => idOf(frame) !== undefined)

async function checkStream(wire: ResumableStream, { a, b, c, holder }: WireNodes): Promise<void> {
  const run = await wire.start(a)
  assert.equal(await holder(run.sessionId), 'a')
  await until(() => a.runs.some(({ tool }) => tool === 'slow'))
  // The turn is in the middle of its call: these see the rest live.
  const opened = await Promise.all([a, b, c].map(at => wire.open(at, run)))
  a.release()
  const [first = [], ...others] = await Promise.all(opened.map(framesUntilEnd))
  const all = numbered(wire, first)
  assert.ok(all.length > 4, `${all.length} frames`)
  const meaning = wire.meaning ?? (frames => frames)
  for (const other of others) assert.deepEqual(meaning(numbered(wire, other)), meaning(all))
  for (const [index, frame] of all.slice(0, -1).entries())
    for (const at of [b, c]) {
      const id = wire.idOf(frame)!
      const rest = numbered(wire, await framesUntilEnd(await wire.open(at, run, id)))
      assert.ok(rest.every(each => Number(wire.idOf(each)) > Number(id)))
      assert.deepEqual(meaning([...all.slice(0, index + 1), ...rest]), meaning(all), `after ${id}`)
    }
}

for (const wire of streams)
  test(`${wire.name}: a stream on another node is live, in order, and resumed by exactly its suffix`, async t => {
    const nodes = await wireNodes(t, {
      script: [
        { text: 'Wait. ', calls: [{ name: 'slow', input: {} }] },
        { text, chunk: 4 },
      ],
    })
    await checkStream(wire, nodes)
  })

test('AI SDK UI: a chat that was begun on one node is joined on another, from its first step', async t => {
  const { a, b } = await wireNodes(t, {
    script: [
      { text: 'Wait. ', calls: [{ name: 'slow', input: {} }] },
      { text, chunk: 4 },
    ],
  })
  const message = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Go.' }] }
  const body = { id: 'chat-1', messages: [message], trigger: 'submit-message' }
  const started = await a.request('POST', '/ui/helper', body)
  await until(() => a.runs.some(({ tool }) => tool === 'slow'))
  const joined = await b.request('GET', '/ui/helper/chat-1/stream')
  assert.equal(joined.status, 200)
  a.release()
  const said = async (answer: Response): Promise<string> =>
    (await framesOf(answer))
      .map(({ data }) => /"type":"text-delta"[^}]*"delta":"([^"]*)"/.exec(data)?.[1] ?? '')
      .join('')
  const [one, other] = await Promise.all([said(started), said(joined)])
  assert.equal(one, `Wait. ${text}`)
  assert.equal(other, one)
})
