// One driver per wire: it starts a turn, decides about a call that waits, and says something more. A new wire needs one more
// object of this type, and one line in `wireDrivers`.
import type { TestContext } from 'node:test'
import type { RequestPermissionRequest, RequestPermissionResponse } from '@agentclientprotocol/sdk'
import { runtimeOf } from '../../src/library/turnwire.ts'
import { acpHost } from '../../src/server/acp.ts'
import { type ClientOptions, connect, cwd, type TestClient, textOf } from './acp/rig.ts'
import { readEvents, textIn } from './deltakit/reference-client.ts'
import { type Rig, type RigOptions, rig, until } from './rig.ts'

/** One runtime that serves every wire: those of its server over HTTP, and editors in this process. */
export type AllWires = Omit<Rig, 'restart'> & {
  edit(options?: ClientOptions): Promise<TestClient>
  restart(options?: RigOptions): Promise<AllWires>
}

export async function allWires(t: TestContext, options: RigOptions): Promise<AllWires> {
  return await withEditors(t, await rig(t, { serverTools: true, ...options }))
}

async function withEditors(t: TestContext, at: Rig): Promise<AllWires> {
  const host = await acpHost(runtimeOf(at.turnwire), { principal: { owner: 'alice', name: 'alice' } })
  return {
    ...at,
    edit: options => connect(t, host, options),
    restart: async options => withEditors(t, await at.restart(options)),
  }
}

/** What a client saw of a turn: its text, and the call that waits for an approval, as the question shows it. */
export type Shown = { text: string; asks?: string; question?: Question }
export type Question = { name?: unknown; input?: unknown; reason?: unknown }

