// Accepts a request whose response is kept: continues a session or makes one, and gives the response that it began there.

import { refuseParameter } from '../../apis/openai/refusal.ts'
import type { Command, RequestKey, SessionRef, SessionSummary } from '../../engine/index.ts'
import type { Entry } from '../../language/history.ts'
import { excerpt } from '../../lib/json/fields.ts'
import { ifFound } from '../not-found.ts'
import { declareOwn } from '../own-tools.ts'
import type { ResponsesCaller } from './caller.ts'
import { type OpenConversation, openConversation, pointTo, readConversation } from './conversations.ts'
import { type ResponsesRequest, wireName } from './decode.ts'
import { type Continuation, decodeContinuation, isAsking } from './decode-command.ts'
import { decodeHistory, type EarlierCalls, type InputItem } from './decode-items.ts'
import { responseId } from './ids.ts'
import { findRepeated, type Repeated } from './same-session.ts'
import { findResponse, isNewest, lastRead, type StoredResponse } from './stored-log.ts'
import { conversationLocked, noSuchPrevious, previousUnfinished } from './wordings.ts'

export type StoredRequest = {
  caller: ResponsesCaller
  request: ResponsesRequest
  items: readonly InputItem[]
  /** The items, split at the earlier response that they repeat, if they repeat one. */
  repeated: Repeated | undefined
  /** The conversation before the items, if it is known and kept nowhere. */
  before?: Conversation | undefined
  /** The event that accepts it names the response, so every request has one. */
  key: RequestKey
  /** The client chose the key, and may send the request again. */
  isRepeatable: boolean
}

/** A history, and the calls of its last answer that have no result yet. */
export type Conversation = { entries: Entry[]; calls: EarlierCalls }

type ResponseSettings = StoredResponse['settings']

/** The session that takes the request, and its command. `settings`: before the changes. */
type SessionTarget = {
  ref: SessionRef
  next: Continuation
  settings: ResponseSettings
  changes?: Partial<ResponseSettings>
}

export async function acceptRequest(stored: StoredRequest): Promise<StoredResponse> {
  const { caller, request } = stored
  const { agent, ask } = request
  const { ref, next, settings, changes } = await sessionFor(stored)
  const common = { request: stored.key, ask, ...(changes && { settings: changes }) }
  const command: Command = next.do === 'say' ? { ...next, wire: wireName, ...common } : { ...next, ...common }
  const { first, at, waited, replayed } = await caller.engine.command(ref, command)
  if (replayed) return findResponse(caller, responseId({ session: ref.session, first }))
  return {
    ref,
    first,
    createdAt: at,
    agent: agent.name,
    settings: { ...settings, ...changes },
    ask,
    waited: waited.filter(isAsking).map(({ part, text }) => ({ ...part, text })),
    suspended: waited.flatMap(({ part, text, stage }) => (stage === 'suspended' ? [{ ...part, text }] : [])),
    events: [],
    over: false,
  }
}

async function sessionFor(stored: StoredRequest): Promise<SessionTarget> {
  const { caller, request, items, key, isRepeatable } = stored
  const { engine } = caller
  if (stored.before) {
    const { entries, calls } = stored.before
    return newSession(stored, [...entries, ...decodeHistory(items, calls)])
  }
  if (request.conversation !== undefined) return inConversation(stored, request.conversation)
  if (request.previous === undefined)
    return (await sameSession(stored)) ?? newSession(stored, decodeHistory(items))
  const previous = await previousResponse(caller, request.previous)
  const { ref } = previous
  const newest = await isNewest(engine, previous)
  if (newest || isRepeatable) {
    const summary = await engine.summary(ref, [key.key])
    if (summary.known.length > 0) return repeated(ref, summary)
    const next =
      newest && canContinue(request, summary)
        ? decodeContinuation(items, summary.calls, caller.name)
        : undefined
    if (next) return continueSession(ref, next, request, summary)
  }
  const { entries, calls } = await engine.history(ref, { get: 'view', upTo: lastRead(previous) })
  return newSession(stored, [...entries, ...decodeHistory(items, calls)])
}

