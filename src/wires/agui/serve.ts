// The route. A thread is a session: the first run of a thread makes it, the next ones go on with it. A client that goes
// away ends its view of the run and nothing else.
import { type Context, Hono } from 'hono'
import {
  type Taken as Accepted,
  type Agent,
  type Answers,
  findCall,
  type RequestKey,
  type Session,
  settledCalls,
} from '../../engine/index.ts'
import type { InputPart } from '../../language/content.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { Settings } from '../../language/events.ts'
import { hashJson } from '../../lib/hash.ts'
import { type Json, parseJson } from '../../lib/json.ts'
import type { WireEnv, WireHost } from '../host.ts'
import { follow } from '../http/follow.ts'
import {
  dataFrame,
  nthOf,
  openSse,
  plainErrors,
  RESPONSE_ALREADY_SENT,
  readJsonObject,
  triesOf,
} from '../http/index.ts'
import { changeOwn } from '../own-tools.ts'
import {
  decodeContent,
  decodeContext,
  decodeDecision,
  decodeInput,
  decodeResults,
  decodeSeed,
  decodeTools,
  freshWords,
} from './decode.ts'
import { RunView } from './run-view.ts'
import type { AguiEvent, RunInput } from './schema.ts'

const door = 'agui'

export function aguiRoutes(host: WireHost): Hono<WireEnv> {
  const app = new Hono<WireEnv>()
  app.onError(plainErrors(host))
  const threads = new Threads(host)
  app.post('/agui/:agent', c => serveRun(c, host, threads))
  return app
}

async function serveRun(c: Context<WireEnv>, host: WireHost, threads: Threads): Promise<Response> {
  const body = await readJsonObject(c, host.limits)
  const input = decodeInput(body)
  const agent = host.old.agent(c.req.param('agent') ?? '')
  const { owner, name } = c.get('principal')
  const session = await threads.open(owner, agent, input)
  const plan = planOf(session, input, name)
  // Refused before anything is said: an error of HTTP. After that it is an event.
  const first = await plan.commands[0]?.run()
  c.env.outgoing.setHeader('X-Session-Id', session.id)
  const gone = new AbortController()
  const writer = openSse(c, host, () => gone.abort())
  // Its shape was checked; the members that were not read go back as they came.
  const messages = body['messages'] as Json[]
  const own = new Set(plan.own)
  const emit = (event: AguiEvent): void => writer.send(dataFrame(event))
  const run = { threadId: input.threadId, runId: input.runId, messages, own }
  const view = new RunView(run, plan.state, emit, value => seal(host, owner, value))
  view.begin()
  void play({ host, owner, session, plan, view, pace: () => writer.ready(), gone: gone.signal }, first).then(
    () => {
      view.finish()
      writer.end()
    },
  )
  return RESPONSE_ALREADY_SENT
}

// ---- the thread ---------------------------------------------------------------------------------------------

/** The sessions of threads that were seen by this process: a look here spares reading the whole history again. */
class Threads {
  readonly #host: WireHost
  readonly #known = new Map<string, string>()

  constructor(host: WireHost) {
    this.#host = host
  }

