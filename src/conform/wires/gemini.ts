// Gemini's generateContent, as a client sees it.
import { type Check, hold, joinTexts, list, need, pick, text } from '../check.ts'
import { recorded } from '../recorded.ts'
import { type Answer, hasStatus, isStream, type Trial } from '../trial.ts'
import { askToCall, askToSay, newWord } from '../words.ts'
import { lookUp } from './models.ts'

const tools = [
  {
    functionDeclarations: [
      { name: lookUp.name, description: lookUp.description, parametersJsonSchema: lookUp.parameters },
    ],
  },
]

async function modelName(at: Trial): Promise<string> {
  if (at.target.agent !== undefined) return at.target.agent
  const name = text((await at.ask('/v1beta/models', { headers: keyHeaders(at) })).json, 'models', 0, 'name')
  const found = name.replace(/^models\//, '')
  if (found !== '') return found
  const other = text((await at.ask('/v1/models')).json, 'data', 0, 'id')
  need(other !== '', 'The server lists no model. Name one with --agent.')
  return other
}

function keyHeaders(at: Trial): Record<string, string> {
  const { key } = at.target
  return key === undefined ? {} : { 'x-goog-api-key': key }
}

const whole = 'generateContent'
const inPieces = 'streamGenerateContent?alt=sse'

/** `headers`: besides the key. */
async function send(
  at: Trial,
  method: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const path = `/v1beta/models/${encodeURIComponent(await modelName(at))}:${method}`
  return at.ask(path, { body, headers: { ...keyHeaders(at), ...headers } })
}

function generate(at: Trial, contents: readonly object[], more: object = {}): Promise<Answer> {
  return send(at, whole, { contents, ...more })
}

const user = (content: string): object => ({ role: 'user', parts: [{ text: content }] })

function listParts(answer: unknown): unknown[] {
  return list(answer, 'candidates', 0, 'content', 'parts')
}

function textIn(answer: unknown): string {
  return joinTexts(listParts(answer), 'text')
}

async function called(at: Trial): Promise<{ answer: Answer; part: unknown; word: string; asked: object }> {
  const word = newWord()
  const asked = user(askToCall([['look_up', { text: word }]], word))
  const answer = await generate(at, [asked], { tools })
  const part = listParts(answer.json).find(each => pick(each, 'functionCall') !== undefined)
  need(part !== undefined, 'The model did not call look_up.')
  return { answer, part, word, asked }
}

async function streamed(at: Trial, content: string): Promise<Answer> {
  const answer = await send(at, inPieces, { contents: [user(content)] })
  isStream(answer)
  return answer
}

export const geminiChecks: readonly Check<Trial>[] = [
  {
    id: 'GEM-RES-01',
    clause: 'An answer has a candidate with content of the role model, and finishReason STOP.',
    async run(at) {
      const word = newWord()
      const answer = await generate(at, [user(askToSay(word))])
      hasStatus(answer, 200)
      hold(text(answer.json, 'candidates', 0, 'content', 'role') === 'model', 'the role model')
      hold(textIn(answer.json).includes(word), `text with ${word}`)
      hold(text(answer.json, 'candidates', 0, 'finishReason') === 'STOP', 'finishReason STOP')
    },
  },
  {
    id: 'GEM-RES-02',
    clause: 'usageMetadata has promptTokenCount and totalTokenCount.',
    async run(at) {
      const { json } = await generate(at, [user(askToSay(newWord()))])
      const counts = ['promptTokenCount', 'totalTokenCount'].map(name => pick(json, 'usageMetadata', name))
      hold(
        counts.every(count => typeof count === 'number'),
        'two numbers',
      )
    },
  },
  {
    id: 'GEM-REQ-01',
    clause: 'systemInstruction is a member of the request.',
    async run(at) {
      const word = newWord()
      const answer = await generate(at, [user(askToSay(word))], {
        systemInstruction: { parts: [{ text: 'Be short.' }] },
      })
      hasStatus(answer, 200)
      hold(textIn(answer.json).includes(word), `text with ${word}`)
    },
  },
  {
    id: 'GEM-REQ-02',
    clause: 'A request without contents is 400.',
    run: async at => hasStatus(await send(at, whole, {}), 400),
  },
  {
    id: 'GEM-ERR-01',
    clause: 'An error body has error with code, message and status.',
    async run(at) {
      const answer = await send(at, whole, '{"contents":')
      hasStatus(answer, 400)
      hold(pick(answer.json, 'error', 'code') === 400, 'error.code 400')
      hold(text(answer.json, 'error', 'status') === 'INVALID_ARGUMENT', 'error.status INVALID_ARGUMENT')
      hold(text(answer.json, 'error', 'message') !== '', 'error.message')
    },
  },
  {
    id: 'GEM-TOOL-01',
    clause: 'A call is a functionCall part with name and args.',
    async run(at) {
      const { part, word } = await called(at)
      hold(text(part, 'functionCall', 'name') === 'look_up', 'the name look_up')
      hold(text(part, 'functionCall', 'args', 'text') === word, `args with ${word}`)
    },
  },
  {
    id: 'GEM-TOOL-02',
    clause: 'A functionResponse that is sent back is read, and the model goes on.',
    async run(at) {
      const { asked, part, word } = await called(at)
      const id = text(part, 'functionCall', 'id')
      const functionResponse = { ...(id !== '' && { id }), name: 'look_up', response: { output: 'found' } }
      const history = [
        asked,
        { role: 'model', parts: [part] },
        { role: 'user', parts: [{ functionResponse }] },
      ]
      const answer = await generate(at, history, { tools })
      hasStatus(answer, 200)
      hold(textIn(answer.json).includes(word), `an answer with ${word}`)
    },
  },
  {
    id: 'GEM-TOOL-03',
    clause: 'A functionCall without its functionResponse is 400.',
    async run(at) {
      const { asked, part } = await called(at)
      const history = [asked, { role: 'model', parts: [part] }, user('And now?')]
      hasStatus(await generate(at, history, { tools }), 400)
    },
  },
  {
    id: 'GEM-STRM-01',
    clause: 'The chunks of a stream add up to the answer; the last has the finishReason.',
    async run(at) {
      const word = newWord()
      const { events } = await streamed(at, askToSay(word))
      hold(events.map(textIn).join('').includes(word), `chunks that add up to ${word}`)
      hold(text(events.at(-1), 'candidates', 0, 'finishReason') === 'STOP', 'finishReason STOP in the last')
    },
  },
  {
    id: 'GEM-CLNT-01',
    clause: 'A request of Gemini CLI, as it was recorded, is answered with a stream.',
    async run(at) {
      const { body, headers } = recorded.geminiCli
      const answer = await send(at, inPieces, body, headers)
      isStream(answer)
      hold(
        text(answer.events.at(-1), 'candidates', 0, 'finishReason') !== '',
        'a finishReason in the last chunk',
      )
    },
  },
]
