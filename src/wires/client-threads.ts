// Sessions under ids that clients choose: AG-UI's threads, the AI SDK's chats, DeltaKit's sessions. The id, its agent and its owner lead to the
// same session on every node and after every restart, because the session was created under them.
import type { CreateSession, Engine, RequestKey, SessionRef } from '../engine/index.ts'
import { TurnwireError } from '../language/errors.ts'
import { hashJson } from '../lib/json/hash.ts'

export type ClientThread = { owner: string; wire: string; agent: string; id: string }
/** Without an agent: an id names one session of its owner, whatever its agent. */
type AnyThread = Omit<ClientThread, 'agent'> & { agent?: string }

/** A session's own id works as a client's id too. */
const isSessionId = (id: string): boolean => id.startsWith('sess_')

/** The session of a thread. `make` says how to create it if it does not exist. */
export async function openThread(
  engine: Engine,
  thread: ClientThread,
  make: () => Pick<CreateSession, 'settings' | 'seed'>,
): Promise<SessionRef> {
  const found = await findThread(engine, thread)
  if (found) return found
  const { owner, wire, agent } = thread
  const request = threadRequest(thread)
  const { session } = await engine.create({ owner, agent, wire, ...make(), request })
  return { owner, session }
}

/** Undefined: there is no session for this id. Refuses a session of another agent. */
export async function findThread(engine: Engine, thread: AnyThread): Promise<SessionRef | undefined> {
  const { owner, agent, id } = thread
  if (!isSessionId(id)) {
    const session = await engine.lookUp({ get: 'session', owner, key: keyOf(thread) })
    return session === undefined ? undefined : { owner, session }
  }
  const ref = { owner, session: id }
  if (agent === undefined) return ref
  const summary = await engine.summary(ref)
  if (summary.agent === agent) return ref
  throw new TurnwireError('bad_request', `The session belongs to the agent "${summary.agent}".`)
}

/** The request that creates the session of a thread. */
export function threadRequest(thread: AnyThread): RequestKey {
  const key = keyOf(thread)
  return { key, hash: hashJson([key]) }
}

function keyOf({ wire, agent = '', id }: AnyThread): string {
  return `${wire}:${agent}:${id}`
}
