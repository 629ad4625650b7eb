// Calls that programs and other agents make, on each wire, for a client that knows the wire's protocol and nothing else: it
// decides what to send from the last stream, or, without memory, from what the server shows of the conversation.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readEvents, type Wire } from './deltakit/reference-client.ts'
import {
  clipboardText,
  isGranted,
  type NestedScene,
  nestedRig,
  nestedScenes,
  questionScenes,
} from './nested-scenes.ts'
import { clipboard, type Rig, rig } from './rig.ts'

/** `stop`: what the turn waits for, or its last words. `ids`: what the client keeps. */
type Stop = { open: object[]; words: string }
type PlainClient = {
  name: string
  scenes: NestedScene[]
  start(at: Rig): Promise<Stop>
  /** What is open, as a client finds it that kept nothing but an id. Absent: the protocol has no way to ask. */
  look?(at: Rig): Promise<object[]>
  answer(at: Rig, open: object[]): Promise<Stop>
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '')
const parsed = (value: unknown): unknown => JSON.parse(text(value) || '{}')

async function ok(answer: Promise<Response>): Promise<Response> {
  const given = await answer
  assert.ok(given.ok, `${given.status} ${given.ok ? '' : await given.text()}`)
  return given
}

// ---- DeltaKit ---------------------------------------------------------------------------------------------------

function deltakit(): PlainClient {
  let sessionId = ''
  const stopOf = async (answer: Promise<Response>): Promise<Stop> => {
    const given = await ok(answer)
    sessionId ||= given.headers.get('x-session-id') ?? ''
    const events = await readEvents(given)
    const words = events.flatMap(event => (event.type === 'text_delta' ? [text(event['delta'])] : []))
    return { open: openIn(events), words: words.join('') }
  }
  const openIn = (events: Wire[]): Wire[] => {
    const settled = new Set(events.flatMap(event => (event.type === 'tool_result' ? [event['call_id']] : [])))
    const asks = ['tool_execute_request', 'tool_approval_request', 'tool_question']
    return events.filter(event => asks.includes(event.type) && !settled.has(event['call_id']))
  }
  return {
    name: 'DeltaKit',
    scenes: [...nestedScenes, ...questionScenes],
    start: at => stopOf(at.request('POST', '/api/chat', { message: 'Go on.', tools: [clipboard] })),
    look: async at => {
      const shown = await ok(at.request('GET', `/api/active-run?sessionId=${sessionId}`))
      const { events } = (await shown.json()) as { events: Wire[] }
      const open = openIn(events)
      const items = (await (
        await ok(at.request('GET', `/api/history?sessionId=${sessionId}`))
      ).json()) as Wire[]
      const pending = items.filter(({ type }) => type === 'function_call').map(item => item['call_id'])
      for (const event of open) assert.ok(pending.includes(event['call_id']), 'the history shows what waits')
      return open
    },
    answer: (at, open) => {
      const of = (type: string) => (open as Wire[]).filter(event => event.type === type)
      const body = {
        sessionId,
        results: of('tool_execute_request').map(({ call_id }) => ({ call_id, output: clipboardText })),
        approvals: of('tool_approval_request').map(({ call_id, tool_name, argument }) => ({
          call_id,
          approved: isGranted({ name: text(tool_name), input: parsed(argument) }),
        })),
        answers: of('tool_question').map(({ question_id }) => ({ question_id, action: 'decline' })),
      }
      return stopOf(at.request('POST', '/api/chat/answer', body))
    },
  }
}

// ---- AG-UI ------------------------------------------------------------------------------------------------------

type Interrupt = { id: string; reason: string; toolCallId: string }
type ToolCall = { id: string; name: string; args: string }

