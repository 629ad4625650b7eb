// Beyond the protocol: a session's log as a stream that can be taken up again. Each durable event carries its number as
// `id`; what is live only carries none, so that a client which comes back asks for durable ones alone.
import type { Context } from 'hono'
import type { Agent, FeedItem } from '../../engine/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { Event, Recorded } from '../../language/events.ts'
import type { SseWriter } from '../../lib/sse.ts'
import type { WireEnv, WireHost } from '../host.ts'
import { lastEventId, openSse, RESPONSE_ALREADY_SENT, sseFrame } from '../http/index.ts'
import { maskSettings } from './encode.ts'

export async function serveEvents(c: Context<WireEnv>, host: WireHost, id: string): Promise<Response> {
  const { owner } = c.get('principal')
  const session = await host.old.open(owner, id)
  const after = lastEventId(c)
  if (after === undefined || after > session.state.seq)
    throw new TurnwireError(
      'bad_request',
      `There is no such event to go on after: give the number of an event of this session, at most ${session.state.seq}, or 0 for all.`,
    )
  const log = await host.old.events(owner, id, after)
  if (c.req.method === 'HEAD') return c.body(null, 200, { 'content-type': 'text/event-stream' })
  let unwatch = (): void => {}
  const writer = openSse(c, host, () => unwatch())
  void follow(host, session.agent, writer, { owner, id, after, log }, stop => {
    unwatch = stop
  })
  return RESPONSE_ALREADY_SENT
}

type Request = { owner: string; id: string; after: number; log: Recorded[] }

async function follow(
  host: WireHost,
  agent: Agent,
  writer: SseWriter,
  { owner, id, after, log }: Request,
  onWatch: (stop: () => void) => void,
): Promise<void> {
  let last = after
  try {
    // A long log is read at the client's pace; only what is live is bounded by what the client may owe.
    for (let behind = log; behind.length > 0 && !writer.closed; ) {
      for (const recorded of behind) {
        last = recorded.seq
        writer.send(eventFrame(recorded, agent))
        await writer.ready()
        if (writer.closed) return
      }
      behind = await host.old.events(owner, id, last)
    }
    if (writer.closed) return
    const stop = await host.old.watch(owner, id, last, (item: FeedItem) => {
      if (item.type === 'event' || item.type === 'delta') writer.send(sharedFrame(item, agent))
      else if (item.type === 'closed') writer.end()
    })
    onWatch(stop)
    if (writer.closed) stop()
  } catch (error) {
    host.log('warn', 'A stream of events ended early.', { session: id, error: String(error) })
    writer.end()
  }
}

type Shown = Extract<FeedItem, { type: 'event' | 'delta' }>

let told: { item: Shown; frame: string } | undefined

/** All who watch a session are told of one item before the next: its frame is made for the first of them. */
function sharedFrame(item: Shown, agent: Agent): string {
  if (told?.item !== item)
    told = {
      item,
      frame: item.type === 'event' ? eventFrame(item, agent) : sseFrame(item.delta.type, item.delta),
    }
  return told.frame
}

function eventFrame({ seq, event }: Recorded, agent: Agent): string {
  return sseFrame(event.type, masked(event, agent), seq)
}

/** The event as it stands in the log, less the secrets: sealed or not, they are no one's to read. */
function masked(event: Event, agent: Agent): Event {
  if (event.type !== 'session.created' && event.type !== 'session.configured') return event
  return event.type === 'session.created'
    ? { ...event, settings: maskSettings(event.settings, agent) }
    : { ...event, settings: maskSettings(event.settings, agent) }
}
