// What the checks of the Agent Application Protocol do at a server: make sessions, take turns, read answers.
import { list, need, pick, text } from '../check.ts'
import { type Answer, hasStatus, isStream, type Trial } from '../trial.ts'
import { askToCall, askToSay, newWord } from '../words.ts'
import { readClipboard } from './models.ts'

export const unknownSession = '/sessions/no-such-session'
export const serverTools = [
  { name: 'echo', trust: true },
  { name: 'fail', trust: true },
  { name: 'send', trust: false },
]

export async function readMeta(at: Trial): Promise<unknown> {
  const answer = await at.ask('/meta')
  hasStatus(answer, 200)
  return answer.json
}

export async function agentName(at: Trial): Promise<string> {
  if (at.target.agent !== undefined) return at.target.agent
  const name = text((await at.ask('/meta')).json, 'agents', 0, 'name')
  need(name !== '', 'GET /meta names no agent.')
  return name
}

export async function createSession(at: Trial, more: object = {}): Promise<Answer> {
  const name = await agentName(at)
  return at.ask('/sessions', { body: { agent: { name, tools: serverTools }, ...more } })
}

export async function newSession(at: Trial, more: object = {}): Promise<string> {
  const answer = await createSession(at, more)
  const id = text(answer.json, 'sessionId')
  need(id !== '', `No session could be made: POST /sessions answered ${answer.status}.`)
  return id
}

export function takeTurn(at: Trial, session: string, message: object, more: object = {}): Promise<Answer> {
  return at.ask(`/sessions/${session}/turns`, { body: { messages: [message], ...more } })
}

export function say(at: Trial, session: string, content: string, more: object = {}): Promise<Answer> {
  return takeTurn(at, session, { role: 'user', content }, more)
}

/** A turn in a session of its own. */
export async function sayNew(at: Trial, content: string, more: object = {}): Promise<Answer> {
  return say(at, await newSession(at), content, more)
}

export type Block = { type: string; text: string; toolCallId: string; name: string; input: unknown }

export function listBlocks(message: unknown): Block[] {
  const content = pick(message, 'content')
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : list(message, 'content')
  return blocks.map(block => ({
    type: text(block, 'type'),
    text: text(block, 'text'),
    toolCallId: text(block, 'toolCallId'),
    name: text(block, 'name'),
    input: pick(block, 'input'),
  }))
}

export function saidIn(messages: readonly unknown[]): string {
  return messages
    .filter(message => pick(message, 'role') === 'assistant')
    .flatMap(listBlocks)
    .map(block => (block.type === 'text' ? block.text : ''))
    .join('')
}

export function joinWords(message: unknown): string {
  return listBlocks(message)
    .map(block => block.text)
    .join('')
}

export function callIn(answer: Answer, tool: string): Block {
  const call = list(answer.json, 'messages')
    .flatMap(listBlocks)
    .find(({ type, name }) => type === 'tool_use' && name === tool)
  need(call !== undefined, `The agent did not call ${tool}.`)
  return call
}

/** The result of a call among the messages of an answer. */
export function resultIn(answer: Answer, { toolCallId }: Block): unknown {
  return list(answer.json, 'messages').find(each => text(each, 'toolCallId') === toolCallId)
}

export async function readHistory(at: Trial, session: string, type: string): Promise<unknown[]> {
  const answer = await at.ask(`/sessions/${session}/history?type=${type}`)
  need(answer.status !== 404, `The agent has no history of the type ${type}.`)
  hasStatus(answer, 200)
  return list(answer.json, 'history', type)
}

/** A session whose call of `send` waits for a permission. */
export async function waitingSend(
  at: Trial,
): Promise<{ session: string; word: string; call: Block; answer: Answer }> {
  const [session, word] = [await newSession(at), newWord()]
  const answer = await say(at, session, askToCall([['send', { text: word }]], word))
  return { session, word, call: callIn(answer, 'send'), answer }
}

export async function waitingClipboard(at: Trial) {
  const [session, word] = [await newSession(at, { tools: [readClipboard] }), newWord()]
  const answer = await say(at, session, askToCall([['read_clipboard', {}]], word))
  return { session, word, call: callIn(answer, 'read_clipboard'), answer }
}

export function eventNames(answer: Answer): string[] {
  return answer.frames.map(({ event }) => event ?? '')
}

export async function streamed(at: Trial, stream: string, words?: string): Promise<Answer> {
  const answer = await sayNew(at, words ?? askToSay(newWord()), { stream })
  isStream(answer)
  return answer
}
