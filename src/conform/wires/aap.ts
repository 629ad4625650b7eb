// The Agent Application Protocol, version 3, as a client sees it: what is declared, sessions, turns and their streams.
import { type Check, hold, list, need, pick, text } from '../check.ts'
import { hasStatus, type Trial } from '../trial.ts'
import { askToCall, askToSay, newWord } from '../words.ts'
import { aapCallChecks, aapHistoryChecks } from './aap-calls.ts'
import {
  callIn,
  createSession,
  eventNames,
  joinWords,
  listBlocks,
  newSession,
  readHistory,
  readMeta,
  saidIn,
  say,
  sayNew,
  streamed,
  takeTurn,
  unknownSession,
} from './aap-session.ts'
import { readClipboard } from './models.ts'

const meta: readonly Check<Trial>[] = [
  {
    id: 'AAP-META-01',
    clause: 'GET /meta answers 200 with JSON: version and agents.',
    async run(at) {
      const found = await readMeta(at)
      hold(Array.isArray(pick(found, 'agents')), 'agents, a list')
      hold(typeof pick(found, 'version') === 'number', 'version, a number')
    },
  },
  {
    id: 'AAP-META-02',
    clause: 'version is the one that the base URL serves; at the root it is 3.',
    run: async at => hold(pick(await readMeta(at), 'version') === 3, 'version 3'),
  },
  {
    id: 'AAP-META-03',
    clause: 'An agent has name and version, and title and description when it has any.',
    async run(at) {
      const agents = list(await readMeta(at), 'agents')
      need(agents.length > 0, 'The server has no agent.')
      hold(
        agents.every(agent => text(agent, 'name') !== '' && text(agent, 'version') !== ''),
        'name and version of each agent',
      )
    },
  },
  {
    id: 'AAP-META-04',
    clause: 'A listed tool has name, description and its JSON Schema in parameters; title when it has one.',
    async run(at) {
      const tools = list(await readMeta(at), 'agents').flatMap(agent => list(agent, 'tools'))
      need(tools.length > 0, 'No tool is listed.')
      const isWhole = (tool: unknown): boolean =>
        text(tool, 'name') !== '' &&
        typeof pick(tool, 'description') === 'string' &&
        typeof pick(tool, 'parameters') === 'object'
      hold(tools.every(isWhole), 'name, description and parameters of each tool')
    },
  },
  {
    id: 'AAP-META-10',
    clause: 'Capabilities are empty objects; what is missing is unsupported.',
    async run(at) {
      const all = list(await readMeta(at), 'agents').map(agent => pick(agent, 'capabilities'))
      need(
        all.some(each => each !== undefined),
        'No agent declares capabilities.',
      )
      const leaves = all.flatMap(each =>
        Object.values(each ?? {}).flatMap(group => Object.values(group ?? {})),
      )
      const isEmpty = (leaf: unknown): boolean =>
        typeof leaf === 'object' && leaf !== null && Object.keys(leaf).length === 0
      hold(leaves.every(isEmpty), 'an empty object for each capability')
    },
  },
]