function agui(): PlainClient {
  // The client has the history. Messages are rebuilt from events, as @ag-ui/client does.
  const messages: object[] = [{ id: 'm1', role: 'user', content: 'Go on.' }]
  const calls = new Map<string, ToolCall>()
  const settled = new Set<unknown>()
  let runs = 0
  const forget = (): void => {
    messages.length = 0
    calls.clear()
    settled.clear()
  }
  const run = async (at: Rig, resume?: object[]): Promise<Stop> => {
    runs += 1
    const input = {
      threadId: 'thread',
      runId: `run-${runs}`,
      messages,
      tools: [clipboard],
      context: [],
      protocolVersion: '1.0',
      ...(resume && { resume }),
    }
    const events = await readEvents(await ok(at.request('POST', '/agui/helper', input)))
    let words = ''
    for (const event of events) {
      const id = text(event['toolCallId'])
      if (event.type === 'TEXT_MESSAGE_CONTENT') words += text(event['delta'])
      if (event.type === 'TOOL_CALL_START') {
        assert.ok(!calls.has(id), 'a call is shown once')
        calls.set(id, { id, name: text(event['toolCallName']), args: '' })
      }
      if (event.type === 'TOOL_CALL_ARGS') calls.get(id)!.args += text(event['delta'])
      if (event.type === 'TOOL_CALL_RESULT') {
        assert.ok(calls.has(id) && !settled.has(id), 'a call has one result')
        settled.add(id)
        messages.push({ id: event['messageId'], role: 'tool', toolCallId: id, content: event['content'] })
      }
    }
    const last = events.at(-1)!
    assert.equal(last.type, 'RUN_FINISHED', JSON.stringify(last))
    const { interrupts = [] } = last['outcome'] as { interrupts?: Interrupt[] }
    const own = [...calls.values()].filter(({ id, name }) => name === 'clipboard' && !settled.has(id))
    return { open: [...interrupts, ...own], words }
  }
  return {
    name: 'AG-UI',
    scenes: [...nestedScenes, ...questionScenes],
    start: run,
    look: async at => {
      forget()
      return (await run(at)).open
    },
    answer: (at, open) => {
      const resume: object[] = []
      for (const each of open as (Interrupt | ToolCall)[])
        if ('name' in each) {
          settled.add(each.id)
          messages.push({ id: `r-${each.id}`, role: 'tool', toolCallId: each.id, content: clipboardText })
        } else if (each.reason === 'tool_call') {
          const { name, args } = calls.get(each.toolCallId)!
          const approved = isGranted({ name, input: parsed(args) })
          resume.push({ interruptId: each.id, status: 'resolved', payload: { approved } })
        } else resume.push({ interruptId: each.id, status: 'cancelled' })
      return run(at, resume.length > 0 ? resume : undefined)
    },
  }
}

// ---- Responses --------------------------------------------------------------------------------------------------

type Item = {
  type: string
  id: string
  call_id: string
  name: string
  arguments?: string
  content?: Item[]
  text?: string
}
type Body = { id: string; status: string; output: Item[]; conversation: { id: string } }

function responses(by: 'previous response' | 'conversation'): PlainClient {
  let last: Body
  const tools = [{ type: 'function', strict: false, ...clipboard }]
  const openIn = (items: Item[]): Item[] => {
    const answered = new Set(
      items.flatMap(item => ('approval_request_id' in item ? [item.approval_request_id] : [])),
    )
    const outputs = new Set(
      items.flatMap(item => (item.type === 'function_call_output' ? [item.call_id] : [])),
    )
    return items.filter(
      ({ type, id, call_id }) =>
        (type === 'function_call' && !outputs.has(call_id)) ||
        (type === 'mcp_approval_request' && !answered.has(id)),
    )
  }
  const post = async (at: Rig, body: object): Promise<Stop> => {
    const request = { model: 'helper', store: true, tools, ...body }
    last = (await (await ok(at.request('POST', '/v1/responses', request))).json()) as Body
    assert.equal(last.status, 'completed')
    const words = last.output.flatMap(({ content = [] }) => content.map(part => text(part.text)))
    return { open: openIn(last.output), words: words.join('') }
  }
  return {
    name: `Responses, by ${by}`,
    scenes: [...nestedScenes, ...questionScenes],
    start: at => post(at, { input: 'Go on.' }),
    look: async at => {
      if (by === 'previous response') {
        const found = await ok(at.request('GET', `/v1/responses/${last.id}`))
        return openIn(((await found.json()) as Body).output)
      }
      const found = await ok(
        at.request('GET', `/v1/conversations/${last.conversation.id}/items?limit=100&order=asc`),
      )
      return openIn(((await found.json()) as { data: Item[] }).data)
    },
    answer: (at, open) => {
      const input = (open as Item[]).map(({ type, id, call_id, name, arguments: args }) =>
        type === 'function_call'
          ? { type: 'function_call_output', call_id, output: clipboardText }
          : {
              type: 'mcp_approval_response',
              approval_request_id: id,
              approve: isGranted({ name, input: parsed(args) }),
            },
      )
      const place =
        by === 'conversation' ? { conversation: last.conversation.id } : { previous_response_id: last.id }
      return post(at, { ...place, input })
    },
  }
}

// -----------------------------------------------------------------------------------------------------------------

const clients = [deltakit, agui, () => responses('previous response'), () => responses('conversation')]

for (const make of clients)
  for (const memory of make().look ? ['with memory', 'without memory'] : ['with memory'])
    for (const scene of make().scenes)
      test(`${make().name}, ${memory}: ${scene.name}`, async t => {
        const client = make()
        const ran: string[] = []
        const options = { ...nestedRig(scene, ran), serverTools: true }
        let at = await rig(t, options)
        let stop = await client.start(at)
        assert.ok(stop.open.length > 0, 'the turn waits, and the client sees for what')
        for (let round = 0; stop.open.length > 0; round++) {
          if (round === 0 || memory === 'without memory') at = await at.restart(options)
          const open = memory === 'with memory' ? stop.open : await client.look!(at)
          assert.ok(open.length > 0, 'the client finds what waits')
          stop = await client.answer(at, open)
        }
        assert.match(stop.words, /All done\.$/)
        assert.deepEqual(ran.toSorted(), scene.ran)
      })
