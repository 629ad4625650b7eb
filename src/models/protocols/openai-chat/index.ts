// Chat Completions as a protocol: OpenAI's own, and the family of servers that speak its dialect. What such a
// server does not take is declared as a quirk (openai-chat-quirks.ts); what it says oddly is read without.
// The body is put together here; tools, messages and answers are in the files beside this one.

import type { ModelRequest } from '../../../engine/ports.ts'
import type { Origin } from '../../../language/content.ts'
import type { JsonObject } from '../../../lib/json.ts'
import { wireJson } from '../../common/artifacts.ts'
import { encodeEntries, joinPieces } from '../../common/encode-cache.ts'
import { wireIds } from '../../common/wire-ids.ts'
import type { Prepared, Protocol, Target } from '../../protocol.ts'
import { haltState, initialState, type Reading, type State, stepFrame } from './decode.ts'
import { encodeEntry, type HistoryContext, placeOf, systemMessage } from './encode.ts'
import { statusFailure } from './failure.ts'
import { type ChatQuirk, idRuleOf } from './quirks.ts'
import { type Offer, offerTools, toolFields, type Warn } from './tools.ts'

export type { State } from './decode.ts'
export { type ChatQuirk, chatQuirks, compatibleQuirks } from './quirks.ts'

const protocolName = 'openai-chat'

export const openaiChat: Protocol<State> = {
  name: protocolName,
  prepare,
  initial,
  step: stepFrame,
  halt: haltState,
  failure: statusFailure,
}

/** What reading the answer takes beside the names. */
type Sent = Prepared & { sent: Pick<Reading, 'origin' | 'wrapped' | 'single'> }

function prepare(request: ModelRequest, target: Target): Sent {
  const warnings: string[] = []
  const warn: Warn = text => {
    if (!warnings.includes(text)) warnings.push(text)
  }
  const origin: Origin = { protocol: protocolName, family: target.family }
  const offer = offerTools(request, target, warn)
  const { messages, encoded } = encodeMessages(request, target, origin, offer, warn)
  const fields: JsonObject = {
    ...operatorFields(request, target),
    model: target.model,
    ...streamFields(target),
    ...toolFields(request, target, offer, warn),
  }
  return {
    path: '/chat/completions',
    headers: {},
    // Messages are JSON text already; only what changes from request to request is written anew.
    body: `${wireJson(fields).slice(0, -1)},"messages":[${messages}]}`,
    warnings,
    names: offer.names.fromWire,
    encoded,
    sent: { origin, wrapped: offer.wrapped, single: !request.parallel },
  }
}

function initial(prepared: Prepared): State {
  if (!isSent(prepared)) throw new TypeError('initial() takes what prepare() of the same protocol gave.')
  return initialState({ ...prepared.sent, names: prepared.names })
}

function isSent(prepared: Prepared): prepared is Sent {
  return 'sent' in prepared
}

const has = (target: Target, quirk: ChatQuirk): boolean => target.quirks.has(quirk)

const emptyMessage = wireJson({ role: 'user', content: '(empty message)' })

function encodeMessages(
  request: ModelRequest,
  target: Target,
  origin: Origin,
  offer: Offer,
  warn: Warn,
): { messages: string; encoded: number } {
  const { history, system } = request
  const ids = wireIds(history, origin, idRuleOf(target.quirks))
  const instructed = system !== undefined && system !== ''
  const { toWire } = offer.names
  const context: HistoryContext = { history, origin, target, ids, toWire, instructed, warn }
  const encoded = encodeEntries(
    history,
    [protocolName, target.family, ...[...target.quirks].sort()].join(' '),
    (entry, index) => encodeEntry(context, entry, index),
    index => placeOf(context, index),
  )
  const { text } = joinPieces(encoded, before => (before < 0 ? '' : ','))
  const said = text === '' ? emptyMessage : text
  const messages = instructed ? `${wireJson(systemMessage(system))},${said}` : said
  return { messages, encoded: encoded.encoded }
}

/** The operator's fields, and the limit of the answer, which is said under one name only. */
function operatorFields(request: ModelRequest, target: Target): JsonObject {
  const { messages: _, max_tokens: old, max_completion_tokens: own, ...fields } = target.body
  const name = has(target, 'max-tokens') ? 'max_tokens' : 'max_completion_tokens'
  const most = request.maxTokens ?? own ?? old ?? target.maxTokens
  // A limit that is no positive number is not said: the server has its own.
  if (typeof most !== 'number' || !Number.isFinite(most) || most < 1) return fields
  return { ...fields, [name]: Math.floor(most) }
}

function streamFields(target: Target): JsonObject {
  if (has(target, 'no-stream')) return {}
  return {
    stream: true,
    ...(!has(target, 'no-stream-options') && { stream_options: { include_usage: true } }),
  }
}
