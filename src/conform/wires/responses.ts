// OpenAI's Responses, as a client sees them; with what Open Responses adds nothing is tried that OpenAI does not have.
import { type Check, hold, joinTexts, list, need, parsed, pick, text } from '../check.ts'
import { type Answer, hasStatus, isStream, type Trial, typed } from '../trial.ts'
import { askToCall, askToSay, newWord } from '../words.ts'
import { lookUp, modelName } from './models.ts'

const path = '/v1/responses'
const tools = [{ type: 'function', ...lookUp }]

async function create(at: Trial, input: unknown, more: object = {}): Promise<Answer> {
  return at.ask(path, { body: { model: await modelName(at), input, store: false, ...more } })
}

function textIn(response: unknown): string {
  return joinTexts(
    list(response, 'output').flatMap(item => list(item, 'content')),
    'text',
  )
}

const user = (content: string): object => ({ role: 'user', content })

async function called(at: Trial, more: object = {}) {
  const word = newWord()
  const asked = askToCall([['look_up', { text: word }]], word)
  const answer = await create(at, [user(asked)], { tools, ...more })
  const call = list(answer.json, 'output').find(item => text(item, 'type') === 'function_call')
  need(call !== undefined, 'The model did not call look_up.')
  return { answer, call, word, asked }
}

function sentBack(call: unknown): object {
  const [callId, name, json] = ['call_id', 'name', 'arguments'].map(member => text(call, member))
  return { type: 'function_call', call_id: callId, name, arguments: json }
}

const found = (callId: string): object => ({ type: 'function_call_output', call_id: callId, output: 'found' })

async function streamed(at: Trial, input: string, more: object = {}): Promise<Answer> {
  const answer = await create(at, input, { stream: true, ...more })
  isStream(answer)
  return answer
}

async function stored(at: Trial, input: unknown, more: object = {}): Promise<{ answer: Answer; id: string }> {
  const answer = await create(at, input, { store: true, ...more })
  need(answer.status === 200, `No response could be stored: ${answer.status}.`)
  return { answer, id: text(answer.json, 'id') }
}

const requests: readonly Check<Trial>[] = [
  {
    id: 'RESP-REQ-03',
    clause: 'An unknown model is 404 with the code model_not_found.',
    async run(at) {
      const answer = await at.ask(path, { body: { model: 'no-such-model-of-anyone', input: 'Hello' } })
      need(answer.status !== 200, 'The server answers to any name of a model.')
      hasStatus(answer, 404, 400)
      hold(text(answer.json, 'error', 'code') === 'model_not_found', 'the code model_not_found')
    },
  },
  {
    id: 'RESP-REQ-06',
    clause: 'input is a text, or a list of items.',
    async run(at) {
      const word = newWord()
      const part = { type: 'input_text', text: askToSay(word) }
      for (const input of [askToSay(word), [{ type: 'message', role: 'user', content: [part] }]]) {
        const answer = await create(at, input)
        hasStatus(answer, 200)
        hold(textIn(answer.json).includes(word), `an answer with ${word}`)
      }
    },
  },
  {
    id: 'RESP-REQ-09',
    clause: "Every parameter has its type; another is 400 with the parameter's name.",
    async run(at) {
      const answer = await create(at, 'Hello', { max_output_tokens: 'many' })
      hasStatus(answer, 400)
      hold(text(answer.json, 'error', 'param') === 'max_output_tokens', 'param max_output_tokens')
    },
  },
  {
    id: 'RESP-ITEM-04',
    clause: 'Every call has an output before the model is asked: No tool output found.',
    async run(at) {
      const { asked, call } = await called(at)
      hasStatus(await create(at, [user(asked), sentBack(call), user('And now?')], { tools }), 400)
    },
  },
  {
    id: 'RESP-ITEM-05',
    clause: 'Every output has its call earlier, one to one: No tool call found.',
    run: async at => hasStatus(await create(at, [user('Hello'), found('call_unknown')], { tools }), 400),
  },
  {
    id: 'RESP-ITEM-12',
    clause: 'Unknown item types and members are 400.',
    run: async at => hasStatus(await create(at, [{ type: 'no_such_item', content: 'x' }]), 400),
  },
  {
    id: 'RESP-TOOL-07',
    clause: 'A choice of a tool that is not declared is 400.',
    async run(at) {
      const choice = { type: 'function', name: 'not_declared' }
      hasStatus(await create(at, 'Hello', { tools, tool_choice: choice }), 400)
    },
  },
  {
    id: 'RESP-TOOL-11',
    clause: 'A response that asks for tools is completed, with one function_call per call.',
    async run(at) {
      const { answer, call, word } = await called(at)
      hold(text(answer.json, 'status') === 'completed', 'the status completed')
      hold(text(call, 'call_id') !== '' && text(call, 'name') === 'look_up', 'call_id and the name look_up')
      hold(text(parsed(text(call, 'arguments')), 'text') === word, `arguments with ${word}`)
    },
  },
  {
    id: 'RESP-TOOL-12',
    clause: 'The conversation sent back with all outputs gives the final message.',
    async run(at) {
      const { asked, call, word } = await called(at)
      const history = [user(asked), sentBack(call), found(text(call, 'call_id'))]
      const answer = await create(at, history, { tools })
      hasStatus(answer, 200)
      hold(textIn(answer.json).includes(word), `an answer with ${word}`)
    },
  },
]

