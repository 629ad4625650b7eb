// The UI message stream of the AI SDK, as `useChat` sees it.
import { randomUUID } from 'node:crypto'
import { type Check, hold, joinTexts, need, pick, text } from '../check.ts'
import { type Answer, hasStatus, isStream, type Trial, typed } from '../trial.ts'
import { askToCall, askToSay, newWord } from '../words.ts'

const user = (content: string): object => ({
  id: randomUUID(),
  role: 'user',
  parts: [{ type: 'text', text: content }],
})

async function chat(at: Trial, messages: readonly object[], id: string = randomUUID()): Promise<Answer> {
  const answer = await at.ask('', { body: { id, messages, trigger: 'submit-message' } })
  isStream(answer)
  return answer
}

function types(answer: Answer): string[] {
  return answer.events.map(event => text(event, 'type'))
}

function saidIn(answer: Answer): string {
  return joinTexts(typed(answer, 'text-delta'), 'delta')
}

async function called(at: Trial): Promise<{ answer: Answer; call: unknown; word: string }> {
  const word = newWord()
  const answer = await chat(at, [user(askToCall([['echo', { text: word }]], word))])
  const [call] = typed(answer, 'tool-input-available')
  need(call !== undefined, 'The agent did not call echo.')
  return { answer, call, word }
}

export const uiChecks: readonly Check<Trial>[] = [
  {
    id: 'UI-STRM-01',
    clause: 'The stream says its version in the header x-vercel-ai-ui-message-stream.',
    async run(at) {
      const { headers } = await chat(at, [user(askToSay(newWord()))])
      const version = headers.get('x-vercel-ai-ui-message-stream')
      hold(version === 'v1', 'v1', version ?? 'no header')
    },
  },
  {
    id: 'UI-STRM-02',
    clause: 'start comes first, finish last, then [DONE].',
    async run(at) {
      const answer = await chat(at, [user(askToSay(newWord()))])
      hold(
        types(answer)[0] === 'start' && types(answer).at(-1) === 'finish',
        'start first, finish last',
        types(answer),
      )
      hold(answer.frames.at(-1)?.data === '[DONE]', '[DONE] at the end')
    },
  },
  {
    id: 'UI-STRM-03',
    clause: 'Steps are opened with start-step and closed with finish-step.',
    async run(at) {
      const found = types(await chat(at, [user(askToSay(newWord()))]))
      const count = (type: string): number => found.filter(each => each === type).length
      hold(count('start-step') > 0 && count('start-step') === count('finish-step'), 'as many of both', found)
    },
  },
  {
    id: 'UI-TEXT-01',
    clause: 'Text is text-start, text-delta and text-end with one id, and adds up.',
    async run(at) {
      const word = newWord()
      const answer = await chat(at, [user(askToSay(word))])
      const parts = answer.events.filter(event => text(event, 'type').startsWith('text-'))
      const order = parts.map(event => text(event, 'type'))
      hold(order[0] === 'text-start' && order.at(-1) === 'text-end', 'text-start first, text-end last', order)
      hold(new Set(parts.map(event => text(event, 'id'))).size === 1, 'one id')
      hold(saidIn(answer).includes(word), `pieces that add up to ${word}`)
    },
  },
  {
    id: 'UI-CALL-01',
    clause: 'tool-input-available has toolCallId, toolName and the input.',
    async run(at) {
      const { call, word } = await called(at)
      hold(
        text(call, 'toolCallId') !== '' && text(call, 'toolName') === 'echo',
        'toolCallId and the name echo',
      )
      hold(text(call, 'input', 'text') === word, `input with ${word}`)
    },
  },
  {
    id: 'UI-CALL-02',
    clause: 'tool-output-available follows with the same toolCallId.',
    async run(at) {
      const { answer, call, word } = await called(at)
      const [output] = typed(answer, 'tool-output-available')
      hold(text(output, 'toolCallId') === text(call, 'toolCallId'), 'the same toolCallId')
      hold(JSON.stringify(pick(output, 'output') ?? '').includes(word), `output with ${word}`)
    },
  },
  {
    id: 'UI-CHAT-01',
    clause: 'A chat goes on: the next message of the same chat is answered.',
    async run(at) {
      const [id, word] = [randomUUID(), newWord()]
      const first = user(askToSay(newWord()))
      const answer = await chat(at, [first], id)
      const said = {
        id: text(answer.events[0], 'messageId') || randomUUID(),
        role: 'assistant',
        parts: [{ type: 'text', text: saidIn(answer) }],
      }
      hold(
        saidIn(await chat(at, [first, said, user(askToSay(word))], id)).includes(word),
        `an answer with ${word}`,
      )
    },
  },
  {
    id: 'UI-ERR-01',
    clause: 'A body that is no request of a chat is refused with a status of 4xx.',
    run: async at => hasStatus(await at.ask('', { body: { messages: 7 } }), 400, 422),
  },
]