/** The session whose conversation the request repeats and goes on with. */
async function sameSession(stored: StoredRequest): Promise<SessionTarget | undefined> {
  const { caller, request, repeated: given, isRepeatable } = stored
  // A key names the session that its request made, so a request with a key makes one.
  if (!given || given.added.length === 0 || isRepeatable) return undefined
  const found = await findRepeated(caller, given)
  if (!found) return undefined
  const summary = await caller.engine.summary(found.ref)
  if (!canContinue(request, summary)) return undefined
  const next = decodeContinuation(given.added, summary.calls, caller.name)
  return next && continueSession(found.ref, next, request, summary)
}

/** Refuses a response that does not exist or is not finished. */
export async function previousResponse(caller: ResponsesCaller, id: string): Promise<StoredResponse> {
  const response = await ifFound(findResponse(caller, id))
  if (!response) throw noSuchPrevious(id)
  if (!response.over) throw previousUnfinished(id)
  return response
}

async function inConversation(stored: StoredRequest, id: string): Promise<SessionTarget> {
  const { caller, request, items, key } = stored
  const conversation = await openConversation(caller, id)
  const { ref, record } = conversation
  const summary = await caller.engine.summary(ref, [key.key])
  if (summary.known.length > 0) return repeated(ref, summary)
  if (record && summary.status === 'running') throw conversationLocked(id)
  const isSame = record ? canContinue(request, summary) : summary.agent === request.agent.name
  const next = isSame ? decodeContinuation(items, summary.calls, caller.name) : undefined
  if (next) return continueSession(ref, next, request, summary)
  if (record) return moveToNew(stored, conversation)
  if (!isSame)
    refuseParameter(
      `The conversation '${excerpt(id)}' stays with its agent, '${summary.agent}': send that as 'model'.`,
      'model',
    )
  return refuseParameter(
    "A conversation takes user messages, or the outputs that it waits for. Send instructions in 'instructions'.",
    'input',
  )
}

/** The conversation goes on in a session that can take the request. */
async function moveToNew(stored: StoredRequest, conversation: OpenConversation): Promise<SessionTarget> {
  const { entries, calls, items } = await readConversation(conversation)
  const history = [...entries, ...decodeHistory(stored.items, calls)]
  const target = await newSession(stored, history)
  const ids = items.map(item => item.id)
  await pointTo(conversation, target.ref.session, ids)
  return target
}

/** A request that was accepted before changes nothing. The engine finds it by its key. */
function repeated(ref: SessionRef, { settings }: SessionSummary): SessionTarget {
  return { ref, next: { do: 'say', parts: [] }, settings }
}

/** A session stays with its agent, and cannot go back from a chosen model to the agent's own. */
function canContinue({ agent, model }: ResponsesRequest, summary: SessionSummary): boolean {
  return agent.name === summary.agent && (model !== undefined || summary.settings.model === undefined)
}

function continueSession(
  ref: SessionRef,
  next: Continuation,
  { clientTools, model, note }: ResponsesRequest,
  { settings }: SessionSummary,
): SessionTarget {
  const { clientTools: wanted, wires } = declareOwn(settings, wireName, clientTools, note)
  // Tools that stay as they are need not be recorded again: they can be large, and a session long.
  const isChanged = JSON.stringify(wanted) !== JSON.stringify(settings.clientTools)
  const changes = {
    ...(isChanged && { clientTools: wanted }),
    ...(wires && { wires }),
    ...(model !== undefined && { model }),
  }
  return { ref, next, settings, changes }
}

/** A session that begins with these entries. A user's message at their end becomes its first turn. */
async function newSession(stored: StoredRequest, entries: readonly Entry[]): Promise<SessionTarget> {
  const { caller, request, key, isRepeatable } = stored
  const { engine, owner } = caller
  const { agent, ask, clientTools, model, note } = request
  const last = entries.at(-1)
  const message = last?.role === 'user' ? last : undefined
  const none = { tools: null, options: {}, clientTools: [] }
  const settings = {
    ...none,
    ...declareOwn(none, wireName, clientTools, note),
    ...(model !== undefined && { model }),
  }
  const { session } = await engine.create({
    owner,
    agent: agent.name,
    wire: wireName,
    settings,
    seed: message ? entries.slice(0, -1) : [...entries],
    ...(ask.clientOnly && { clientOnly: true }),
    ...(isRepeatable && { request: key }),
  })
  return { ref: { owner, session }, next: { do: 'say', parts: message?.parts ?? [] }, settings }
}
