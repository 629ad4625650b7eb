// DeltaKit, as its default transports see a server.
import { type Check, hold, joinTexts, need, parsed, pick, text } from '../check.ts'
import { type Answer, hasStatus, isStream, type Trial, typed } from '../trial.ts'
import { askToCall, askToSay, newWord } from '../words.ts'

async function chat(at: Trial, message: string, more: object = {}): Promise<Answer> {
  const answer = await at.ask('/api/chat', { body: { message, ...chooseAgent(at), ...more } })
  isStream(answer)
  return answer
}

function chooseAgent(at: Trial): object {
  return at.target.agent === undefined ? {} : { agent: at.target.agent }
}

function textIn(answer: Answer): string {
  return joinTexts(typed(answer, 'text_delta'), 'delta')
}

async function called(at: Trial, tool: string): Promise<{ answer: Answer; call: unknown; word: string }> {
  const word = newWord()
  const input = tool === 'echo' ? { text: word } : {}
  const answer = await chat(at, askToCall([[tool, input]], word))
  const [call] = typed(answer, 'tool_call')
  need(call !== undefined, `The agent did not call ${tool}.`)
  return { answer, call, word }
}

async function startJob(at: Trial, message: string): Promise<{ answer: Answer; id: string }> {
  const answer = await at.ask('/api/jobs', { body: { message, ...chooseAgent(at) } })
  need(answer.status !== 404 && answer.status !== 405, 'The server has no background runs.')
  return { answer, id: text(answer.json, 'job_id') }
}

async function jobEvents(at: Trial, id: string, after = ''): Promise<Answer> {
  const answer = await at.ask(`/api/jobs/${encodeURIComponent(id)}/events${after}`)
  isStream(answer)
  return answer
}

