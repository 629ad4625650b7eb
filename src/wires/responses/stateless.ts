// A response that leaves nothing behind: a session that lives for one answer of the model, in the engine whose agents
// have no tools of their own. It is driven by hand, so that one request is one answer: calls go to the client as the model
// made them, for the client to check and run. A client that goes away ends it.
import type { Context } from 'hono'
import { ManualControl, type Session } from '../../engine/index.ts'
import { publicError, TurnwireError } from '../../language/errors.ts'
import type { Entry } from '../../language/history.ts'
import type { WireEnv, WireHost } from '../host.ts'
import { openSse, RESPONSE_ALREADY_SENT, sendJson } from '../http/index.ts'
import { type Asked, door, splitAsk } from './decode.ts'
import { Emitter } from './emitter.ts'
import { responseId, stemOf } from './ids.ts'
import { Resource, requestFields } from './resource.ts'
import { sealAnswer } from './sealed.ts'
import { Diverged } from './track.ts'
import { ResponseView } from './view.ts'

export async function serveStateless(
  c: Context<WireEnv>,
  host: WireHost,
  asked: Asked,
  seed: Entry[],
): Promise<Response> {
  const { owner } = c.get('principal')
  const { settings: plain, ask } = splitAsk(asked.settings)
  const settings = { ...plain, wires: { [door]: asked.note } }
  const session = await host.ephemeral.create({
    owner,
    agent: asked.agent.name,
    wire: door,
    settings,
    seed,
    clientOnly: true,
  })
  const end = (): void => void host.ephemeral.discard(session)
  return asked.stream ? stream(c, host, session, asked, end) : answer(c, host, session, asked, end)
}

async function answer(
  c: Context<WireEnv>,
  host: WireHost,
  session: Session,
  asked: Asked,
  end: () => void,
): Promise<Response> {
  const view = viewOf(host, session, asked, new Emitter())
  session.feed.watch(item => {
    if (item.type === 'event') view.take(item)
  })
  const { outgoing } = c.env
  outgoing.once('close', end)
  try {
    await drive(session, asked)
    const { ended } = view
    if (ended?.error) throw new TurnwireError(ended.error.code, ended.error.message)
    return sendJson(c, view.finish())
  } finally {
    outgoing.off('close', end)
    end()
  }
}

function stream(
  c: Context<WireEnv>,
  host: WireHost,
  session: Session,
  asked: Asked,
  end: () => void,
): Response {
  const writer = openSse(c, host, end, true)
  const view = viewOf(host, session, asked, new Emitter(frame => writer.send(frame)))
  let over = false
  const fail = (message: string): void => {
    if (over) return
    over = true
    view.fail(message)
    writer.end()
  }
  session.feed.watch(item => {
    if (over || (item.type !== 'event' && item.type !== 'delta')) return
    try {
      view.take(item)
    } catch (error) {
      fail(error instanceof Diverged ? startedOver : publicError(error).message)
    }
  })
  view.begin()
  void drive(session, asked)
    .then(() => {
      if (!over) view.finish()
      over = true
      writer.end()
    })
    .catch(error => fail(publicError(error).message))
    .finally(end)
  return RESPONSE_ALREADY_SENT
}

const startedOver = 'The model started over and said something else. Send the request again.'

function viewOf(host: WireHost, session: Session, asked: Asked, emitter: Emitter): ResponseView {
  const { state, agent } = session
  const first = state.seq
  return new ResponseView({
    emitter,
    resource: new Resource(
      responseId({ session: session.id, first }),
      state.createdAt,
      requestFields(agent, state.settings, splitAsk(asked.settings).ask),
    ),
    at: { stem: stemOf(session.id), first },
    agent: agent.name,
    live: true,
    ...(asked.sealed && { seal: answered => sealAnswer(answered, state.owner, text => host.seal(text)) }),
  })
}

/** One answer, or as many as the vendor needs for one: it may pause, to be asked again with its own words. */
async function drive(session: Session, asked: Asked): Promise<void> {
  const hand = await ManualControl.take(session, door)
  await session.say({ parts: [], wire: door, ask: splitAsk(asked.settings).ask })
  while (hand.look().do === 'ask-model') {
    if (session.lost || session.stopping)
      throw new TurnwireError('stopping', 'The server is stopping. Try again in a moment.')
    await hand.perform()
  }
}
