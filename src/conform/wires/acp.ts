// The Agent Client Protocol, version 1, as an editor sees an agent.
import { type Check, hold, joinTexts, list, need, pick, text } from '../check.ts'
import type { RpcTrial } from '../rpc.ts'
import { askToCall, askToSay, newWord } from '../words.ts'

const cwd = process.cwd()
const hello = {
  protocolVersion: 1,
  clientCapabilities: {},
  clientInfo: { name: 'turnwire-conform', version: '1' },
}

async function initialize(at: RpcTrial, params: object = hello): Promise<unknown> {
  const answer = await at.request('initialize', params)
  return pick(answer, 'result')
}

async function newSession(at: RpcTrial): Promise<string> {
  need((await initialize(at)) !== undefined, 'initialize was refused.')
  const answer = await at.request('session/new', { cwd, mcpServers: [] })
  const id = text(answer, 'result', 'sessionId')
  need(id !== '', 'No session could be made.')
  return id
}

function prompt(at: RpcTrial, sessionId: string, words: string): Promise<unknown> {
  return at.request('session/prompt', { sessionId, prompt: [{ type: 'text', text: words }] })
}

function updates(at: RpcTrial): unknown[] {
  return at.frames
    .filter(frame => text(frame, 'method') === 'session/update')
    .map(frame => pick(frame, 'params', 'update'))
}

function chunks(at: RpcTrial): unknown[] {
  return updates(at).filter(update => text(update, 'sessionUpdate') === 'agent_message_chunk')
}

function saidIn(at: RpcTrial): string {
  return joinTexts(chunks(at), 'content', 'text')
}

function callUpdates(at: RpcTrial): unknown[] {
  return updates(at).filter(update => text(update, 'sessionUpdate').startsWith('tool_call'))
}

async function called(at: RpcTrial, tool: string, input: { text?: string } = {}): Promise<string> {
  const word = newWord()
  await prompt(at, await newSession(at), askToCall([[tool, { ...input }]], word))
  need(callUpdates(at).length > 0, `The agent did not call ${tool}.`)
  return word
}

type Option = { optionId: string; kind: string }

/** Answers each question with the option of this kind. */
function decide(at: RpcTrial, kind: string): unknown[] {
  const asked: unknown[] = []
  at.on('session/request_permission', params => {
    asked.push(params)
    const options = list(params, 'options') as Option[] // Only compared.
    const optionId = options.find(option => pick(option, 'kind') === kind)?.optionId
    return { outcome: optionId === undefined ? { outcome: 'cancelled' } : { outcome: 'selected', optionId } }
  })
  return asked
}

const lastStatus = (at: RpcTrial): string =>
  callUpdates(at)
    .map(update => text(update, 'status'))
    .findLast(status => status !== '') ?? ''

const base: readonly Check<RpcTrial>[] = [
  {
    id: 'ACP-BASE-02',
    clause: 'A line that is not JSON is answered with -32700 and id null.',
    async run(at) {
      await at.raw('{"jsonrpc": "2.0", "id": 1, "met')
      hold(pick(await at.answerTo(null), 'error', 'code') === -32700, 'the code -32700')
    },
  },
  {
    id: 'ACP-BASE-05',
    clause: 'An unknown request is answered with -32601.',
    async run(at) {
      await initialize(at)
      hold(pick(await at.request('no/such/method', {}), 'error', 'code') === -32601, 'the code -32601')
    },
  },
  {
    id: 'ACP-BASE-06',
    clause: 'An unknown notification is ignored.',
    async run(at) {
      await initialize(at)
      await at.notify('no/such/notification', {})
      const answer = await at.request('session/new', { cwd, mcpServers: [] })
      hold(text(answer, 'result', 'sessionId') !== '', 'an answer to the request that follows')
      hold(!at.frames.some(frame => pick(frame, 'error') !== undefined), 'no error')
    },
  },
  {
    id: 'ACP-BASE-07',
    clause: 'Missing or wrong required parameters are answered with -32602.',
    async run(at) {
      await initialize(at)
      hold(pick(await at.request('session/new', {}), 'error', 'code') === -32602, 'the code -32602')
    },
  },
  {
    id: 'ACP-INIT-01',
    clause: 'The version asked for is answered if it is 1.',
    run: async at => hold(pick(await initialize(at), 'protocolVersion') === 1, 'protocolVersion 1'),
  },
  {
    id: 'ACP-INIT-02',
    clause: 'Another version is answered with 1, the latest that is served.',
    async run(at) {
      const version = pick(await initialize(at, { ...hello, protocolVersion: 999 }), 'protocolVersion')
      hold(typeof version === 'number' && version < 999, 'the latest version that the agent has')
    },
  },
  {
    id: 'ACP-INIT-03',
    clause: 'Capabilities say what is served and nothing else; agentInfo names the agent.',
    async run(at) {
      const result = await initialize(at)
      hold(typeof pick(result, 'agentCapabilities') === 'object', 'agentCapabilities')
      hold(Array.isArray(pick(result, 'authMethods') ?? []), 'authMethods, a list')
    },
  },
]

