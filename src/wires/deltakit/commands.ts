// Translates a message or an answer into commands for a session, the same over HTTP and over a socket.
import type { Accepted, Engine, GivenSettings, RequestKey, SessionRef } from '../../engine/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import { findThread, threadRequest } from '../client-threads.ts'
import type { Principal, WireHost } from '../host.ts'
import { changeOwn, declareOwn } from '../own-tools.ts'
import { type Answered, type Chat, decodeAnswers, decodeClientTools } from './decode.ts'

export const wireName = 'deltakit'

export type ChatSession = {
  ref: SessionRef
  created: boolean
  /** The change that the message's tools make. */
  settings?: Partial<GivenSettings>
}

/** `id`: a session's own, or the one that a client chose when it began the session. Throws `session_not_found`. */
export async function namedSession(engine: Engine, owner: string, id: string): Promise<SessionRef> {
  const ref = await findThread(engine, { owner, wire: wireName, id })
  if (!ref) throw new TurnwireError('session_not_found', `There is no session "${id.slice(0, 64)}".`)
  return ref
}

/** The session that is named, or a new one of the named or first agent. A client may choose the id of a new one. */
export async function sessionFor(
  engine: Engine,
  { about }: Pick<WireHost, 'about'>,
  { owner }: Principal,
  { sessionId, agent, tools }: Pick<Chat, 'sessionId' | 'agent' | 'tools'>,
  request?: RequestKey,
): Promise<ChatSession> {
  const declared = tools && decodeClientTools(tools)
  const thread = sessionId === undefined ? undefined : { owner, wire: wireName, id: sessionId }
  const ref = thread && (await findThread(engine, thread))
  if (ref) {
    const { agent: own, settings } = await engine.summary(ref)
    if (agent !== undefined && agent !== own)
      throw new TurnwireError(
        'bad_request',
        `The session belongs to the agent "${own}". Leave sessionId out to start one with "${agent}".`,
      )
    const change = declared && changeOwn(settings, wireName, declared)
    return { ref, created: false, ...(change && { settings: change }) }
  }
  const name = agent ?? about.agents[0]?.name
  if (name === undefined) throw new TurnwireError('unknown_agent', 'This server has no agent.')
  const plain = { tools: null, options: {}, clientTools: [] }
  const settings = declared ? { ...plain, ...declareOwn(plain, wireName, declared) } : plain
  const key = thread ? threadRequest(thread) : request
  const create = { owner, agent: name, wire: wireName, settings, seed: [], ...(key && { request: key }) }
  const { session } = await engine.create(create)
  return { ref: { owner, session }, created: true }
}

export function sendMessage(
  engine: Engine,
  { ref, settings }: ChatSession,
  { message, during }: Pick<Chat, 'message' | 'during'>,
  request?: RequestKey,
): Promise<Accepted> {
  return engine.command(ref, {
    do: 'say',
    wire: wireName,
    parts: [{ type: 'text', text: message }],
    ...(during && { during }),
    ...(settings && { settings }),
    ...(request && { request }),
  })
}

export function sendAnswers(
  engine: Engine,
  ref: SessionRef,
  answered: Answered,
  by: string,
  request?: RequestKey,
): Promise<Accepted> {
  return engine.command(ref, {
    do: 'respond',
    ...decodeAnswers(answered, by),
    ...(request && { request }),
  })
}