const sessions: readonly Check<Trial>[] = [
  {
    id: 'AAP-SESS-01',
    clause: 'Creation answers 201 with sessionId and nothing else.',
    async run(at) {
      const answer = await createSession(at)
      hasStatus(answer, 201)
      hold(text(answer.json, 'sessionId') !== '', 'sessionId')
      hold(Object.keys(answer.json ?? {}).length === 1, 'nothing but sessionId')
    },
  },
  {
    id: 'AAP-SESS-02',
    clause: 'Creation does not run the agent.',
    async run(at) {
      const messages = [{ role: 'user', content: askToSay(newWord()) }]
      const said = saidIn(await readHistory(at, await newSession(at, { messages }), 'full'))
      hold(said === '', 'no answer of the agent in the history')
    },
  },
  {
    id: 'AAP-SESS-09',
    clause: 'messages are the beginning of the history: system, user, assistant and tool.',
    async run(at) {
      const word = newWord()
      const messages = [
        { role: 'user', content: 'Hello' },
        { role: 'assistant', content: word },
      ]
      const history = await readHistory(at, await newSession(at, { messages }), 'full')
      hold(saidIn(history).includes(word), 'the seeded messages in the history')
    },
  },
  {
    id: 'AAP-SESS-14',
    clause: 'A session shows its id, its agent with tools and options, and its client tools.',
    async run(at) {
      const session = await newSession(at, { tools: [readClipboard] })
      const answer = await at.ask(`/sessions/${session}`)
      hasStatus(answer, 200)
      hold(text(answer.json, 'sessionId') === session, `the sessionId ${session}`)
      hold(text(answer.json, 'agent', 'name') !== '', 'agent.name')
      hold(text(answer.json, 'tools', 0, 'name') === readClipboard.name, 'the client tool in tools')
    },
  },
  {
    id: 'AAP-SESS-17',
    clause: 'A session does not show its history.',
    async run(at) {
      const answer = await at.ask(`/sessions/${await newSession(at)}`)
      hasStatus(answer, 200)
      hold(pick(answer.json, 'history') === undefined, 'no history')
    },
  },
  {
    id: 'AAP-SESS-18',
    clause: 'An unknown session is 404.',
    run: async at => hasStatus(await at.ask(unknownSession), 404),
  },
  {
    id: 'AAP-SESS-19',
    clause: 'Deletion answers 204 with no body, and then the session is unknown.',
    async run(at) {
      const path = `/sessions/${await newSession(at)}`
      const answer = await at.ask(path, { method: 'DELETE' })
      hasStatus(answer, 204)
      hold(answer.body === '', 'no body')
      hasStatus(await at.ask(path), 404)
    },
  },
  {
    id: 'AAP-SESS-20',
    clause: 'Deleting an unknown session is 404.',
    run: async at => hasStatus(await at.ask(unknownSession, { method: 'DELETE' }), 404),
  },
  {
    id: 'AAP-SESS-21',
    clause: 'The list holds whole session objects.',
    async run(at) {
      const session = await newSession(at)
      let cursor = ''
      for (let page = 0; page < 20; page++) {
        const answer = await at.ask(`/sessions${cursor === '' ? '' : `?after=${encodeURIComponent(cursor)}`}`)
        hasStatus(answer, 200)
        const found = list(answer.json, 'sessions')
        const isWhole = (each: unknown): boolean =>
          text(each, 'sessionId') !== '' && text(each, 'agent', 'name') !== ''
        hold(found.every(isWhole), 'sessions with sessionId and agent')
        if (found.some(each => text(each, 'sessionId') === session)) return
        cursor = text(answer.json, 'next')
        hold(cursor !== '', `the session ${session} on one of the pages`)
      }
      need(false, 'The list is too long to look through.')
    },
  },
]

