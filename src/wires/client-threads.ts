// Sessions under ids that clients choose: AG-UI's threads, the AI SDK's chats, DeltaKit's sessions. The id, its agent and its
// owner lead to the same session on every node and after every restart, because the session was created under them.
import type { CreateSession, Engine, RequestKey, SessionRef, SessionSummary } from '../engine/index.ts'
import type { InputPart } from '../language/content.ts'
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
    const session = await engine.lookUp({ get: 'session', owner, key: threadKey(thread) })
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
  const key = threadKey(thread)
  return { key, hash: hashJson([key]) }
}

function threadKey({ wire, agent = '', id }: AnyThread): string {
  return `${wire}:${agent}:${id}`
}

// ---- which messages are new ----------------------------------------------------------------------------------------

type ThreadMessage = { id: string; role: string }

/** How a wire whose clients send their whole history every time reads the user's messages in it. */
export type UserMessages<Message extends ThreadMessage, User extends Message> = {
  isUser: (message: Message) => message is User
  key: (id: string) => string
  parts: (message: User) => InputPart[]
  /** How a message that comes again is told from one that is said anew. */
  again: (message: User) => Pick<RequestKey, 'hash' | 'again'>
}

/** The user's messages at the end that are not recorded yet. */
export function freshMessages<Message extends ThreadMessage, User extends Message>(
  messages: readonly Message[],
  { isUser }: Pick<UserMessages<Message, User>, 'isUser'>,
  isKnown: (id: string) => boolean = () => false,
): User[] {
  const start = messages.findLastIndex(message => !isUser(message) || isKnown(message.id)) + 1
  return messages.slice(start).filter(isUser)
}

/** The request keys of the user's messages. */
export function messageKeys<Message extends ThreadMessage, User extends Message>(
  messages: readonly Message[],
  { isUser, key }: UserMessages<Message, User>,
): string[] {
  return messages.filter(isUser).map(({ id }) => key(id))
}

/** The user's new input. Without new messages, and unless calls were answered, the last message is sent again. */
export function newWords<Message extends ThreadMessage, User extends Message>(
  { known, turn, lastRole }: Pick<SessionSummary, 'known' | 'turn' | 'lastRole'>,
  messages: readonly Message[],
  answered: boolean,
  users: UserMessages<Message, User>,
): { parts: InputPart[]; request?: RequestKey } | undefined {
  const request = (user: User): RequestKey => ({ key: users.key(user.id), retry: true, ...users.again(user) })
  const fresh = freshMessages(messages, users, id => known.includes(users.key(id)))
  const newest = fresh.at(-1)
  if (newest) {
    const parts = fresh.flatMap(users.parts)
    if (parts.length === 0) throw new TurnwireError('bad_request', 'The user message is empty.')
    return { parts, request: request(newest) }
  }
  if (answered) return undefined
  const last = messages.at(-1)
  if (last && users.isUser(last)) return { parts: users.parts(last), request: request(last) }
  return !turn && (lastRole === 'user' || lastRole === 'tool') ? { parts: [] } : undefined
}
