// The Responses API as a protocol. By default nothing is kept by the vendor: the whole history is sent, with the
// model's own items in place and its reasoning encrypted. A stateful target goes on from the last response where
// that is sound. The body is put together here; items, tools and answers are in the files beside this one.
//
// Quirk: `no-reasoning` is a model that neither gives reasoning nor takes it back.

import type { ModelRequest } from '../../../engine/ports.ts'
import type { Origin } from '../../../language/content.ts'
import type { JsonObject } from '../../../lib/json.ts'
import { wireJson } from '../../common/artifacts.ts'
import { encodeEntries, joinPieces } from '../../common/encode-cache.ts'
import { type IdRule, wireIds } from '../../common/wire-ids.ts'
import type { Prepared, Protocol, Target } from '../../protocol.ts'
import { continuityOf, digestHistory, type Resumption, resumption } from './continuity.ts'
import { haltState, initialState, type State, stepFrame } from './decode.ts'
import { encodeEntry, type HistoryContext, plainEntries } from './encode.ts'
import { noReasoning, statusFailure } from './failure.ts'
import { protocolName } from './items.ts'
import { type Offer, offerTools, toolFields } from './tools.ts'

export type { State } from './decode.ts'
export { noReasoning } from './failure.ts'

export const openaiResponses: Protocol<State> = {
  name: protocolName,
  prepare,
  initial,
  step: stepFrame,
  halt: haltState,
  failure: statusFailure,
}

/** What reading the answer takes beside the names. `before`: the digest of the history, when the vendor keeps it. */
type Sent = Prepared & { sent: { origin: Origin; before?: string } }

const idRule: IdRule = { pattern: /^[A-Za-z0-9_-]+$/, maxLength: 64 }
const sealedReasoning = 'reasoning.encrypted_content'
const fewestTokens = 16

function prepare(request: ModelRequest, target: Target): Sent {
  const warnings: string[] = []
  const warn = (text: string): void => {
    if (!warnings.includes(text)) warnings.push(text)
  }
  const origin: Origin = { protocol: protocolName, family: target.family }
  const offer = offerTools(request.tools, warn)
  const input = encodeInput(request, target, origin, offer, warn)
  const fields: JsonObject = {
    ...operatorFields(target, warn),
    model: target.model,
    ...(request.system !== undefined && request.system !== '' && { instructions: request.system }),
    ...(input.resumed !== undefined && { previous_response_id: input.resumed.response }),
    ...toolFields(request, target.hosted, offer, warn),
    ...limited(request.maxTokens ?? target.maxTokens, warn),
    ...included(target),
    store: target.stateful,
    stream: true,
  }
  return {
    path: '/responses',
    headers: {},
    // Entries are JSON text already; only what changes from request to request is written anew.
    body: `${wireJson(fields).slice(0, -1)},"input":[${input.items}]}`,
    warnings,
    names: offer.names.fromWire,
    leans: input.resumed !== undefined,
    encoded: input.encoded,
    sent: { origin, ...(target.stateful && { before: digestHistory(request.history) }) },
  }
}

function initial(prepared: Prepared): State {
  if (!isSent(prepared)) throw new TypeError('initial() takes what prepare() of the same protocol gave.')
  const { origin, before } = prepared.sent
  const remember: State['remember'] =
    before === undefined ? undefined : (response, parts) => continuityOf(origin, before, response, parts)
  return initialState(prepared.names, origin, remember)
}

function isSent(prepared: Prepared): prepared is Sent {
  return 'sent' in prepared
}

// ---- the input -------------------------------------------------------------------------------------------

type Input = { items: string; encoded: number; resumed: Resumption | undefined }

function encodeInput(
  request: ModelRequest,
  target: Target,
  origin: Origin,
  offer: Offer,
  warn: (text: string) => void,
): Input {
  const { history } = request
  const ids = wireIds(history, origin, idRule)
  const plain = plainEntries(history, origin, takesReasoning(target))
  const resumed = target.stateful && !target.forgotten ? resumption(history, origin, ids, plain) : undefined
  const from = resumed?.from ?? 0
  const toWire = (name: string): string => offer.names.toWire(name)
  const context: HistoryContext = { history, origin, ids, toWire, warn }
  const encoded = encodeEntries(
    from === 0 ? history : history.slice(from),
    `${protocolName} ${target.family}`,
    (entry, at) => encodeEntry(context, entry, at + from, plain.has(at + from)),
    at => (plain.has(at + from) ? `plain ${ids.variant(at + from)}` : ids.variant(at + from)),
  )
  const { text } = joinPieces(encoded, before => (before < 0 ? '' : ','))
  return { items: text === '' ? emptyMessage : text, encoded: encoded.encoded, resumed }
}

/** A request must ask something, also when nothing that was said can be said to this vendor. */
const emptyMessage = wireJson({
  type: 'message',
  role: 'user',
  content: [{ type: 'input_text', text: '(empty message)' }],
})

// ---- the rest --------------------------------------------------------------------------------------------

/** Fields that would take the conversation, or the answer to this request, out of our hands. */
const refused = ['background', 'conversation', 'input', 'previous_response_id']

function operatorFields(target: Target, warn: (text: string) => void): JsonObject {
  const given = Object.entries(target.body)
  for (const [name] of given)
    if (refused.includes(name)) warn(`"${name}" is not taken from the configuration and was left out.`)
  return Object.fromEntries(given.filter(([name]) => !refused.includes(name)))
}

/** A limit that is no positive number is not said: the vendor has its own. */
function limited(wanted: number, warn: (text: string) => void): JsonObject {
  if (!(wanted > 0)) return {}
  if (wanted >= fewestTokens) return { max_output_tokens: Math.floor(wanted) }
  warn(`The vendor takes no limit below ${fewestTokens} tokens, so the limit of ${wanted} was raised to it.`)
  return { max_output_tokens: fewestTokens }
}

function takesReasoning(target: Target): boolean {
  return !target.quirks.has(noReasoning)
}

/** Asked of a model that does not reason, encrypted reasoning is a mistake. */
function included(target: Target): JsonObject {
  const own = target.body['include']
  const values = (Array.isArray(own) ? own : []).filter(value => value !== sealedReasoning)
  if (takesReasoning(target)) values.push(sealedReasoning)
  return values.length > 0 ? { include: values } : {}
}
