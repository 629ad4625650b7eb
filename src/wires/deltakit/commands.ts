// What a message or an answer does to a session, the same over HTTP and over a socket.
import { type Taken as Accepted, findCall, type RequestKey, type Session } from '../../engine/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { Settings } from '../../language/events.ts'
import type { Principal, WireHost } from '../host.ts'
import { changeOwn, declareOwn } from '../own-tools.ts'
import { type Answered, type Chat, decodeAnswers, decodeTools } from './decode.ts'

export const door = 'deltakit'

export type Found = { session: Session; created: boolean }

/** The session that is named, or a new one of the agent that is named, or of the first there is. */
export async function sessionFor(
  host: WireHost,
  { owner }: Principal,
  { sessionId, agent, tools }: Pick<Chat, 'sessionId' | 'agent' | 'tools'>,
  request?: RequestKey,
): Promise<Found> {
  if (sessionId !== undefined) {
    const session = await host.old.open(owner, sessionId)
    if (agent !== undefined && agent !== session.agent.name)
      throw new TurnwireError(
        'bad_request',
        `The session belongs to the agent "${session.agent.name}". Leave sessionId out to start one with "${agent}".`,
      )
    return { session, created: false }
  }
  const name = agent ?? host.agents[0]?.name
  if (name === undefined) throw new TurnwireError('unknown_agent', 'This server has no agent.')
  const plain: Settings = { tools: null, options: {}, clientTools: [] }
  const settings = tools ? { ...plain, ...declareOwn(plain, door, decodeTools(tools)) } : plain
  const session = await host.old.create({ owner, agent: name, wire: door, settings, seed: [] }, request)
  return { session, created: true }
}

export function say({ session, created }: Found, chat: Chat, request?: RequestKey): Promise<Accepted> {
  const { settings } = session.state
  const change = !created && chat.tools ? changeOwn(settings, door, decodeTools(chat.tools)) : undefined
  return session.say({
    parts: [{ type: 'text', text: chat.message }],
    wire: door,
    ...(change && { settings: change }),
    ...(request && { request }),
  })
}

export function answer(
  session: Session,
  answered: Answered,
  by: string,
  request?: RequestKey,
): Promise<Accepted> {
  // Known before: whether it is the same request is all that there is to find out.
  if (request && session.state.requests.has(request.key))
    return session.respond({ results: [], decisions: [], request })
  const formOf = (callId: string) => findCall(session.state, callId)?.part.form
  return session.respond({ ...decodeAnswers(answered, by, formOf), ...(request && { request }) })
}