export type WireDriver = {
  name: string
  /** Starts a session and its first turn. */
  start(at: AllWires, words: string): Promise<Shown & { sessionId: string }>
  /** Allows a call, or not, and shows what came of it. */
  decide(at: AllWires, sessionId: string, callId: string, granted: boolean): Promise<Shown>
  /** Says something in a session that exists. */
  say(at: AllWires, sessionId: string, words: string): Promise<Shown>
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

type Block = { type: string; text?: string; toolCallId?: string; name?: string; input?: unknown }
type Answer = {
  stopReason: string
  asks?: { reason?: string }[]
  messages: { role: string; content: string | Block[] }[]
}

async function aapTurn(at: AllWires, id: string, message: object): Promise<Shown> {
  const answer = await ok(at.request('POST', `/sessions/${id}/turns`, { messages: [message] }))
  const { stopReason, messages, asks: reasons } = (await answer.json()) as Answer
  const blocks = messages
    .filter(({ role }) => role === 'assistant')
    .flatMap(({ content }): Block[] =>
      typeof content === 'string' ? [{ type: 'text', text: content }] : content,
    )
  const call = stopReason === 'tool_use' ? blocks.findLast(({ type }) => type === 'tool_use') : undefined
  const { toolCallId: asks, name, input } = call ?? {}
  const question = { name, input, reason: reasons?.[0]?.reason }
  return {
    text: blocks.map(({ text }) => text ?? '').join(''),
    ...(asks !== undefined && { asks, question }),
  }
}

const aap: WireDriver = {
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
  const request = events.find(({ type }) => type === 'tool_approval_request')
  const asks = request?.['call_id']
  const question = deltakitQuestion(request)
  const sessionId = given.headers.get('x-session-id') ?? ''
  return { sessionId, text: textIn(events), ...(typeof asks === 'string' && { asks, question }) }
}

export function deltakitQuestion(request: Wire | undefined): Question {
  const { tool_name: name, argument, reason }: Partial<Wire> = request ?? {}
  return { name, input: typeof argument === 'string' ? (JSON.parse(argument) as unknown) : argument, reason }
}

const deltakit: WireDriver = {
  name: 'DeltaKit',
  start: (at, message) => deltakitShown(at.request('POST', '/api/chat', { message })),
  decide: (at, sessionId, call_id, approved) =>
    deltakitShown(at.request('POST', '/api/chat/answer', { sessionId, approvals: [{ call_id, approved }] })),
  say: (at, sessionId, message) => deltakitShown(at.request('POST', '/api/chat', { message, sessionId })),
}

// ---- AG-UI ------------------------------------------------------------------------------------------------------

async function aguiRun(at: AllWires, threadId: string, more: object): Promise<Shown & { sessionId: string }> {
  const input = { threadId, runId: fresh('run'), messages: [], tools: [], context: [], ...more }
  const answer = await ok(at.request('POST', '/agui/helper', input))
  const events = await readEvents(answer)
  type Metadata = { toolCallName: string; toolCallArgs: string }
  type Interrupts = { id: string; message: string; metadata?: Metadata }[]
  const outcome = events.at(-1)?.['outcome'] as { type: string; interrupts?: Interrupts } | undefined
  const { id: asks, metadata, message: reason } = outcome?.interrupts?.[0] ?? {}
  const shown = JSON.parse(metadata?.toolCallArgs ?? 'null') as unknown
  const question = { name: metadata?.toolCallName, input: shown, reason }
  const sessionId = answer.headers.get('x-session-id') ?? ''
  return {
    sessionId,
    text: texts(events, 'TEXT_MESSAGE_CONTENT'),
    ...(asks !== undefined && { asks, question }),
  }
}

const aguiWords = (content: string) => ({ messages: [{ id: fresh('m'), role: 'user', content }] })

const agui: WireDriver = {
  name: 'AG-UI',
  start: (at, words) => aguiRun(at, fresh('thread'), aguiWords(words)),
  decide: (at, id, interruptId, approved) =>
    aguiRun(at, id, { resume: [{ interruptId, status: 'resolved', payload: { approved } }] }),
  say: (at, id, words) => aguiRun(at, id, aguiWords(words)),
}

// ---- AI SDK UI --------------------------------------------------------------------------------------------------

async function uiChat(at: AllWires, id: string, message: object): Promise<Shown & { sessionId: string }> {
  const body = { id, messages: [{ id: fresh('m'), ...message }], trigger: 'submit-message' }
  const answer = await ok(at.request('POST', '/ui/helper', body))
  const events = await readEvents(answer)
  const request = events.find(({ type }) => type === 'tool-approval-request')
  const asks = request?.['toolCallId']
  const { toolName: name, input }: Partial<Wire> =
    events.findLast(({ type }) => type === 'tool-input-available') ?? {}
  const question = { name, input, reason: request?.['reason'] }
  const sessionId = answer.headers.get('x-session-id') ?? ''
  return { sessionId, text: texts(events, 'text-delta'), ...(typeof asks === 'string' && { asks, question }) }
}

const uiWords = (text: string) => ({ role: 'user', parts: [{ type: 'text', text }] })

const ui: WireDriver = {
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

// ---- Responses --------------------------------------------------------------------------------------------------

type Output = { type: string; id: string; name?: string; arguments?: string; content?: { text?: string }[] }

async function responsesShown(
  at: AllWires,
  body: object,
): Promise<Shown & { sessionId: string; responseId: string }> {
  const answer = await ok(at.request('POST', '/v1/responses', { model: 'helper', store: true, ...body }))
  const { id, output, conversation } = (await answer.json()) as {
    id: string
    output: Output[]
    conversation: { id: string }
  }
  const text = output.flatMap(({ content }) => content ?? []).map(part => part.text ?? '')
  const request = output.find(({ type }) => type === 'mcp_approval_request')
  const asks = request?.id.replace(/^mcpr_/, 'call_')
  const input = JSON.parse(request?.arguments ?? 'null') as unknown
  return {
    responseId: id,
    sessionId: conversation.id,
    text: text.join(''),
    ...(asks !== undefined && { asks, question: { name: request?.name, input } }),
  }
}

const approval = (callId: string, approve: boolean) => ({
  type: 'mcp_approval_response',
  approval_request_id: callId.replace(/^call_/, 'mcpr_'),
  approve,
})

const responses: WireDriver = {
  name: 'Responses',
  start: (at, input) => responsesShown(at, { input }),
  decide: (at, conversation, callId, granted) =>
    responsesShown(at, { conversation, input: [approval(callId, granted)] }),
  say: (at, conversation, input) => responsesShown(at, { conversation, input }),
}

// ---- ACP --------------------------------------------------------------------------------------------------------

const undecided = (): Promise<RequestPermissionResponse> => new Promise(() => {})

/** What was sent before has been read once a request that came after it is answered. */
const drained = (editor: TestClient): Promise<unknown> => editor.agent.request('session/list', { cwd })

async function opened(editor: TestClient, sessionId: string): Promise<void> {
  await editor.agent.request('session/load', { sessionId, cwd, mcpServers: [] })
  editor.updates.length = 0
}

function acpQuestion({ toolCall }: RequestPermissionRequest): Question {
  const [words] = toolCall.content ?? []
  const reason = words?.type === 'content' && words.content.type === 'text' ? words.content.text : undefined
  return { name: toolCall.title, input: toolCall.rawInput, reason }
}

const acp: WireDriver = {
  name: 'ACP',
  /** The editor stays, with its question open, until the turn has ended. */
  async start(at, words) {
    const editor = await at.edit({ permission: undecided })
    const sessionId = await editor.newSession()
    const prompt = editor.prompt(sessionId, words)
    void prompt.catch(() => undefined).then(() => editor.close())
    await Promise.race([prompt, until(() => editor.permissions.length > 0)])
    const asks = editor.permissions[0]?.toolCall.toolCallId
    return { sessionId, text: textOf(editor.updates), ...(asks !== undefined && { asks }) }
  },
  async decide(at, sessionId, callId, granted) {
    const editor = await at.edit({ permission: granted ? 'allow' : 'reject' })
    await opened(editor, sessionId)
    const { engine } = runtimeOf(at.turnwire)
    await until(async () => (await engine.summary({ owner: 'alice', session: sessionId })).status === 'idle')
    await drained(editor)
    const asked = editor.permissions.map(({ toolCall }) => toolCall.toolCallId)
    // The editor reads the session at its own pace; every answer here has text.
    if (asked.includes(callId)) await until(() => textOf(editor.updates) !== '')
    editor.close()
    if (!asked.includes(callId)) throw new Error(`410 the editor is asked about ${asked.join() || 'nothing'}`)
    const again = editor.permissions[1]
    return { text: textOf(editor.updates), ...(again && { question: acpQuestion(again) }) }
  },
  async say(at, sessionId, words) {
    const editor = await at.edit()
    await opened(editor, sessionId)
    await editor.prompt(sessionId, words)
    await drained(editor)
    editor.close()
    return { text: textOf(editor.updates) }
  },
}

// -----------------------------------------------------------------------------------------------------------------

export const wireDrivers: readonly WireDriver[] = [aap, deltakit, agui, ui, responses, acp]
