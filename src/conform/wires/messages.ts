// Anthropic's Messages, as a client sees them.
import { type Check, hold, joinTexts, list, need, parsed, pick, text } from '../check.ts'
import { recorded } from '../recorded.ts'
import { type Answer, hasStatus, isStream, type Trial } from '../trial.ts'
import { askToCall, askToSay, newWord } from '../words.ts'
import { lookUp, modelName } from './models.ts'

const path = '/v1/messages'
const tools = [{ name: lookUp.name, description: lookUp.description, input_schema: lookUp.parameters }]

function keyHeaders(at: Trial): Record<string, string> {
  const { key } = at.target
  return { 'anthropic-version': '2023-06-01', ...(key !== undefined && { 'x-api-key': key }) }
}

async function send(at: Trial, messages: readonly object[], more: object = {}): Promise<Answer> {
  const body = { model: await modelName(at), max_tokens: 1024, messages, ...more }
  return at.ask(path, { body, headers: keyHeaders(at) })
}

const user = (content: unknown): object => ({ role: 'user', content })

function textIn(answer: Answer): string {
  return joinTexts(list(answer.json, 'content'), 'text')
}

async function called(at: Trial): Promise<{ answer: Answer; call: unknown; word: string; asked: object }> {
  const word = newWord()
  const asked = user(askToCall([['look_up', { text: word }]], word))
  const answer = await send(at, [asked], { tools })
  const call = list(answer.json, 'content').find(block => text(block, 'type') === 'tool_use')
  need(call !== undefined, 'The model did not call look_up.')
  return { answer, call, word, asked }
}

async function streamed(at: Trial, content: string, more: object = {}): Promise<Answer> {
  const answer = await send(at, [user(content)], { stream: true, ...more })
  isStream(answer)
  return answer
}

const answers: readonly Check<Trial>[] = [
  {
    id: 'MSG-RES-01',
    clause: 'A message has id, type, role, model, content and stop_reason end_turn.',
    async run(at) {
      const word = newWord()
      const answer = await send(at, [user(askToSay(word))])
      hasStatus(answer, 200)
      const { json } = answer
      hold(
        text(json, 'type') === 'message' && text(json, 'role') === 'assistant',
        'a message of the assistant',
      )
      hold(text(json, 'id') !== '' && text(json, 'model') !== '', 'id and model')
      hold(textIn(answer).includes(word), `content with ${word}`)
      hold(text(json, 'stop_reason') === 'end_turn', 'stop_reason end_turn')
    },
  },
  {
    id: 'MSG-RES-02',
    clause: 'usage has input_tokens and output_tokens.',
    async run(at) {
      const { json } = await send(at, [user(askToSay(newWord()))])
      const [input, output] = [pick(json, 'usage', 'input_tokens'), pick(json, 'usage', 'output_tokens')]
      hold(typeof input === 'number' && typeof output === 'number', 'two numbers')
    },
  },
  {
    id: 'MSG-REQ-01',
    clause: 'max_tokens is required: without it the request is 400.',
    async run(at) {
      const body = { model: await modelName(at), messages: [user('Hello')] }
      hasStatus(await at.ask(path, { body, headers: keyHeaders(at) }), 400)
    },
  },
  {
    id: 'MSG-REQ-02',
    clause: 'system is a member of the request; a text or a list of blocks.',
    async run(at) {
      const word = newWord()
      const answer = await send(at, [user(askToSay(word))], { system: [{ type: 'text', text: 'Be short.' }] })
      hasStatus(answer, 200)
      hold(textIn(answer).includes(word), `content with ${word}`)
    },
  },
  {
    id: 'MSG-ERR-01',
    clause: 'An error body has the type error, and error with type and message.',
    async run(at) {
      const answer = await at.ask(path, { body: '{"model":', headers: keyHeaders(at) })
      hasStatus(answer, 400)
      hold(text(answer.json, 'type') === 'error', 'the type error')
      hold(text(answer.json, 'error', 'type') === 'invalid_request_error', 'invalid_request_error')
      hold(text(answer.json, 'error', 'message') !== '', 'error.message')
    },
  },
]

