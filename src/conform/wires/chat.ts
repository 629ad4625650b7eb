// OpenAI's Chat Completions, as a client sees them.
import { type Check, hold, joinTexts, list, need, parsed, pick, text } from '../check.ts'
import { recorded } from '../recorded.ts'
import { type Answer, hasStatus, isStream, type Trial } from '../trial.ts'
import { askToCall, askToSay, newWord } from '../words.ts'
import { lookUp, modelName } from './models.ts'

const path = '/v1/chat/completions'
const tools = [{ type: 'function', function: lookUp }]

async function complete(at: Trial, messages: readonly object[], more: object = {}): Promise<Answer> {
  return at.ask(path, { body: { model: await modelName(at), messages, ...more } })
}

const user = (content: unknown): object => ({ role: 'user', content })

type Call = { id: string; name: string; input: unknown; json: string }

function callsIn(answer: Answer): Call[] {
  return list(answer.json, 'choices', 0, 'message', 'tool_calls').map(call => {
    const json = text(call, 'function', 'arguments')
    return { id: text(call, 'id'), name: text(call, 'function', 'name'), json, input: parsed(json) }
  })
}

async function called(at: Trial): Promise<{ answer: Answer; call: Call; word: string; asked: object }> {
  const word = newWord()
  const asked = user(askToCall([['look_up', { text: word }]], word))
  const answer = await complete(at, [asked], { tools })
  const [call] = callsIn(answer)
  need(call !== undefined, 'The model did not call look_up.')
  return { answer, call, word, asked }
}

/** The call as the client sends it back. */
function sentBack({ id, name, json }: Call): object {
  return {
    role: 'assistant',
    content: null,
    tool_calls: [{ id, type: 'function', function: { name, arguments: json } }],
  }
}

async function streamed(at: Trial, content: string, more: object = {}): Promise<Answer> {
  const answer = await complete(at, [user(content)], { stream: true, ...more })
  isStream(answer)
  return answer
}

function deltas(answer: Answer): unknown[] {
  return answer.events.map(event => pick(event, 'choices', 0, 'delta'))
}

const answers: readonly Check<Trial>[] = [
  {
    id: 'CHAT-RES-01',
    clause: 'A completion has id, object, created, model and one choice with a message of the assistant.',
    async run(at) {
      const word = newWord()
      const answer = await complete(at, [user(askToSay(word))])
      hasStatus(answer, 200)
      const { json } = answer
      hold(text(json, 'object') === 'chat.completion', 'object chat.completion')
      hold(text(json, 'id') !== '' && text(json, 'model') !== '', 'id and model')
      hold(typeof pick(json, 'created') === 'number', 'created, a number')
      hold(text(json, 'choices', 0, 'message', 'role') === 'assistant', 'the role assistant')
      hold(text(json, 'choices', 0, 'message', 'content').includes(word), `content with ${word}`)
    },
  },
  {
    id: 'CHAT-RES-02',
    clause: 'finish_reason is stop when the model has answered.',
    async run(at) {
      const answer = await complete(at, [user(askToSay(newWord()))])
      hold(text(answer.json, 'choices', 0, 'finish_reason') === 'stop', 'finish_reason stop')
    },
  },
  {
    id: 'CHAT-RES-03',
    clause: 'usage counts, and its total is the sum.',
    async run(at) {
      const { json } = await complete(at, [user(askToSay(newWord()))])
      const [input, output, total] = ['prompt_tokens', 'completion_tokens', 'total_tokens'].map(name =>
        Number(pick(json, 'usage', name) ?? Number.NaN),
      )
      hold(input! + output! === total, 'prompt_tokens and completion_tokens that add up to total_tokens')
    },
  },
  {
    id: 'CHAT-REQ-01',
    clause: 'User content may be a list of parts, and messages of system and developer are taken.',
    async run(at) {
      const word = newWord()
      const parts = user([{ type: 'text', text: askToSay(word) }])
      const answer = await complete(at, [{ role: 'system', content: 'Be short.' }, parts])
      hasStatus(answer, 200)
      hold(text(answer.json, 'choices', 0, 'message', 'content').includes(word), `content with ${word}`)
    },
  },
  {
    id: 'CHAT-REQ-02',
    clause: 'An unknown model is 404, or a 400 that names the model.',
    async run(at) {
      const body = { model: 'no-such-model-of-anyone', messages: [user('Hello')] }
      const answer = await at.ask(path, { body })
      need(answer.status !== 200, 'The server answers to any name of a model.')
      hasStatus(answer, 404, 400)
    },
  },
  {
    id: 'CHAT-REQ-03',
    clause: 'A request without messages is 400.',
    run: async at => hasStatus(await at.ask(path, { body: { model: await modelName(at) } }), 400, 422),
  },
  {
    id: 'CHAT-ERR-01',
    clause: 'An error body has error with message and type.',
    async run(at) {
      const answer = await at.ask(path, { body: '{"model":' })
      hasStatus(answer, 400, 422)
      hold(
        text(answer.json, 'error', 'message') !== '' && pick(answer.json, 'error', 'type') !== undefined,
        'error.message and error.type',
      )
    },
  },
]

