// Serves one turn: the request is taken, then its events go out as a stream or, folded, as one answer. A client that goes
// away ends its view of the turn and nothing else.
import type { Context } from 'hono'
import {
  type Taken as Accepted,
  type Answers,
  findCall,
  type RequestKey,
  type Session,
} from '../../engine/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { Settings } from '../../language/events.ts'
import type { WireEnv, WireHost } from '../host.ts'
import { openSse, RESPONSE_ALREADY_SENT, sendJson, sseFrame } from '../http/index.ts'
import type { Answered, Permission, Said } from './decode.ts'
import { decodeArguments } from './decode-content.ts'
import { refuse } from './fields.ts'
import type { Emit, StreamMode } from './schema.ts'
import { LiveTurn, replayTurn, type TurnSource } from './turn-source.ts'
import { TurnFold, TurnView } from './turn-view.ts'

export const door = 'aap'

export type Turn = {
  messages: Said | Answered
  settings: Partial<Settings> | undefined
  request: RequestKey | undefined
  stream: StreamMode
  /** In versions 1 and 2 the first turn also says which session it made. */
  created?: true
}

export async function serveTurn(
  c: Context<WireEnv>,
  host: WireHost,
  session: Session,
  turn: Turn,
): Promise<Response> {
  const { owner, name } = c.get('principal')
  const live = new LiveTurn(session)
  let source: TurnSource
  try {
    const accepted = await start(session, turn, name)
    source = live.from(accepted.first)
    if (accepted.replayed) {
      live.stop()
      // The first of the two requests may still be on its way to the store.
      await session.flushed()
      source = await replayTurn(host.old, owner, session.id, accepted.first)
    }
  } catch (error) {
    live.stop()
    throw error
  }
  return turn.stream === 'none'
    ? answer(c, host, session.id, source, turn.created === true)
    : stream(c, host, session.id, source, turn.stream, turn.created === true)
}

// ---- the request --------------------------------------------------------------------------------------------

function start(session: Session, { messages, settings, request }: Turn, by: string): Promise<Accepted> {
  const common = { ...(settings && { settings }), ...(request && { request }) }
  if (messages.type === 'said') return session.say({ parts: messages.parts, wire: door, ...common })
  // Known before: whether it is the same request is all that there is to find out.
  if (request && session.state.requests.has(request.key))
    return session.respond({ results: [], decisions: [], request })
  const answers: Answers = {
    results: messages.results,
    decisions: messages.permissions.map(permission => decisionOf(session, permission, by)),
    ...common,
  }
  refuseWhileRunning(session, answers)
  return session.respond(answers)
}

function decisionOf(session: Session, permission: Permission, by: string): Answers['decisions'][number] {
  const { callId, granted, reason, input } = permission
  const decision = { callId, granted, by, ...(reason !== undefined && { reason }) }
  if (!input) return decision
  const edit = decodeArguments(input, findCall(session.state, callId)?.part.form ?? 'json')
  if (edit === undefined)
    refuse(`The call "${callId}" takes free text: send it as "input": {"input": "<text>"}.`)
  return { ...decision, edit }
}

/** What is open could be answered, but the turn has not stopped for it yet. Every other refusal is the engine's. */
function refuseWhileRunning(session: Session, { results, decisions }: Answers): void {
  if (session.status !== 'running') return
  const open = [...results, ...decisions].every(({ callId }) => {
    const stage = findCall(session.state, callId)?.stage
    return stage === 'handed' || stage === 'asking'
  })
  if (open) throw new TurnwireError('busy', 'The turn is still running. Wait for it to stop, then answer.')
}

// ---- the answer ---------------------------------------------------------------------------------------------

async function answer(
  c: Context<WireEnv>,
  host: WireHost,
  sessionId: string,
  source: TurnSource,
  created: boolean,
): Promise<Response> {
  const fold = new TurnFold()
  c.env.outgoing.once('close', () => source.stop())
  await play(host, source, new TurnView('message', fold.emit), () => Promise.resolve())
  return created ? sendJson(c, { sessionId, ...fold.answer }, 201) : sendJson(c, fold.answer)
}

function stream(
  c: Context<WireEnv>,
  host: WireHost,
  sessionId: string,
  source: TurnSource,
  mode: 'delta' | 'message',
  created: boolean,
): Response {
  const writer = openSse(c, host, () => source.stop())
  const emit: Emit = (event, data) => writer.send(sseFrame(event, data))
  if (created) emit('session_start', { sessionId })
  void play(host, source, new TurnView(mode, emit), () => writer.ready()).then(() => writer.end())
  return RESPONSE_ALREADY_SENT
}

async function play(
  host: WireHost,
  source: TurnSource,
  view: TurnView,
  pace: () => Promise<void>,
): Promise<void> {
  view.begin()
  try {
    await source.run(view, pace)
  } catch (error) {
    host.log('error', 'A turn could not be shown to its end.', { error: String(error) })
    view.fail(error)
  }
}
