// The double of Chat Completions, in two flavours. `openai` is the vendor itself, with every rule. `compatible` is the
// family of servers that speak its dialect: it accepts looser input and streams tool calls the odd ways such servers
// do.
import { randomUUID } from 'node:crypto'
import { rawAnswer, type VendorDouble, type VendorName } from '../double.ts'
import { openaiEnvelope, SERVER_ERROR } from '../openai/envelope.ts'
import { jsonFrame } from '../script.ts'
import { answerChat, type ChatQuirks } from './answer.ts'
import { checkChat, checkCompatibleChat } from './request.ts'

/** `salt` makes the ids of two doubles differ, so that a history may span both. */
type ChatMemory = { answered: number; salt: string }

const NO_QUIRKS: ChatQuirks = { index: 'right', repeatIds: false, wholeCalls: false, showReasoning: false }
const COMPATIBLE_QUIRKS: ChatQuirks = { ...NO_QUIRKS, wholeCalls: true, showReasoning: true }

export function chatDouble(
  name: VendorName,
  flavour: 'openai' | 'compatible',
  quirks: Partial<ChatQuirks> = {},
): VendorDouble<ChatMemory> {
  const isCompatible = flavour === 'compatible'
  const declared = { ...(isCompatible ? COMPATIBLE_QUIRKS : NO_QUIRKS), ...quirks }
  return {
    ...openaiEnvelope,
    name,
    memory: () => ({ answered: 0, salt: randomUUID() }),
    route: (method, path) =>
      method === 'POST' && path.endsWith('/chat/completions') ? { kind: 'create', params: {} } : null,
    // Compatible servers on a developer's machine ask for no key unless they were given one.
    authorise: (headers, query, apiKey) =>
      isCompatible && apiKey === undefined ? null : openaiEnvelope.authorise(headers, query, apiKey),
    check: ({ body }) => [...(isCompatible ? checkCompatibleChat(body) : checkChat(body))],
    respond(turn, request, memory) {
      memory.answered += 1
      return (
        rawAnswer(turn, request) ?? answerChat(turn, request, `${memory.salt}:${memory.answered}`, declared)
      )
    },
    errorFrame: (type = 'server_error', message = SERVER_ERROR) =>
      jsonFrame(undefined, { error: { message, type, param: null, code: null } }),
    noiseFrame: kind =>
      kind === 'ping' ? null : jsonFrame(undefined, { object: 'chat.completion.notice', choices: [] }),
  }
}

export const openaiChatDouble = chatDouble('openai-chat', 'openai')

export const openaiCompatibleDouble = chatDouble('openai-compatible', 'compatible')