const calls: readonly Check<Trial>[] = [
  {
    id: 'CHAT-TOOL-01',
    clause: 'A call has an id, the type function, its name, and its arguments as JSON text.',
    async run(at) {
      const { answer, call, word } = await called(at)
      hold(
        text(answer.json, 'choices', 0, 'message', 'tool_calls', 0, 'type') === 'function',
        'the type function',
      )
      hold(call.id !== '' && call.name === 'look_up', 'an id and the name look_up')
      hold(text(call.input, 'text') === word, `arguments with ${word}`)
    },
  },
  {
    id: 'CHAT-TOOL-02',
    clause: 'finish_reason is tool_calls when the model asks for tools.',
    async run(at) {
      const { answer } = await called(at)
      hold(text(answer.json, 'choices', 0, 'finish_reason') === 'tool_calls', 'finish_reason tool_calls')
    },
  },
  {
    id: 'CHAT-TOOL-03',
    clause: 'A result that is sent back is read, and the model goes on.',
    async run(at) {
      const { asked, call, word } = await called(at)
      const result = { role: 'tool', tool_call_id: call.id, content: 'found' }
      const answer = await complete(at, [asked, sentBack(call), result], { tools })
      hasStatus(answer, 200)
      hold(text(answer.json, 'choices', 0, 'message', 'content').includes(word), `an answer with ${word}`)
    },
  },
  {
    id: 'CHAT-TOOL-04',
    clause: 'A call without its result is refused with 400.',
    async run(at) {
      const { asked, call } = await called(at)
      hasStatus(await complete(at, [asked, sentBack(call), user('And now?')], { tools }), 400)
    },
  },
  {
    id: 'CHAT-TOOL-05',
    clause: 'A result without its call is refused with 400.',
    async run(at) {
      const orphan = { role: 'tool', tool_call_id: 'call_unknown', content: 'found' }
      hasStatus(await complete(at, [user('Hello'), orphan], { tools }), 400)
    },
  },
]

const streams: readonly Check<Trial>[] = [
  {
    id: 'CHAT-STRM-01',
    clause: 'A stream has chunks of one id and ends with [DONE].',
    async run(at) {
      const answer = await streamed(at, askToSay(newWord()))
      hold(answer.frames.at(-1)?.data === '[DONE]', '[DONE] at the end')
      const ids = new Set(answer.events.map(event => text(event, 'id')))
      hold(ids.size === 1 && !ids.has(''), 'one id')
      hold(
        answer.events.every(event => text(event, 'object') === 'chat.completion.chunk'),
        'object chat.completion.chunk',
      )
    },
  },
  {
    id: 'CHAT-STRM-02',
    clause: 'The pieces of content add up to the answer, and the role comes first.',
    async run(at) {
      const word = newWord()
      const pieces = deltas(await streamed(at, askToSay(word)))
      hold(text(pieces[0], 'role') === 'assistant', 'the role assistant in the first chunk')
      hold(joinTexts(pieces, 'content').includes(word), `pieces that add up to ${word}`)
    },
  },
  {
    id: 'CHAT-STRM-03',
    clause: 'The last choice has the finish_reason, and no chunk before it has one.',
    async run(at) {
      const reasons = (await streamed(at, askToSay(newWord()))).events
        .filter(event => list(event, 'choices').length > 0)
        .map(event => pick(event, 'choices', 0, 'finish_reason') ?? null)
      const isLast = reasons.indexOf('stop') === reasons.length - 1 && reasons.length > 0
      hold(isLast && reasons.slice(0, -1).every(reason => reason === null), 'stop in the last chunk alone')
    },
  },
  {
    id: 'CHAT-STRM-04',
    clause: 'The pieces of a call have its index, the first its id and name; arguments add up to JSON.',
    async run(at) {
      const word = newWord()
      const answer = await streamed(at, askToCall([['look_up', { text: word }]], word), { tools })
      const pieces = deltas(answer).flatMap(delta => list(delta, 'tool_calls'))
      need(pieces.length > 0, 'The model did not call look_up.')
      hold(
        pieces.every(piece => pick(piece, 'index') === 0),
        'index 0 in each piece',
      )
      const [first] = pieces
      hold(
        text(first, 'id') !== '' && text(first, 'function', 'name') === 'look_up',
        'id and name in the first',
      )
      const json = joinTexts(pieces, 'function', 'arguments')
      hold(text(parsed(json), 'text') === word, `arguments with ${word}`, json)
    },
  },
  {
    id: 'CHAT-STRM-05',
    clause: 'With stream_options.include_usage one chunk without choices has the usage.',
    async run(at) {
      const { events } = await streamed(at, askToSay(newWord()), { stream_options: { include_usage: true } })
      const isUsage = (event: unknown): boolean =>
        list(event, 'choices').length === 0 && typeof pick(event, 'usage', 'total_tokens') === 'number'
      hold(events.some(isUsage), 'a chunk with usage and no choices')
    },
  },
  {
    id: 'CHAT-CLNT-01',
    clause: 'A request of opencode, as it was recorded, is answered with a stream.',
    async run(at) {
      const { body, headers } = recorded.opencode
      const answer = await at.ask(path, { body: { ...body, model: await modelName(at) }, headers })
      isStream(answer)
      hold(answer.frames.at(-1)?.data === '[DONE]', '[DONE] at the end')
    },
  },
]

export const chatChecks: readonly Check<Trial>[] = [...answers, ...calls, ...streams]