const turns: readonly Check<Trial>[] = [
  {
    id: 'AAP-TURN-01',
    clause: 'A turn in an unknown session is 404.',
    run: async at => hasStatus(await say(at, 'no-such-session', 'Hello'), 404),
  },
  {
    id: 'AAP-TURN-05',
    clause: 'stream is none when it is left out.',
    async run(at) {
      const answer = await sayNew(at, askToSay(newWord()))
      hasStatus(answer, 200)
      hold(answer.type.startsWith('application/json'), 'the content type application/json', answer.type)
    },
  },
  {
    id: 'AAP-TURN-14',
    clause: 'User content is a string or a list of blocks.',
    async run(at) {
      const word = newWord()
      const content = [{ type: 'text', text: askToSay(word) }]
      const answer = await takeTurn(at, await newSession(at), { role: 'user', content })
      hasStatus(answer, 200)
      hold(saidIn(list(answer.json, 'messages')).includes(word), `an answer with ${word}`)
    },
  },
  {
    id: 'AAP-MODE-01',
    clause: 'none answers JSON with stopReason and messages.',
    async run(at) {
      const word = newWord()
      const answer = await sayNew(at, askToSay(word), { stream: 'none' })
      hasStatus(answer, 200)
      hold(text(answer.json, 'stopReason') !== '', 'stopReason')
      hold(saidIn(list(answer.json, 'messages')).includes(word), `messages that say ${word}`)
    },
  },
  {
    id: 'AAP-MODE-02',
    clause:
      'messages holds all that the turn made, in order: calls, results of server tools, the final answer.',
    async run(at) {
      const word = newWord()
      const answer = await sayNew(at, askToCall([['echo', { text: word }]], word))
      const call = callIn(answer, 'echo')
      const messages = list(answer.json, 'messages')
      const places = [
        messages.findIndex(each => listBlocks(each).some(({ toolCallId }) => toolCallId === call.toolCallId)),
        messages.findIndex(
          each => text(each, 'role') === 'tool' && text(each, 'toolCallId') === call.toolCallId,
        ),
        messages.findLastIndex(each => saidIn([each]).includes(word)),
      ]
      const [first = -1, second = -1, third = -1] = places
      hold(first >= 0 && second > first && third > second, 'the call, its result and the answer, in order')
    },
  },
  {
    id: 'AAP-MODE-03',
    clause: 'delta and message answer with text/event-stream.',
    async run(at) {
      await streamed(at, 'delta')
      await streamed(at, 'message')
    },
  },
  {
    id: 'AAP-MODE-04',
    clause: 'An event is a name line and one line of JSON that does not repeat the name; no ids, no retry.',
    async run(at) {
      const answer = await streamed(at, 'message')
      hold(answer.frames.length > 0, 'events')
      const isPlain = answer.frames.every(
        ({ event, id }, index) =>
          event !== undefined && id === undefined && pick(answer.events[index], 'type') === undefined,
      )
      hold(isPlain, 'a name, JSON without the name, and no id')
    },
  },
  {
    id: 'AAP-MODE-05',
    clause: 'turn_start with an empty object comes first.',
    async run(at) {
      const [first] = (await streamed(at, 'message')).frames
      hold(first?.event === 'turn_start' && first.data === '{}', 'turn_start and {} first')
    },
  },
  {
    id: 'AAP-MODE-06',
    clause: 'text_delta carries pieces of text.',
    async run(at) {
      const word = newWord()
      const answer = await streamed(at, 'delta', askToSay(word))
      const pieces = answer.frames.filter(({ event }) => event === 'text_delta')
      const said = pieces.map(({ data }) => text(JSON.parse(data), 'delta')).join('')
      hold(said.includes(word), `text_delta events that add up to ${word}`)
    },
  },
  {
    id: 'AAP-MODE-08',
    clause: 'text carries a complete text; there may be several.',
    async run(at) {
      const word = newWord()
      const answer = await streamed(at, 'message', askToSay(word))
      const whole = answer.frames.some(({ event, data }) => event === 'text' && data.includes(word))
      hold(whole, `a text event with ${word}`)
    },
  },
  {
    id: 'AAP-MODE-10',
    clause: 'tool_call carries id, name and the whole input, in both modes.',
    async run(at) {
      const word = newWord()
      for (const mode of ['delta', 'message']) {
        const answer = await streamed(at, mode, askToCall([['echo', { text: word }]], word))
        const calls = answer.frames.filter(({ event }) => event === 'tool_call')
        need(calls.length > 0, 'The agent did not call echo.')
        const [call] = calls.map(({ data }) => JSON.parse(data) as unknown)
        hold(
          text(call, 'toolCallId') !== '' &&
            text(call, 'name') === 'echo' &&
            text(call, 'input', 'text') === word,
          'tool_call with toolCallId, name and input',
        )
      }
    },
  },
  {
    id: 'AAP-MODE-11',
    clause: 'tool_result follows its call and carries id and content, in both modes.',
    async run(at) {
      const word = newWord()
      for (const mode of ['delta', 'message']) {
        const answer = await streamed(at, mode, askToCall([['echo', { text: word }]], word))
        const names = eventNames(answer)
        need(names.includes('tool_call'), 'The agent did not call echo.')
        const result = answer.events[names.indexOf('tool_result')]
        hold(names.indexOf('tool_result') > names.indexOf('tool_call'), 'tool_result after tool_call')
        const call = answer.events[names.indexOf('tool_call')]
        hold(text(result, 'toolCallId') === text(call, 'toolCallId'), 'the id of the call')
        hold(joinWords(result).includes(word), `content with ${word}`)
      }
    },
  },
  {
    id: 'AAP-MODE-12',
    clause: 'turn_stop comes once and last.',
    async run(at) {
      const names = eventNames(await streamed(at, 'delta'))
      hold(
        names.indexOf('turn_stop') === names.length - 1 && names.length > 1,
        'one turn_stop, as the last event',
      )
    },
  },
  {
    id: 'AAP-MODE-19',
    clause: 'Pieces are for delta mode only, whole texts for message mode only.',
    async run(at) {
      hold(!eventNames(await streamed(at, 'delta')).includes('text'), 'no text event in delta mode')
      const names = eventNames(await streamed(at, 'message'))
      hold(!names.includes('text_delta'), 'no text_delta event in message mode')
    },
  },
  {
    id: 'AAP-STOP-01',
    clause: 'end_turn: the model has answered.',
    async run(at) {
      const answer = await sayNew(at, askToSay(newWord()))
      hold(text(answer.json, 'stopReason') === 'end_turn', 'stopReason end_turn')
    },
  },
]

export const aapChecks: readonly Check<Trial>[] = [
  ...meta,
  ...sessions,
  ...turns,
  ...aapCallChecks,
  ...aapHistoryChecks,
]
