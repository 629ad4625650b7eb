// Which session a chat is. The client names its chats; the name and its owner lead to the same session on every server
// and after every restart, because the session was created under them.
import type { Agent, RequestKey, Session } from '../../engine/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { Settings } from '../../language/events.ts'
import { hashJson } from '../../lib/hash.ts'
import type { Json } from '../../lib/json.ts'
import type { WireHost } from '../host.ts'
import { declareOwn } from '../own-tools.ts'
import { decodeSeed, decodeTools, decodeWords, freshWords } from './decode.ts'
import type { ChatRequest } from './schema.ts'

export const door = 'ui'

const mostKnown = 10_000

export class Chats {
  readonly #host: WireHost
  /** Those that were seen by this process: a look here spares reading the whole chat again. */
  readonly #known = new Map<string, string>()

  constructor(host: WireHost) {
    this.#host = host
  }

  /** A chat may be named by a session's own id; any other name is the client's. */
  async open(owner: string, agent: Agent, request: ChatRequest): Promise<Session> {
    const { id } = request
    const known = await this.#find(owner, agent, id)
    if (known) return known
    const session = await this.#make(owner, agent, request)
    if (this.#known.size >= mostKnown) this.#known.clear()
    this.#known.set(placeOf(owner, agent, id), session.id)
    return session
  }

  async #find(owner: string, agent: Agent, id: string): Promise<Session | undefined> {
    const place = placeOf(owner, agent, id)
    const ours = id.startsWith('sess_')
    const known = ours ? id : this.#known.get(place)
    if (known === undefined) return undefined
    const session = await this.#host.old.open(owner, known).catch(error => {
      if (!(error instanceof TurnwireError) || error.code !== 'session_not_found' || ours) throw error
      this.#known.delete(place)
    })
    if (session && session.agent.name !== agent.name)
      throw new TurnwireError('bad_request', `The session belongs to the agent "${session.agent.name}".`)
    return session ?? undefined
  }

  async #make(owner: string, agent: Agent, request: ChatRequest): Promise<Session> {
    const { old: engine } = this.#host
    const words = freshWords(request.messages, () => false)
    // Looked at before anything is made: a refusal leaves no trace.
    for (const message of words)
      if (decodeWords(message, agent.images).length === 0)
        throw new TurnwireError('bad_request', 'The user message is empty.')
    const seed = decodeSeed(request.messages.slice(0, request.messages.length - words.length), agent)
    const plain: Settings = { tools: null, options: {}, clientTools: [] }
    const tools = decodeTools(request.tools)
    const settings = tools ? { ...plain, ...declareOwn(plain, door, tools) } : plain
    const create = { owner, agent: agent.name, wire: door, settings, seed: seed.entries }
    const session = await engine.create(create, requestOf(keyOf(agent, request.id), null))
    if (session.state.seq === 1)
      for (const { name, body } of seed.blobs) await engine.ports.store.putBlob(session.id, name, body)
    return session
  }

  /** The session of a chat whose turn is under way. It is not made when it is not there. */
  async running(owner: string, agent: Agent, id: string): Promise<Session | undefined> {
    const known = await this.#find(owner, agent, id)
    if (known) return known
    const { old: engine } = this.#host
    const { store } = engine.ports
    // After a restart, or in a chat that was never begun.
    const session = await store.requested(owner, keyOf(agent, id))
    const isRunning = session !== undefined && (await store.row(session))?.status === 'running'
    return isRunning ? engine.open(owner, session) : undefined
  }
}

function placeOf(owner: string, agent: Agent, id: string): string {
  return JSON.stringify([owner, keyOf(agent, id)])
}

function keyOf(agent: Agent, id: string): string {
  return `${door}:${agent.name}:${id}`
}

export function requestOf(key: string, said: Json): RequestKey {
  return { key, hash: hashJson([key, said]) }
}