const sessions: readonly Check<RpcTrial>[] = [
  {
    id: 'ACP-SESS-01',
    clause: 'session/new answers with a session id; cwd must be absolute.',
    async run(at) {
      await initialize(at)
      const answer = await at.request('session/new', { cwd, mcpServers: [] })
      need(pick(answer, 'error', 'code') !== -32000, 'The agent wants its user to sign in.')
      hold(text(answer, 'result', 'sessionId') !== '', 'sessionId')
      const relative = await at.request('session/new', { cwd: 'not/absolute', mcpServers: [] })
      hold(pick(relative, 'error', 'code') === -32602, 'the code -32602 for a relative cwd')
    },
  },
  {
    id: 'ACP-SESS-02',
    clause: 'session/load replays the whole conversation as updates, then answers.',
    async run(at) {
      const capabilities = pick(await initialize(at), 'agentCapabilities')
      need(pick(capabilities, 'loadSession') === true, 'The agent does not load sessions.')
      const made = await at.request('session/new', { cwd, mcpServers: [] })
      const [sessionId, word] = [text(made, 'result', 'sessionId'), newWord()]
      await prompt(at, sessionId, askToSay(word))
      at.frames.length = 0
      const answer = await at.request('session/load', { sessionId, cwd, mcpServers: [] })
      hold(pick(answer, 'result') !== undefined, 'a result')
      hold(saidIn(at).includes(word), `updates that say ${word}`, updates(at))
    },
  },
  {
    id: 'ACP-SESS-05',
    clause: 'An unknown session is -32002 with its id in data.',
    async run(at) {
      await initialize(at)
      const error = pick(await prompt(at, 'no-such-session', 'Hello'), 'error')
      hold(pick(error, 'code') === -32002, 'the code -32002')
    },
  },
  {
    id: 'ACP-PROM-01',
    clause: 'A prompt is answered when the turn is over, with its stop reason, after all updates.',
    async run(at) {
      const [session, word] = [await newSession(at), newWord()]
      const answer = await prompt(at, session, askToSay(word))
      hold(text(answer, 'result', 'stopReason') === 'end_turn', 'stopReason end_turn')
      const before = at.frames.slice(0, at.frames.indexOf(answer))
      hold(
        before.some(frame => text(frame, 'method') === 'session/update') && saidIn(at).includes(word),
        `updates that say ${word}`,
      )
    },
  },
  {
    id: 'ACP-PROM-08',
    clause: 'Chunks of one message share its messageId; another message has another.',
    async run(at) {
      const session = await newSession(at)
      const idsOf = async (): Promise<Set<string>> => {
        at.frames.length = 0
        await prompt(at, session, askToSay(newWord()))
        return new Set(chunks(at).map(chunk => text(chunk, 'messageId')))
      }
      const [first, second] = [await idsOf(), await idsOf()]
      need(!first.has('') && first.size > 0, 'The agent gives no messageId.')
      hold(first.size === 1 && second.size === 1, 'one messageId for the chunks of a message', [...first])
      hold(!second.has([...first][0] ?? ''), 'another messageId for another message', [...second])
    },
  },
  {
    id: 'ACP-CANC-01',
    clause: 'session/cancel is a notification; the prompt is answered with cancelled, never an error.',
    async run(at) {
      const sessionId = await newSession(at)
      const asked = [{ type: 'text', text: askToCall([['wait', { seconds: 120 }]], newWord()) }]
      const id = await at.post('session/prompt', { sessionId, prompt: asked })
      await at.until(
        frame => text(frame, 'params', 'update', 'sessionUpdate') === 'tool_call' || pick(frame, 'id') === id,
        'a call of wait',
      )
      need(callUpdates(at).length > 0, 'The agent did not call wait.')
      await at.notify('session/cancel', { sessionId })
      hold(text(await at.answerTo(id), 'result', 'stopReason') === 'cancelled', 'stopReason cancelled')
    },
  },
]