export const deltakitChecks: readonly Check<Trial>[] = [
  {
    id: 'DK-SSE-01',
    clause: 'An event is one line "data: <json>" and an empty line, with LF alone.',
    async run(at) {
      const { body } = await chat(at, askToSay(newWord()))
      hold(!body.includes('\r'), 'LF alone')
      const blocks = body.split('\n\n').filter(block => block !== '' && !block.startsWith(':'))
      hold(
        blocks.length > 0 && blocks.every(block => /^data: [^\n]+$/.test(block)),
        'one data line for each event',
      )
    },
  },
  {
    id: 'DK-SSE-03',
    clause: 'Every document is an object with a type.',
    async run(at) {
      const { events } = await chat(at, askToSay(newWord()))
      hold(events.length > 0 && events.every(event => text(event, 'type') !== ''), 'objects with a type')
    },
  },
  {
    id: 'DK-SSE-04',
    clause: 'The stream ends with "data: [DONE]" and an empty line, and nothing comes after it.',
    run: async at =>
      hold((await chat(at, askToSay(newWord()))).body.endsWith('data: [DONE]\n\n'), '[DONE] last'),
  },
  {
    id: 'DK-SSE-05',
    clause: 'The answer is 200 with text/event-stream, not cached and not buffered.',
    async run(at) {
      const { headers } = await chat(at, askToSay(newWord()))
      const caching = headers.get('cache-control') ?? 'none'
      hold(/no-cache|no-store/.test(caching), 'cache-control no-cache or no-store', caching)
    },
  },
  {
    id: 'DK-CHAT-01',
    clause: 'POST with {"message"} is answered by a stream of the turn.',
    async run(at) {
      const word = newWord()
      hold(textIn(await chat(at, askToSay(word))).includes(word), `an answer with ${word}`)
    },
  },
  {
    id: 'DK-CHAT-03',
    clause: 'Members that are not known are left alone.',
    run: async at => void (await chat(at, askToSay(newWord()), { noSuchMember: { a: 1 } })),
  },
  {
    id: 'DK-EVENT-01',
    clause: 'text_delta carries pieces of text that add up to the answer.',
    async run(at) {
      const word = newWord()
      const answer = await chat(at, askToSay(word))
      hold(
        typed(answer, 'text_delta').every(event => typeof pick(event, 'delta') === 'string'),
        'delta, a text, in each',
      )
      hold(textIn(answer).includes(word), `pieces that add up to ${word}`)
    },
  },
  {
    id: 'DK-EVENT-03',
    clause: 'tool_call is whole: tool_name and argument as JSON text, never in pieces.',
    async run(at) {
      const { answer, call, word } = await called(at, 'echo')
      hold(typed(answer, 'tool_call').length === 1, 'one tool_call')
      hold(text(call, 'tool_name') === 'echo', 'tool_name echo')
      hold(text(parsed(text(call, 'argument')), 'text') === word, `argument, JSON text with ${word}`)
    },
  },
  {
    id: 'DK-EVENT-04',
    clause: 'call_id is always there, and unique in the message.',
    async run(at) {
      const word = newWord()
      const calls = [
        ['echo', { text: 'one' }],
        ['echo', { text: 'two' }],
      ] as const
      const ids = typed(await chat(at, askToCall(calls, word)), 'tool_call').map(event =>
        text(event, 'call_id'),
      )
      need(ids.length > 1, 'The agent did not call echo twice.')
      hold(!ids.includes('') && new Set(ids).size === ids.length, 'a call_id of its own for each call', ids)
    },
  },
  {
    id: 'DK-EVENT-05',
    clause: 'tool_result follows its tool_call and carries the same call_id.',
    async run(at) {
      const { answer, call, word } = await called(at, 'echo')
      const [result] = typed(answer, 'tool_result')
      hold(text(result, 'call_id') === text(call, 'call_id'), 'the same call_id')
      hold(
        answer.events.indexOf(call) < answer.events.findIndex(event => text(event, 'type') === 'tool_result'),
        'in order',
      )
      hold(text(result, 'output').includes(word), `output with ${word}`)
    },
  },
  {
    id: 'DK-EVENT-07',
    clause: 'A failure stands in output, in words.',
    async run(at) {
      const { answer } = await called(at, 'fail')
      const [result] = typed(answer, 'tool_result')
      hold(text(result, 'output') !== '', 'words in output')
    },
  },
  {
    id: 'DK-JOB-01',
    clause: 'POST /api/jobs gives runId and job_id, the same, and status pending.',
    async run(at) {
      const { answer, id } = await startJob(at, askToSay(newWord()))
      hasStatus(answer, 200, 201, 202)
      hold(id !== '' && text(answer.json, 'runId') === id, 'runId and job_id, the same')
      hold(text(answer.json, 'status') === 'pending', 'status pending')
    },
  },
  {
    id: 'DK-JOB-02',
    clause: 'GET events streams the run from its start, then done, then [DONE].',
    async run(at) {
      const word = newWord()
      const { id } = await startJob(at, askToSay(word))
      const answer = await jobEvents(at, id)
      hold(textIn(answer).includes(word), `an answer with ${word}`)
      hold(
        text(answer.events.at(-1), 'type') === 'done' && answer.frames.at(-1)?.data === '[DONE]',
        'done and [DONE] last',
      )
    },
  },
  {
    id: 'DK-JOB-03',
    clause: 'Every event has an id line, numbered from 0 without gaps.',
    async run(at) {
      const { id } = await startJob(at, askToSay(newWord()))
      const ids = (await jobEvents(at, id)).frames
        .filter(({ data }) => data !== '[DONE]')
        .map(frame => frame.id)
      hold(ids.length > 0 && ids.every((each, index) => each === String(index)), 'ids 0, 1, 2, …', ids)
    },
  },
  {
    id: 'DK-JOB-05',
    clause: 'last_event_id, or Last-Event-ID, leaves out what the client has.',
    async run(at) {
      const { id } = await startJob(at, askToSay(newWord()))
      const [, second] = (await jobEvents(at, id)).frames
      const [first] = (await jobEvents(at, id, '?last_event_id=0')).frames
      hold(first?.id === '1' && first.data === second?.data, 'the event 1 first', first?.id ?? 'none')
    },
  },
  {
    id: 'DK-JOB-08',
    clause: 'An unknown job is 404 with {"detail":"Job not found"}; a stranger\'s too.',
    async run(at) {
      await startJob(at, askToSay(newWord()))
      const answer = await at.ask('/api/jobs/no-such-job')
      hasStatus(answer, 404)
      hold(text(answer.json, 'detail') === 'Job not found', '"Job not found" in detail')
    },
  },
]
