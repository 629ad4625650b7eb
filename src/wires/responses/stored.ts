// Responses that are kept: a session of the durable engine, new or continued, takes the request, and its events are shown
// as a response. A client that goes away ends its view and nothing else.

import type { Context } from 'hono'
import type { Taken as Accepted, RequestKey, Session, SessionState } from '../../engine/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { Settings } from '../../language/events.ts'
import type { Entry } from '../../language/history.ts'
import type { JsonObject } from '../../lib/json.ts'
import type { Principal, WireEnv, WireHost } from '../host.ts'
import { requestKey } from '../http/index.ts'
import { declareOwn } from '../own-tools.ts'
import { type Continuation, continuationOf } from './continuation.ts'
import { type Asked, door, splitAsk } from './decode.ts'
import { type Blob, buildHistory } from './decode-history.ts'
import { decodeItems, type Item } from './decode-items.ts'
import { itemContext, resolveReferences } from './references.ts'
import { Refusal, refuse, shown } from './refuse.ts'
import { findResponse, isNewest, openCalls, type StoredResponse, stateAfter } from './stored-log.ts'
import { serveLive, serveReplayed } from './stored-serve.ts'

type Request = { host: WireHost; asked: Asked; principal: Principal; request: RequestKey }

export async function serveStored(
  c: Context<WireEnv>,
  host: WireHost,
  asked: Asked,
  body: JsonObject,
): Promise<Response> {
  const principal = c.get('principal')
  const given = requestKey(c, 'responses:create', body)
  // Every request gets a key: it marks the place in the log that the response is named after.
  const request = given ?? { key: host.old.ports.world.id('req'), hash: '' }
  const input = await resolveReferences(host, principal.owner, asked.input ?? [])
  const items = decodeItems(input, itemContext(host, principal.owner, asked))
  const target = await targetOf({ host, asked, principal, request }, items, given)
  return start(c, { host, asked, principal, request }, target)
}

/** The session that takes the request, and what it is asked there. */
type Target = {
  session: Session
  next: Exclude<Continuation, { do: 'branch' }>
  settings?: Partial<Settings>
}

async function targetOf(
  asking: Request,
  items: readonly Item[],
  given: RequestKey | undefined,
): Promise<Target> {
  const { host, asked, principal } = asking
  if (asked.conversation !== undefined) return inConversation(asking, items, asked.conversation)
  if (asked.previous === undefined) {
    const { entries, blobs } = buildHistory(items, asked.agent)
    return newSession(asking, entries, blobs, given)
  }
  const previous = await previousResponse(host, principal.owner, asked.previous)
  const state = stateAfter(previous)
  const newest = isNewest(previous) && fits(asked, state)
  if (newest || given) {
    const session = await host.old.open(principal.owner, previous.session)
    const taken = known(session, asking)
    if (taken) return { session, next: taken }
    const next = newest ? continuationOf(items, session.state, principal.name) : branch
    if (next.do !== 'branch') return { session, next, settings: changesOf(asked, session) }
  }
  const { entries, blobs } = buildHistory(items, asked.agent, openCalls(state))
  return newSession(asking, [...state.view, ...entries], blobs, given)
}

async function inConversation(asking: Request, items: readonly Item[], id: string): Promise<Target> {
  const { host, asked, principal } = asking
  const session = await openConversation(host, principal.owner, id)
  if (session.agent.name !== asked.agent.name)
    refuse(
      `The conversation '${shown(id)}' stays with its agent, '${session.agent.name}': send that as 'model'.`,
      'model',
    )
  const taken = known(session, asking)
  if (taken) return { session, next: taken }
  const next = continuationOf(items, session.state, principal.name)
  if (next.do === 'branch')
    return refuse(
      "A conversation takes user messages, or the outputs that it waits for. Send instructions in 'instructions'.",
      'input',
    )
  return { session, next, settings: changesOf(asked, session) }
}