const calls: readonly Check<RpcTrial>[] = [
  {
    id: 'ACP-TOOL-01',
    clause: 'A call is announced as pending when the model begins to ask, with name, title and kind.',
    async run(at) {
      await called(at, 'echo', { text: newWord() })
      const [first] = callUpdates(at)
      hold(text(first, 'sessionUpdate') === 'tool_call', 'tool_call first')
      hold(text(first, 'toolCallId') !== '' && text(first, 'title') !== '', 'toolCallId and title')
      hold(['', 'pending'].includes(text(first, 'status')), 'the status pending')
    },
  },
  {
    id: 'ACP-TOOL-03',
    clause: 'in_progress, then completed or failed, with content and rawOutput.',
    async run(at) {
      const word = newWord()
      await called(at, 'echo', { text: word })
      hold(lastStatus(at) === 'completed', 'the status completed at the end', lastStatus(at))
      hold(
        callUpdates(at).some(update => JSON.stringify(list(update, 'content')).includes(word)),
        `content with ${word}`,
        callUpdates(at),
      )
    },
  },
  {
    id: 'ACP-TOOL-05',
    clause: 'Updates hold only what changed, and calls in one turn are told apart by their ids.',
    async run(at) {
      const twice = [
        ['echo', { text: 'one' }],
        ['echo', { text: 'two' }],
      ] as const
      await prompt(at, await newSession(at), askToCall(twice, newWord()))
      const announced = callUpdates(at).filter(update => text(update, 'sessionUpdate') === 'tool_call')
      need(announced.length > 1, 'The agent did not call echo twice.')
      const ids = announced.map(update => text(update, 'toolCallId'))
      hold(new Set(ids).size === ids.length, 'an id of its own for each call', ids)
    },
  },
  {
    id: 'ACP-PERM-01',
    clause: 'A call that asks is put to the client with what it would do; allow_once runs it.',
    async run(at) {
      const [asked, word] = [decide(at, 'allow_once'), newWord()]
      await called(at, 'send', { text: word })
      need(asked.length > 0, 'The agent did not ask for a permission.')
      hold(text(asked[0], 'toolCall', 'toolCallId') !== '', 'toolCall.toolCallId', asked[0])
      const kinds = list(asked[0], 'options').map(option => text(option, 'kind'))
      hold(kinds.includes('allow_once'), 'an option of the kind allow_once', kinds)
      hold(lastStatus(at) === 'completed', 'the status completed', lastStatus(at))
    },
  },
  {
    id: 'ACP-PERM-02',
    clause: 'reject_once denies it, and the others of the batch go on.',
    async run(at) {
      const asked = decide(at, 'reject_once')
      await called(at, 'send', { text: newWord() })
      need(asked.length > 0, 'The agent did not ask for a permission.')
      hold(lastStatus(at) === 'failed', 'the status failed', lastStatus(at))
    },
  },
  {
    id: 'ACP-PERM-07',
    clause: 'cancelled as an outcome cancels the turn.',
    async run(at) {
      const asked = decide(at, 'no such kind')
      const session = await newSession(at)
      const answer = await prompt(at, session, askToCall([['send', { text: newWord() }]], newWord()))
      need(asked.length > 0, 'The agent did not ask for a permission.')
      hold(text(answer, 'result', 'stopReason') === 'cancelled', 'stopReason cancelled')
    },
  },
]

export const acpChecks: readonly Check<RpcTrial>[] = [...base, ...sessions, ...calls]