const resources: readonly Check<Trial>[] = [
  {
    id: 'RESP-RES-01',
    clause: 'id, object, created_at, status, model, output and usage are there.',
    async run(at) {
      const answer = await create(at, askToSay(newWord()))
      hasStatus(answer, 200)
      hold(text(answer.json, 'object') === 'response', 'object response')
      const missing = ['id', 'created_at', 'status', 'model', 'output', 'usage'].filter(
        member => (pick(answer.json, member) ?? null) === null,
      )
      hold(missing.length === 0, 'every member', `without ${missing.join(', ')}`)
    },
  },
  {
    id: 'RESP-RES-04',
    clause: 'usage counts what the model read and wrote; totals add up.',
    async run(at) {
      const { json } = await create(at, askToSay(newWord()))
      const [input, output, total] = ['input_tokens', 'output_tokens', 'total_tokens'].map(name =>
        Number(pick(json, 'usage', name) ?? Number.NaN),
      )
      hold(input! + output! === total, 'input_tokens and output_tokens that add up to total_tokens')
    },
  },
  {
    id: 'RESP-ERR-01',
    clause: 'An error body has message, type, param and code.',
    async run(at) {
      const answer = await create(at, 7)
      hasStatus(answer, 400)
      const error = pick(answer.json, 'error')
      const members = ['message', 'type', 'param', 'code']
      hold(
        members.every(member => pick(error, member) !== undefined),
        'message, type, param and code',
      )
    },
  },
  {
    id: 'RESP-ERR-02',
    clause: 'A body that is no JSON, no object, too deep or repeats a key is 400.',
    async run(at) {
      for (const body of ['{"model":', '[]', '"text"']) hasStatus(await at.ask(path, { body }), 400)
    },
  },
  {
    id: 'RESP-MODL-01',
    clause: 'The list of models holds agents and configured models.',
    async run(at) {
      const answer = await at.ask('/v1/models')
      hasStatus(answer, 200)
      hold(text(answer.json, 'object') === 'list', 'object list')
      const models = list(answer.json, 'data')
      hold(
        models.length > 0 &&
          models.every(model => text(model, 'id') !== '' && text(model, 'object') === 'model'),
        'models with id and object',
      )
    },
  },
  {
    id: 'RESP-MODL-02',
    clause: 'One of them can be retrieved; an unknown one is 404.',
    async run(at) {
      const name = await modelName(at)
      const answer = await at.ask(`/v1/models/${encodeURIComponent(name)}`)
      hasStatus(answer, 200)
      hold(text(answer.json, 'id') === name, `the model ${name}`)
      hasStatus(await at.ask('/v1/models/no-such-model-of-anyone'), 404)
    },
  },
]

