// AG-UI, as its clients see an agent.
import { randomUUID } from 'node:crypto'
import { type Check, hold, joinTexts, list, need, parsed, pick, text } from '../check.ts'
import { type Answer, hasStatus, isStream, type Trial, typed } from '../trial.ts'
import { askToCall, askToSay, newWord } from '../words.ts'
import { readClipboard } from './models.ts'

type Run = { answer: Answer; threadId: string; runId: string; messages: object[] }

async function startRun(at: Trial, content: string, more: object = {}, earlier?: Run): Promise<Run> {
  const threadId = earlier?.threadId ?? randomUUID()
  const messages = [...(earlier?.messages ?? []), { id: randomUUID(), role: 'user', content }]
  return goOn(at, threadId, messages, more)
}

async function goOn(at: Trial, threadId: string, messages: object[], more: object = {}): Promise<Run> {
  const runId = randomUUID()
  const body = {
    protocolVersion: '1.0',
    threadId,
    runId,
    messages,
    tools: [],
    context: [],
    state: {},
    forwardedProps: {},
    ...more,
  }
  const answer = await at.ask('', { body, headers: { accept: 'text/event-stream' } })
  isStream(answer)
  return { answer, threadId, runId, messages }
}

function saidIn({ answer }: Run): string {
  return joinTexts(typed(answer, 'TEXT_MESSAGE_CONTENT'), 'delta')
}

async function called(
  at: Trial,
  tool: 'echo' | 'read_clipboard',
): Promise<{ run: Run; id: string; word: string }> {
  const word = newWord()
  const asked = askToCall([[tool, tool === 'echo' ? { text: word } : {}]], word)
  const run = await startRun(at, asked, tool === 'echo' ? {} : { tools: [readClipboard] })
  const call = typed(run.answer, 'TOOL_CALL_START').find(event => text(event, 'toolCallName') === tool)
  need(call !== undefined, `The agent did not call ${tool}.`)
  return { run, id: text(call, 'toolCallId'), word }
}

export const aguiChecks: readonly Check<Trial>[] = [
  {
    id: 'AGUI-RUN-01',
    clause: 'A run begins with RUN_STARTED, with its threadId and runId.',
    async run(at) {
      const run = await startRun(at, askToSay(newWord()))
      const [first] = run.answer.events
      hold(text(first, 'type') === 'RUN_STARTED', 'RUN_STARTED first')
      hold(text(first, 'threadId') === run.threadId && text(first, 'runId') === run.runId, 'both ids')
    },
  },
  {
    id: 'AGUI-RUN-02',
    clause: 'A run ends with one RUN_FINISHED, and nothing comes after it.',
    async run(at) {
      const { answer } = await startRun(at, askToSay(newWord()))
      const types = answer.events.map(event => text(event, 'type'))
      hold(types.indexOf('RUN_FINISHED') === types.length - 1 && types.length > 1, 'RUN_FINISHED last', types)
    },
  },
  {
    id: 'AGUI-TEXT-01',
    clause: 'Text is TEXT_MESSAGE_START, CONTENT and END with one messageId, and adds up.',
    async run(at) {
      const word = newWord()
      const run = await startRun(at, askToSay(word))
      const parts = run.answer.events.filter(event => text(event, 'type').startsWith('TEXT_MESSAGE_'))
      const types = parts.map(event => text(event, 'type'))
      hold(
        types[0] === 'TEXT_MESSAGE_START' && types.at(-1) === 'TEXT_MESSAGE_END',
        'START first, END last',
        types,
      )
      hold(new Set(parts.map(event => text(event, 'messageId'))).size === 1, 'one messageId')
      hold(saidIn(run).includes(word), `pieces that add up to ${word}`)
    },
  },
  {
    id: 'AGUI-TEXT-02',
    clause: 'A piece of text is never empty.',
    async run(at) {
      const { answer } = await startRun(at, askToSay(newWord()))
      const pieces = typed(answer, 'TEXT_MESSAGE_CONTENT')
      hold(pieces.length > 0 && pieces.every(event => text(event, 'delta') !== ''), 'pieces with text')
    },
  },
  {
    id: 'AGUI-CALL-01',
    clause: 'A call is TOOL_CALL_START, ARGS and END with one toolCallId; its arguments add up to JSON.',
    async run(at) {
      const { run, id, word } = await called(at, 'echo')
      hold(id !== '', 'a toolCallId')
      const of = (type: string): unknown[] =>
        typed(run.answer, type).filter(event => text(event, 'toolCallId') === id)
      hold(of('TOOL_CALL_END').length === 1, 'one TOOL_CALL_END')
      const json = joinTexts(of('TOOL_CALL_ARGS'), 'delta')
      hold(text(parsed(json), 'text') === word, `arguments with ${word}`, json)
    },
  },
  {
    id: 'AGUI-CALL-02',
    clause: "A result of the server's tool is TOOL_CALL_RESULT with messageId, toolCallId and content.",
    async run(at) {
      const { run, id, word } = await called(at, 'echo')
      const result = typed(run.answer, 'TOOL_CALL_RESULT').find(event => text(event, 'toolCallId') === id)
      hold(text(result, 'messageId') !== '', 'a result with a messageId')
      hold(text(result, 'content').includes(word), `content with ${word}`)
    },
  },
  {
    id: 'AGUI-CALL-03',
    clause: 'A call of a tool of the front end ends the run without a result.',
    async run(at) {
      const { run, id } = await called(at, 'read_clipboard')
      const results = typed(run.answer, 'TOOL_CALL_RESULT').filter(event => text(event, 'toolCallId') === id)
      hold(results.length === 0, 'no TOOL_CALL_RESULT')
      hold(typed(run.answer, 'RUN_FINISHED').length === 1, 'RUN_FINISHED')
    },
  },
  {
    id: 'AGUI-CALL-04',
    clause: 'The next run with the result goes on with it.',
    async run(at) {
      const { run, id, word } = await called(at, 'read_clipboard')
      const call = { id, type: 'function', function: { name: 'read_clipboard', arguments: '{}' } }
      const messages = [
        ...run.messages,
        { id: randomUUID(), role: 'assistant', toolCalls: [call] },
        { id: randomUUID(), role: 'tool', toolCallId: id, content: 'the clipboard' },
      ]
      const next = await goOn(at, run.threadId, messages, { tools: [readClipboard] })
      hold(saidIn(next).includes(word), `an answer with ${word}`)
    },
  },
  {
    id: 'AGUI-THRD-01',
    clause: 'A thread goes on: the next run of the same thread is answered.',
    async run(at) {
      const [word, first] = [newWord(), await startRun(at, askToSay(newWord()))]
      const said = { id: randomUUID(), role: 'assistant', content: saidIn(first) }
      const second = await startRun(at, askToSay(word), {}, { ...first, messages: [...first.messages, said] })
      hold(saidIn(second).includes(word), `an answer with ${word}`)
    },
  },
  {
    id: 'AGUI-ERR-01',
    clause: 'A body that is no input of a run is refused with a status of 4xx.',
    async run(at) {
      const answer = await at.ask('', { body: { threadId: 7 } })
      hasStatus(answer, 400, 422)
      hold(
        list(answer.json, 'messages').length === 0 && pick(answer.json, 'type') !== 'RUN_STARTED',
        'no run',
      )
    },
  },
]