const calls: readonly Check<Trial>[] = [
  {
    id: 'MSG-TOOL-01',
    clause: 'A call is a tool_use block with id, name and input; stop_reason is tool_use.',
    async run(at) {
      const { answer, call, word } = await called(at)
      hold(text(call, 'id') !== '' && text(call, 'name') === 'look_up', 'id and the name look_up')
      hold(text(call, 'input', 'text') === word, `input with ${word}`)
      hold(text(answer.json, 'stop_reason') === 'tool_use', 'stop_reason tool_use')
    },
  },
  {
    id: 'MSG-TOOL-02',
    clause: 'A tool_result that is sent back is read, and the model goes on.',
    async run(at) {
      const { asked, call, word } = await called(at)
      const result = user([{ type: 'tool_result', tool_use_id: text(call, 'id'), content: 'found' }])
      const answer = await send(at, [asked, { role: 'assistant', content: [call] }, result], { tools })
      hasStatus(answer, 200)
      hold(textIn(answer).includes(word), `an answer with ${word}`)
    },
  },
  {
    id: 'MSG-TOOL-03',
    clause: 'A tool_use without its tool_result in the next message is 400.',
    async run(at) {
      const { asked, call } = await called(at)
      const history = [asked, { role: 'assistant', content: [call] }, user('And now?')]
      hasStatus(await send(at, history, { tools }), 400)
    },
  },
  {
    id: 'MSG-TOOL-04',
    clause: 'A tool_result without its tool_use is 400.',
    async run(at) {
      const orphan = user([{ type: 'tool_result', tool_use_id: 'toolu_unknown', content: 'found' }])
      hasStatus(await send(at, [orphan], { tools }), 400)
    },
  },
]

const streams: readonly Check<Trial>[] = [
  {
    id: 'MSG-STRM-01',
    clause: 'A stream begins with message_start and ends with message_delta and message_stop.',
    async run(at) {
      const types = (await streamed(at, askToSay(newWord()))).events
        .map(event => text(event, 'type'))
        .filter(type => type !== 'ping')
      hold(types[0] === 'message_start', 'message_start first', types)
      hold(
        types.slice(-2).join() === 'message_delta,message_stop',
        'message_delta and message_stop last',
        types,
      )
    },
  },
  {
    id: 'MSG-STRM-02',
    clause: 'The event line is the type of each event.',
    async run(at) {
      const { frames, events } = await streamed(at, askToSay(newWord()))
      hold(
        frames.length > 0 && frames.every(({ event }, index) => event === text(events[index], 'type')),
        'the event line with the type',
      )
    },
  },
  {
    id: 'MSG-STRM-03',
    clause: 'Each block is opened, filled and closed before the next; text_delta pieces add up.',
    async run(at) {
      const word = newWord()
      const { events } = await streamed(at, askToSay(word))
      let open: unknown
      for (const event of events) {
        const type = text(event, 'type')
        if (!type.startsWith('content_block_')) continue
        hold((type === 'content_block_start') === (open === undefined), 'one open block at a time', type)
        if (type === 'content_block_start') open = pick(event, 'index')
        hold(pick(event, 'index') === open, 'the index of the open block', event)
        if (type === 'content_block_stop') open = undefined
      }
      hold(joinTexts(events, 'delta', 'text').includes(word), `pieces that add up to ${word}`)
    },
  },
  {
    id: 'MSG-STRM-04',
    clause: 'The input of a call comes as input_json_delta pieces that add up to JSON.',
    async run(at) {
      const word = newWord()
      const { events } = await streamed(at, askToCall([['look_up', { text: word }]], word), { tools })
      const opened = events.find(event => text(event, 'content_block', 'type') === 'tool_use')
      need(opened !== undefined, 'The model did not call look_up.')
      const json = joinTexts(events, 'delta', 'partial_json')
      hold(text(parsed(json), 'text') === word, `input with ${word}`, json)
    },
  },
  {
    id: 'MSG-CLNT-01',
    clause: 'A request of Claude Code, as it was recorded, is answered with a stream.',
    async run(at) {
      const { body, headers } = recorded.claudeCode
      const answer = await at.ask(`${path}?beta=true`, {
        body: { ...body, model: await modelName(at) },
        headers: { ...keyHeaders(at), ...headers },
      })
      isStream(answer)
      hold(
        answer.events.some(event => text(event, 'type') === 'message_stop'),
        'message_stop',
      )
    },
  },
]

export const messagesChecks: readonly Check<Trial>[] = [...answers, ...calls, ...streams]