const streams: readonly Check<Trial>[] = [
  {
    id: 'RESP-STRM-01',
    clause: 'created and in_progress come first, a terminal event last.',
    async run(at) {
      const types = (await streamed(at, askToSay(newWord()))).events.map(event => text(event, 'type'))
      hold(types.slice(0, 2).join() === 'response.created,response.in_progress', 'both first', types)
      hold(types.at(-1) === 'response.completed', 'response.completed last', types)
    },
  },
  {
    id: 'RESP-STRM-02',
    clause: 'Items are added, grow and are done; ids are the same throughout.',
    async run(at) {
      const answer = await streamed(at, askToSay(newWord()))
      const ids = (type: string): string[] => typed(answer, type).map(event => text(event, 'item', 'id'))
      const added = ids('response.output_item.added')
      hold(
        added.length > 0 && added.join() === ids('response.output_item.done').join(),
        'each item added and done',
      )
      const grown = answer.events.map(event => text(event, 'item_id')).filter(id => id !== '')
      hold(
        grown.every(id => added.includes(id)),
        'deltas of items that were added',
      )
    },
  },
  {
    id: 'RESP-STRM-03',
    clause: 'Deltas add up to the done event, to the item, and to the final response.',
    async run(at) {
      const answer = await streamed(at, askToSay(newWord()))
      const pieces = joinTexts(typed(answer, 'response.output_text.delta'), 'delta')
      const done = joinTexts(typed(answer, 'response.output_text.done'), 'text')
      const final = textIn(pick(answer.events.at(-1), 'response'))
      const isSame = pieces === done && done === final && final !== ''
      hold(isSame, 'the same text three times', [pieces, done, final])
    },
  },
  {
    id: 'RESP-STRM-04',
    clause: 'sequence_number strictly increases.',
    async run(at) {
      const { events } = await streamed(at, askToSay(newWord()))
      const numbers = events.map(event => Number(pick(event, 'sequence_number') ?? Number.NaN))
      hold(
        numbers.every((number, index) => index === 0 || number > numbers[index - 1]!) &&
          !Number.isNaN(numbers[0]),
        'rising numbers',
        numbers,
      )
    },
  },
  {
    id: 'RESP-STRM-06',
    clause: 'The arguments events carry item_id and call_id, the done event name too.',
    async run(at) {
      const word = newWord()
      const answer = await streamed(at, askToCall([['look_up', { text: word }]], word), { tools })
      const done = typed(answer, 'response.function_call_arguments.done')
      need(done.length > 0, 'The model did not call look_up.')
      const pieces = typed(answer, 'response.function_call_arguments.delta')
      hold(
        [...pieces, ...done].every(event => text(event, 'item_id') !== ''),
        'item_id in each',
      )
      hold(text(parsed(text(done[0], 'arguments')), 'text') === word, `arguments with ${word}`)
    },
  },
  {
    id: 'RESP-STRM-10',
    clause: 'The event line is the type, and no data can break out of its line.',
    async run(at) {
      const { frames, events } = await streamed(at, askToSay(newWord()))
      const named = frames.filter(({ data }) => data !== '[DONE]')
      hold(
        named.length > 0 && named.every(({ event }, index) => event === text(events[index], 'type')),
        'the event line with the type',
      )
    },
  },
]

const state: readonly Check<Trial>[] = [
  {
    id: 'RESP-STOR-02',
    clause: 'A stored response can be retrieved, also after a restart.',
    async run(at) {
      const { answer, id } = await stored(at, askToSay(newWord()))
      const again = await at.ask(`${path}/${id}`)
      hasStatus(again, 200)
      hold(textIn(again.json) === textIn(answer.json), 'the same output')
    },
  },
  {
    id: 'RESP-STOR-03',
    clause: 'The newest response of a session is continued in the same session.',
    async run(at) {
      const [word, { id }] = [newWord(), await stored(at, 'Hello')]
      const { answer } = await stored(at, askToSay(word), { previous_response_id: id })
      hold(text(answer.json, 'previous_response_id') === id, `previous_response_id ${id}`)
      hold(textIn(answer.json).includes(word), `an answer with ${word}`)
    },
  },
  {
    id: 'RESP-STOR-05',
    clause: 'An unknown one is 400, an unfinished one 409.',
    async run(at) {
      await stored(at, 'Hello')
      const answer = await create(at, 'Hello', { previous_response_id: 'resp_unknown' })
      hasStatus(answer, 400, 404)
    },
  },
  {
    id: 'RESP-STOR-06',
    clause: 'Open calls must all be answered: the same errors as for a whole conversation.',
    async run(at) {
      const { answer, call, word } = await called(at, { store: true })
      const more = { tools, store: true, previous_response_id: text(answer.json, 'id') }
      hasStatus(await create(at, 'And now?', more), 400)
      const goesOn = await create(at, [found(text(call, 'call_id'))], more)
      hasStatus(goesOn, 200)
      hold(textIn(goesOn.json).includes(word), `an answer with ${word}`)
    },
  },
  {
    id: 'RESP-STOR-11',
    clause: 'A deleted response is 404; with its last response the session goes.',
    async run(at) {
      const { id } = await stored(at, askToSay(newWord()))
      hasStatus(await at.ask(`${path}/${id}`, { method: 'DELETE' }), 200)
      hasStatus(await at.ask(`${path}/${id}`), 404)
    },
  },
  {
    id: 'RESP-STOR-12',
    clause: 'The input items of a response are listed, in pages.',
    async run(at) {
      const words = askToSay(newWord())
      const { id } = await stored(at, words)
      const answer = await at.ask(`${path}/${id}/input_items`)
      hasStatus(answer, 200)
      hold(text(answer.json, 'data', 0, 'content', 0, 'text') === words, 'the input as the first item')
    },
  },
]

export const responsesChecks: readonly Check<Trial>[] = [...requests, ...resources, ...streams, ...state]
