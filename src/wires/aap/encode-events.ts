// Beyond the protocol: a session's log as a stream that can be resumed. A durable event carries its number as `id`; a delta
// carries none, so a client that reconnects asks for durable events only.
import type { AgentInfo, FollowItem } from '../../engine/index.ts'
import type { Event } from '../../language/events.ts'
import { sseFrame } from '../http/index.ts'
import type { FrameEncoder } from '../http/stream.ts'
import { publicEvent } from '../public-event.ts'
import { maskSettings } from './encode.ts'

/** Frames are kept with their items: many readers may follow one session. */
export class EventFrames implements FrameEncoder<FollowItem> {
  readonly #agent: AgentInfo | undefined

  constructor(agent: AgentInfo | undefined) {
    this.#agent = agent
  }

  take(item: FollowItem): string {
    if (item.type !== 'event' && item.type !== 'delta') return ''
    const known = item.encoded?.['aap']
    if (known !== undefined) return known
    const frame =
      item.type === 'event'
        ? sseFrame(item.event.type, masked(item.event, this.#agent), item.seq)
        : sseFrame(item.delta.type, item.delta)
    item.encoded = { ...item.encoded, aap: frame }
    return frame
  }

  fail(): string {
    return ''
  }
}

/** The event as it stands in the log, with secrets masked and without what is for operators. */
function masked(event: Event, agent: AgentInfo | undefined): Event {
  if (!('settings' in event) || !event.settings) return publicEvent(event)
  // The settings are those of this event, with other values.
  return { ...event, settings: maskSettings(event.settings, agent) } as Event
}