  /** A thread may be named by a session's own id; any other name is the client's, and means the same thread every time. */
  async open(owner: string, agent: Agent, input: RunInput): Promise<Session> {
    const { old: engine } = this.#host
    const { threadId } = input
    const key = `${door}:${agent.name}:${threadId}`
    const place = JSON.stringify([owner, key])
    const known = threadId.startsWith('sess_') ? threadId : this.#known.get(place)
    if (known !== undefined) {
      const session = await engine.open(owner, known).catch(unlessRemoved)
      if (session?.agent.name === agent.name) return session
      this.#known.delete(place)
      if (threadId.startsWith('sess_')) throw notThere(session)
    }
    const session = await this.#make(owner, agent, input, key)
    if (this.#known.size >= mostKnown) this.#known.clear()
    this.#known.set(place, session.id)
    return session
  }

  async #make(owner: string, agent: Agent, input: RunInput, key: string): Promise<Session> {
    const { old: engine } = this.#host
    const { messages } = input
    if (messages.length === 0)
      throw new TurnwireError('bad_request', 'messages is empty: send what the user says.')
    const words = freshWords(messages, () => false)
    // Looked at before anything is made: a refusal leaves no trace.
    for (const { content } of words) decodeContent(content, agent.images)
    const before = messages.slice(0, messages.length - words.length)
    const seed = decodeSeed(before, agent, value => unseal(this.#host, owner, value))
    const plain: Settings = { tools: null, options: {}, clientTools: [] }
    const settings: Settings = {
      ...plain,
      ...changeOwn(plain, door, decodeTools(input.tools)),
    }
    const create = { owner, agent: agent.name, wire: door, settings, seed: seed.entries }
    const session = await engine.create(create, requestOf(key))
    if (session.state.seq === 1)
      for (const { name, body } of seed.blobs) await engine.ports.store.putBlob(session.id, name, body)
    return session
  }
}

const mostKnown = 10_000

function unlessRemoved(error: unknown): undefined {
  if (!(error instanceof TurnwireError) || error.code !== 'session_not_found') throw error
  return undefined
}

function notThere(session: Session | undefined): TurnwireError {
  return session
    ? new TurnwireError('bad_request', `The session belongs to the agent "${session.agent.name}".`)
    : new TurnwireError('session_not_found', 'Session not found')
}

/** Good for its owner alone, and at this door alone: the vault seals other things too. */
function seal(host: WireHost, owner: string, value: Json): string {
  return host.seal(JSON.stringify([door, owner, value]))
}

/** Undefined for what was not sealed here for this owner. */
function unseal(host: WireHost, owner: string, text: string): Json | undefined {
  try {
    const opened = parseJson(host.old.ports.vault.open(text))
    const [where, whose, value] = Array.isArray(opened) ? opened : []
    return where === door && whose === owner ? value : undefined
  } catch {
    return undefined
  }
}

// ---- what is to be done -------------------------------------------------------------------------------------

type Command = { starts: boolean; run(): Promise<Accepted> }
/** `state`: as it was before anything was done. `own`: calls whose results came along. */
type Plan = { commands: Command[]; own: string[]; state: Session['state'] }

function planOf(session: Session, input: RunInput, by: string): Plan {
  const { state, agent } = session
  const before = {
    ...state,
    batch: state.batch.map(call => ({ ...call })),
    turn: state.turn && { ...state.turn },
  }
  const results = decodeResults(input.messages, agent, id => findCall(state, id)?.stage === 'handed')
  const decisions = decisionsOf(session, input, by)
  const settings = changesOf(state.settings, input)
  const system = decodeContext(input.context)
  const ask = system === undefined ? {} : { ask: { system } }
  const commands: Command[] = []
  if (results.length + decisions.length > 0)
    commands.push({
      starts: false,
      run: () => session.respond({ results, decisions, ...ask, ...(settings && { settings }) }),
    })
  const words = wordsOf(session, input, commands.length > 0)
  if (words)
    commands.push({
      starts: true,
      run: () =>
        session.say({ ...words, wire: door, ...ask, ...(settings && commands.length < 2 && { settings }) }),
    })
  return { commands, own: results.map(({ callId }) => callId), state: before }
}

/** Questions that were settled elsewhere in the meantime are left alone: there is nothing more to decide. */
function decisionsOf({ state }: Session, { resume }: RunInput, by: string): Answers['decisions'] {
  const settled = new Set(resume && settledCalls(state))
  return (resume ?? []).flatMap(entry => {
    const call = findCall(state, entry.interruptId)
    if (call?.stage === 'asking') return [decodeDecision(entry, by, call.part.form)]
    if (call || settled.has(entry.interruptId)) return []
    throw new TurnwireError(
      'unknown_call',
      `There is no interrupt "${entry.interruptId.slice(0, 128)}" in this thread.`,
    )
  })
}

/** Tools and context come with every run; they are recorded when they have changed. */
function changesOf(settings: Settings, input: RunInput): Partial<Settings> | undefined {
  return changeOwn(settings, door, decodeTools(input.tools))
}

/** What the user says now. Said before: shown again. Nothing: the model goes on where the history calls for it. */
function wordsOf(
  { state, agent }: Session,
  { threadId, messages }: RunInput,
  answered: boolean,
): { parts: InputPart[]; request?: RequestKey } | undefined {
  const keyOf = (id: string): string => `${door}:${threadId}:${id}`
  const fresh = freshWords(messages, id => state.requests.has(keyOf(id)))
  const last = messages.at(-1)
  const failed = state.turn === null && state.lastStop?.stop === 'error'
  if (fresh.length > 0) {
    const parts = fresh.flatMap(message => decodeContent(message.content, agent.images))
    if (parts.length === 0) throw new TurnwireError('bad_request', 'The user message is empty.')
    return { parts, request: requestOf(keyOf(fresh.at(-1)!.id)) }
  }
  if (answered) return undefined
  if (last?.role === 'user') {
    const tries = triesOf(state, keyOf(last.id))
    return { parts: [], request: requestOf(nthOf(keyOf(last.id), failed ? tries + 1 : tries)) }
  }
  const awaits = state.entries.at(-1)?.role
  return state.turn === null && (awaits === 'user' || awaits === 'tool') ? { parts: [] } : undefined
}

function requestOf(key: string): RequestKey {
  return { key, hash: hashJson([key]) }
}

// ---- the run ------------------------------------------------------------------------------------------------

type Play = {
  host: WireHost
  owner: string
  session: Session
  plan: Plan
  view: RunView
  pace: () => Promise<void>
  gone: AbortSignal
}

async function play(
  { host, owner, session, plan, view, pace, gone }: Play,
  first: Accepted | undefined,
): Promise<void> {
  const { id } = session
  try {
    // With nothing to do, a turn that runs is joined.
    if (!first && session.status === 'running')
      await follow(host.old, { owner, id, first: session.state.seq + 1, until: 'stop' }, view, pace, gone)
    for (const [at, command] of plan.commands.entries()) {
      const accepted = at === 0 && first ? first : await command.run()
      if (command.starts) view.expectTurn()
      await follow(host.old, { owner, id, ...accepted, until: 'stop' }, view, pace, gone)
    }
  } catch (error) {
    if (!(error instanceof TurnwireError))
      host.log('error', 'A run could not be shown to its end.', { error: String(error) })
    view.lose(error)
  }
}
