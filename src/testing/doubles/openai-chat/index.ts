/**
 * The Chat Completions double: routes, keys, refusals and answers put together as one `VendorDouble`.
 * Two flavours are declared. `openai` is the vendor itself, with every rule. `compatible` is the family of
 * servers that speak its dialect: it takes looser input and streams tool calls the odd ways such servers do.
 */
import { randomUUID } from 'node:crypto'
import type { VendorDouble, VendorName } from '../double.ts'
import { authoriseBearer, failureOf, isObject, rejectionBody, unreadableBody } from '../openai/refusals.ts'
import { rawFrames } from '../script.ts'
import { answerChat, type ChatQuirks, NO_QUIRKS } from './answer.ts'
import { checkChat, checkCompatibleChat } from './request.ts'

/** `salt` keeps the ids of two doubles apart, so that a history may span both. */
export type ChatMemory = { answered: number; salt: string }

export type ChatFlavour = 'openai' | 'compatible'

const COMPATIBLE_QUIRKS: ChatQuirks = { ...NO_QUIRKS, wholeCalls: true, showReasoning: true }

export function chatDouble(
  name: VendorName,
  flavour: ChatFlavour,
  quirks: Partial<ChatQuirks> = {},
): VendorDouble<ChatMemory> {
  const declared = { ...(flavour === 'compatible' ? COMPATIBLE_QUIRKS : NO_QUIRKS), ...quirks }
  return {
    name,
    memory: () => ({ answered: 0, salt: randomUUID() }),
    route: (method, path) =>
      method === 'POST' && path.endsWith('/chat/completions') ? { kind: 'create', params: {} } : null,
    // Compatible servers on a developer's machine ask for no key unless they were given one.
    authorise: (headers, _query, apiKey) =>
      flavour === 'compatible' && apiKey === undefined ? null : authoriseBearer(headers, apiKey),
    unreadable: unreadableBody,
    check: request => (flavour === 'compatible' ? checkCompatibleChat : checkChat)(request.body),
    streams: request => isObject(request.body) && request.body['stream'] === true,
    respond(turn, request, memory) {
      memory.answered += 1
      const salt = `${memory.salt}:${memory.answered}`
      const frames = rawFrames(turn.raw)
      if (frames !== null) return { body: null, frames }
      const body = isObject(request.body) ? request.body : {}
      const created = Math.floor(Date.now() / 1000)
      return answerChat({ turn, body, rawText: request.rawText, salt, created, quirks: declared })
    },
    failure: failureOf,
    rejectionBody,
    errorFrame: (type, message) => ({
      data: JSON.stringify({
        error: {
          message: message ?? 'The server had an error while processing your request. Sorry about that!',
          type: type ?? 'server_error',
          param: null,
          code: null,
        },
      }),
    }),
    noiseFrame: kind =>
      kind === 'ping' ? null : { data: JSON.stringify({ object: 'chat.completion.notice', choices: [] }) },
  }
}

export const openaiChat = chatDouble('openai-chat', 'openai')

export const openaiCompatible = chatDouble('openai-compatible', 'compatible')
