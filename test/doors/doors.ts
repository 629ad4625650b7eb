// The doors of one session, each as little as it takes to start a turn, to allow a call and to say something more. A new
// wire is one more object of this type, and one line in `doors`.
import { readEvents, textIn } from '../deltakit/reference-client.ts'
import type { Rig } from '../deltakit/rig.ts'

/** What a step through a door has shown: its text, and the call that waits for a permission. */
export type Shown = { text: string; asks?: string }

export type Door = {
  name: string
  /** Starts a session and its first turn. */
  start(at: Rig, words: string): Promise<Shown & { sessionId: string }>
  /** Allows a call, or not, and shows what came of it. */
  decide(at: Rig, sessionId: string, callId: string, granted: boolean): Promise<Shown>
  /** Says something in a session that exists. */
  say(at: Rig, sessionId: string, words: string): Promise<Shown>
}

let count = 0
function fresh(prefix: string): string {
  count += 1
  return `${prefix}-${count}`
}

async function ok(answer: Promise<Response>): Promise<Response> {
  const given = await answer
  if (!given.ok) throw new Error(`${given.status} ${await given.text()}`)
  return given
}

type Wire = { type: string; [member: string]: unknown }
const texts = (events: Wire[], type: string): string =>
  events
    .map(event => (event.type === type && typeof event['delta'] === 'string' ? event['delta'] : ''))
    .join('')

// ---- AAP --------------------------------------------------------------------------------------------------------

type Block = { type: string; text?: string; toolCallId?: string }
type Answer = { stopReason: string; messages: { role: string; content: string | Block[] }[] }

async function aapTurn(at: Rig, id: string, message: object): Promise<Shown> {
  const answer = await ok(at.request('POST', `/sessions/${id}/turns`, { messages: [message] }))
  const { stopReason, messages } = (await answer.json()) as Answer
  const blocks = messages
    .filter(({ role }) => role === 'assistant')
    .flatMap(({ content }): Block[] =>
      typeof content === 'string' ? [{ type: 'text', text: content }] : content,
    )
  const asks =
    stopReason === 'tool_use' ? blocks.findLast(({ type }) => type === 'tool_use')?.toolCallId : undefined
  return { text: blocks.map(({ text }) => text ?? '').join(''), ...(asks !== undefined && { asks }) }
}

const aap: Door = {
  name: 'AAP',
  async start(at, words) {
    const made = await ok(
      at.request('POST', '/sessions', { agent: { name: 'helper', tools: [{ name: 'mail' }] } }),
    )
    const { sessionId } = (await made.json()) as { sessionId: string }
    return { sessionId, ...(await aap.say(at, sessionId, words)) }
  },
  decide: (at, id, toolCallId, granted) => aapTurn(at, id, { role: 'tool_permission', toolCallId, granted }),
  say: (at, id, content) => aapTurn(at, id, { role: 'user', content }),
}

// ---- DeltaKit ---------------------------------------------------------------------------------------------------

async function deltakitShown(answer: Promise<Response>): Promise<Shown & { sessionId: string }> {
  const given = await ok(answer)
  const events = await readEvents(given)
  const asks = events.find(({ type }) => type === 'tool_approval_request')?.['call_id']
  const sessionId = given.headers.get('x-session-id') ?? ''
  return { sessionId, text: textIn(events), ...(typeof asks === 'string' && { asks }) }
}

const deltakit: Door = {
  name: 'DeltaKit',
  start: (at, message) => deltakitShown(at.request('POST', '/api/chat', { message })),
  decide: (at, sessionId, call_id, approved) =>
    deltakitShown(at.request('POST', '/api/chat/answer', { sessionId, approvals: [{ call_id, approved }] })),
  say: (at, sessionId, message) => deltakitShown(at.request('POST', '/api/chat', { message, sessionId })),
}

// ---- AG-UI ------------------------------------------------------------------------------------------------------

async function aguiRun(at: Rig, threadId: string, more: object): Promise<Shown & { sessionId: string }> {
  const input = { threadId, runId: fresh('run'), messages: [], tools: [], context: [], ...more }
  const answer = await ok(at.request('POST', '/agui/helper', input))
  const events = await readEvents(answer)
  type Outcome = { type: string; interrupts?: { id: string }[] } | undefined
  const asks = (events.at(-1)?.['outcome'] as Outcome)?.interrupts?.[0]?.id
  const sessionId = answer.headers.get('x-session-id') ?? ''
  return { sessionId, text: texts(events, 'TEXT_MESSAGE_CONTENT'), ...(asks !== undefined && { asks }) }
}

const aguiWords = (content: string) => ({ messages: [{ id: fresh('m'), role: 'user', content }] })

const agui: Door = {
  name: 'AG-UI',
  start: (at, words) => aguiRun(at, fresh('thread'), aguiWords(words)),
  decide: (at, id, interruptId, approved) =>
    aguiRun(at, id, { resume: [{ interruptId, status: 'resolved', payload: { approved } }] }),
  say: (at, id, words) => aguiRun(at, id, aguiWords(words)),
}

// ---- AI SDK UI --------------------------------------------------------------------------------------------------

async function uiChat(at: Rig, id: string, message: object): Promise<Shown & { sessionId: string }> {
  const body = { id, messages: [{ id: fresh('m'), ...message }], trigger: 'submit-message' }
  const answer = await ok(at.request('POST', '/ui/helper', body))
  const events = await readEvents(answer)
  const asks = events.find(({ type }) => type === 'tool-approval-request')?.['toolCallId']
  const sessionId = answer.headers.get('x-session-id') ?? ''
  return { sessionId, text: texts(events, 'text-delta'), ...(typeof asks === 'string' && { asks }) }
}

const uiWords = (text: string) => ({ role: 'user', parts: [{ type: 'text', text }] })

const ui: Door = {
  name: 'AI SDK UI',
  start: (at, words) => uiChat(at, fresh('chat'), uiWords(words)),
  decide: (at, id, toolCallId, approved) =>
    uiChat(at, id, {
      role: 'assistant',
      parts: [
        {
          type: 'tool-mail',
          toolCallId,
          state: 'approval-responded',
          input: {},
          approval: { id: toolCallId, approved },
        },
      ],
    }),
  say: (at, id, words) => uiChat(at, id, uiWords(words)),
}

// -----------------------------------------------------------------------------------------------------------------

export const doors: readonly Door[] = [aap, deltakit, agui, ui]