async function openConversation(host: WireHost, owner: string, id: string): Promise<Session> {
  try {
    return await host.old.open(owner, id)
  } catch (error) {
    if (!(error instanceof TurnwireError && error.code === 'session_not_found')) throw error
    const message = `Conversation with id '${shown(id)}' not found.`
    throw new Refusal(message, 'conversation', 'conversation_not_found', 'not_found')
  }
}

async function previousResponse(host: WireHost, owner: string, id: string): Promise<StoredResponse> {
  try {
    const response = await findResponse(host, owner, id)
    if (response.over) return response
  } catch (error) {
    if (!(error instanceof TurnwireError && error.status === 404)) throw error
    const message = `Previous response with id '${shown(id)}' not found.`
    return refuse(message, 'previous_response_id', 'previous_response_not_found')
  }
  const message = `Previous response with id '${shown(id)}' is not finished yet.`
  throw new Refusal(message, 'previous_response_id', 'response_in_progress', 'busy')
}

const branch: Continuation = { do: 'branch' }

/** A request that was taken before changes nothing, whatever it says. */
function known(session: Session, { request }: Request): Target['next'] | undefined {
  return session.state.requests.has(request.key) ? { do: 'say', parts: [] } : undefined
}

/** A session stays with its agent, and cannot go back from a chosen model to the agent's own. */
function fits({ agent, settings }: Asked, state: SessionState): boolean {
  return agent.name === state.agent && (settings.model !== undefined || state.settings.model === undefined)
}

/** All that a request says counts for this door's turns alone; what it leaves out is as the agent has it. */
function changesOf(asked: Asked, { state }: Session): Partial<Settings> {
  const current: Settings = state.settings
  const { clientTools, model } = asked.settings
  const wanted: Partial<Settings> = {
    ...declareOwn(current, door, clientTools, asked.note),
    ...(model !== undefined && { model }),
  }
  // What stays as it is need not be recorded again: tools can be large, and a session long.
  if (JSON.stringify(wanted.clientTools) === JSON.stringify(current.clientTools)) delete wanted.clientTools
  return wanted
}

async function newSession(
  { host, asked, principal }: Request,
  entries: readonly Entry[],
  blobs: readonly Blob[],
  given: RequestKey | undefined,
): Promise<Target> {
  const { old: engine } = host
  const last = entries.at(-1)
  const seed = last?.role === 'user' ? entries.slice(0, -1) : [...entries]
  const none: Settings = { ...splitAsk(asked.settings).settings, clientTools: [] }
  const settings: Settings = { ...none, ...declareOwn(none, door, asked.settings.clientTools, asked.note) }
  const create = {
    owner: principal.owner,
    agent: asked.agent.name,
    wire: door,
    settings,
    seed,
    ...clientOnlyOf(asked),
  }
  const session = await engine.create(create, given)
  for (const blob of blobs) await engine.ports.store.putBlob(session.id, blob.name, blob.body)
  return { session, next: { do: 'say', parts: last?.role === 'user' ? last.parts : [] } }
}

async function start(
  c: Context<WireEnv>,
  { host, asked, principal, request }: Request,
  { session, next, settings }: Target,
): Promise<Response> {
  const open = session.state.batch.flatMap(call => (call.stage === 'asking' ? [call.part] : []))
  const { ask } = splitAsk(asked.settings)
  const common = { request, ask, ...(settings && { settings }) }
  const take = (): Promise<Accepted> =>
    next.do === 'say'
      ? session.say({ parts: next.parts, wire: door, ...common })
      : session.respond({ results: next.results, decisions: next.decisions, ...common })
  const live = await serveLive(c, host, { session, asked, open, take })
  return live ?? serveReplayed(c, host, { owner: principal.owner, session, asked, request })
}

function clientOnlyOf({ settings }: Asked): { clientOnly?: true } {
  return settings.clientOnly ? { clientOnly: true } : {}
}
