// The Agent Application Protocol, version 3: calls that run, ask and wait, and the history.
import { type Check, hold, list, need, pick, text } from '../check.ts'
import { type Answer, hasStatus, type Trial } from '../trial.ts'
import { askToCall, askToSay, newWord } from '../words.ts'
import {
  type Block,
  callIn,
  joinWords,
  listBlocks,
  newSession,
  readHistory,
  resultIn,
  saidIn,
  say,
  sayNew,
  takeTurn,
  unknownSession,
  waitingClipboard,
  waitingSend,
} from './aap-session.ts'

/** The turn has stopped for a call that was not run. */
function holdStopped({ answer, call }: { answer: Answer; call: Block }): void {
  hold(text(answer.json, 'stopReason') === 'tool_use', 'stopReason tool_use')
  hold(resultIn(answer, call) === undefined, 'no result of the call')
}

export const aapCallChecks: readonly Check<Trial>[] = [
  {
    id: 'AAP-STOP-02',
    clause: 'tool_use: the client must act.',
    async run(at) {
      const { answer } = await waitingClipboard(at)
      hold(text(answer.json, 'stopReason') === 'tool_use', 'stopReason tool_use')
    },
  },
  {
    id: 'AAP-CALL-01',
    clause: 'A trusted server tool runs inline, and the turn goes on with its result.',
    async run(at) {
      const word = newWord()
      const answer = await sayNew(at, askToCall([['echo', { text: word }]], word))
      const result = resultIn(answer, callIn(answer, 'echo'))
      hold(text(answer.json, 'stopReason') === 'end_turn', 'stopReason end_turn')
      hold(joinWords(result).includes(word), `a result with ${word}`)
    },
  },
  {
    id: 'AAP-CALL-02',
    clause: 'An untrusted server tool does not run: the turn stops with tool_use.',
    run: async at => holdStopped(await waitingSend(at)),
  },
  {
    id: 'AAP-CALL-03',
    clause: 'A client tool is not run by the server: the turn stops with tool_use.',
    run: async at => holdStopped(await waitingClipboard(at)),
  },
  {
    id: 'AAP-CALL-05',
    clause: 'A granted call runs in the follow-up turn, which shows its result.',
    async run(at) {
      const { session, word, call } = await waitingSend(at)
      const { toolCallId } = call
      const answer = await takeTurn(at, session, { role: 'tool_permission', toolCallId, granted: true })
      hasStatus(answer, 200)
      hold(joinWords(resultIn(answer, call)).includes(word), `a result with ${word}`)
    },
  },
  {
    id: 'AAP-CALL-08',
    clause: 'A denial with a reason is recorded as "Tool call denied: <reason>".',
    async run(at) {
      const { session, call } = await waitingSend(at)
      const denial = {
        role: 'tool_permission',
        toolCallId: call.toolCallId,
        granted: false,
        reason: 'not today',
      }
      hasStatus(await takeTurn(at, session, denial), 200)
      const history = await readHistory(at, session, 'full')
      const result = history.find(
        each => text(each, 'role') === 'tool' && text(each, 'toolCallId') === call.toolCallId,
      )
      hold(joinWords(result) === 'Tool call denied: not today', '"Tool call denied: not today" as its result')
    },
  },
  {
    id: 'AAP-CALL-10',
    clause: 'Permissions are never part of the history.',
    async run(at) {
      const { session, call } = await waitingSend(at)
      const grant = { role: 'tool_permission', toolCallId: call.toolCallId, granted: true }
      hasStatus(await takeTurn(at, session, grant), 200)
      const roles = (await readHistory(at, session, 'full')).map(each => text(each, 'role'))
      hold(roles.length > 0 && !roles.includes('tool_permission'), 'a history without tool_permission')
    },
  },
  {
    id: 'AAP-CALL-11',
    clause: "A client's result is recorded and read by the model, and not sent back to the client.",
    async run(at) {
      const { session, word, call } = await waitingClipboard(at)
      const { toolCallId } = call
      const answer = await takeTurn(at, session, { role: 'tool', toolCallId, content: 'the clipboard' })
      hasStatus(answer, 200)
      const messages = list(answer.json, 'messages')
      hold(!messages.some(each => text(each, 'role') === 'tool'), 'no tool message in the answer')
      hold(saidIn(messages).includes(word), `an answer with ${word}`)
    },
  },
  {
    id: 'AAP-CALL-21',
    clause: "A tool's failure is plain text in its result.",
    async run(at) {
      const answer = await sayNew(at, askToCall([['fail', {}]], newWord()))
      hold(joinWords(resultIn(answer, callIn(answer, 'fail'))) !== '', 'words in the result')
      hold(text(answer.json, 'stopReason') === 'end_turn', 'a turn that goes on')
    },
  },
]

export const aapHistoryChecks: readonly Check<Trial>[] = [
  {
    id: 'AAP-HIST-01',
    clause: 'type=full gives all that was said, exactly.',
    async run(at) {
      const [session, word] = [await newSession(at), newWord()]
      const words = askToSay(word)
      await say(at, session, words)
      const messages = await readHistory(at, session, 'full')
      const user = messages.find(each => text(each, 'role') === 'user')
      hold(joinWords(user) === words && saidIn(messages).includes(word), 'both messages of the turn')
    },
  },
  {
    id: 'AAP-HIST-03',
    clause: 'The answer holds the kind that was asked for and no other.',
    async run(at) {
      const answer = await at.ask(`/sessions/${await newSession(at)}/history?type=compacted`)
      need(answer.status !== 404, 'The agent has no compacted history.')
      const kinds = Object.keys(pick(answer.json, 'history') ?? {})
      hold(kinds.length === 1 && kinds[0] === 'compacted', 'compacted and nothing else')
    },
  },
  {
    id: 'AAP-HIST-04',
    clause: 'A missing or other type is 400: type must be "compacted" or "full".',
    async run(at) {
      const path = `/sessions/${await newSession(at)}/history`
      hasStatus(await at.ask(path), 400)
      hasStatus(await at.ask(`${path}?type=other`), 400)
    },
  },
  {
    id: 'AAP-HIST-06',
    clause: 'An unknown session is 404.',
    run: async at => hasStatus(await at.ask(`${unknownSession}/history?type=full`), 404),
  },
  {
    id: 'AAP-HIST-07',
    clause: 'A history may end with calls that have no result yet.',
    async run(at) {
      const { session, call } = await waitingSend(at)
      const messages = await readHistory(at, session, 'full')
      const last = listBlocks(messages.at(-1)).find(({ type }) => type === 'tool_use')
      hold(last?.toolCallId === call.toolCallId, 'the open call in the last message')
    },
  },
  {
    id: 'AAP-ERR-01',
    clause: 'An error body is JSON with error as text; we add code.',
    async run(at) {
      const answer = await at.ask(unknownSession)
      hold(text(answer.json, 'error') !== '', 'a JSON body with error')
    },
  },
]
