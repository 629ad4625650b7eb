// Uses of texts that the vault seals. A text carries its use and is opened for that use only: a text that a client
// chose, such as an option's value, is never taken for a token. Readers outside the engine are not shown sealed texts.
import type { Event, OptionValue, Settings } from './events.ts'
import type { AnswerPart, Entry } from './history.ts'

export type SealUse =
  /** In the log, or in a file of the data folder. */
  | 'option'
  | 'arguments'
  | 'mcp tokens'
  /** Carried by clients. */
  | 'wallet token'
  | 'console cookie'
  | 'agui value'
  | 'responses answer'
  | 'responses summary'
  | 'mcp request state'

/** How secrets read wherever they are shown. */
export const maskedSecret = '***'

/** The events that may hold something sealed. */
export const sealingTypes: ReadonlySet<Event['type']> = new Set([
  'session.created',
  'session.configured',
  'message.queued',
  'agent.changed',
  'model.answered',
  'call.nested',
  'call.edited',
  'question.answered',
  'history.compacted',
  'history.rewound',
])

/** The event as a reader outside the engine is given it: the same object if nothing in it is sealed. */
export function withoutSeals(event: Event): Event {
  switch (event.type) {
    case 'session.created': {
      const settings = settingsWithoutSeals(event.settings)
      const seed = entriesWithoutSeals(event.seed)
      return settings === event.settings && seed === event.seed ? event : { ...event, settings, seed }
    }
    case 'session.configured': {
      const settings = settingsWithoutSeals(event.settings)
      return settings === event.settings ? event : { ...event, settings }
    }
    case 'message.queued': {
      const settings = event.settings && settingsWithoutSeals(event.settings)
      return settings === undefined || settings === event.settings ? event : { ...event, settings }
    }
    case 'agent.changed': {
      const settings = settingsWithoutSeals(event.settings)
      return settings === event.settings ? event : { ...event, settings }
    }
    case 'model.answered': {
      const parts = partsWithoutSeals(event.parts)
      return parts === event.parts ? event : { ...event, parts }
    }
    case 'call.nested': {
      const call = withoutSeal(event.call)
      return call === event.call ? event : { ...event, call }
    }
    case 'call.edited':
      return withoutSeal(event)
    case 'question.answered':
      return withoutSeal(event)
    case 'history.compacted':
    case 'history.rewound': {
      const entries = entriesWithoutSeals(event.entries)
      return entries === event.entries ? event : { ...event, entries }
    }
    default:
      return event
  }
}

/** A secret value is emptied, but the option stays: readers see that it is set. */
export function settingsWithoutSeals<Given extends Partial<Settings>>(settings: Given): Given {
  const { options } = settings
  if (!options || Object.values(options).every(value => typeof value === 'string')) return settings
  const hide = (value: OptionValue): OptionValue => (typeof value === 'string' ? value : { sealed: '' })
  return {
    ...settings,
    options: Object.fromEntries(Object.entries(options).map(([name, value]) => [name, hide(value)])),
  }
}

export function entriesWithoutSeals(entries: Entry[]): Entry[] {
  return mapChanged(entries, entry => {
    if (entry.role !== 'assistant') return entry
    const parts = partsWithoutSeals(entry.parts)
    return parts === entry.parts ? entry : { ...entry, parts }
  })
}

function partsWithoutSeals(parts: AnswerPart[]): AnswerPart[] {
  for (const part of parts)
    if (part.type === 'call' && part.sealed !== undefined)
      return parts.map(each => (each.type === 'call' ? withoutSeal(each) : each))
  return parts
}

export function withoutSeal<Holder extends { sealed?: string }>(holder: Holder): Omit<Holder, 'sealed'> {
  if (holder.sealed === undefined) return holder
  const { sealed: _, ...rest } = holder
  return rest
}

/** The same list if no item was replaced. */
function mapChanged<Item>(items: Item[], change: (item: Item) => Item): Item[] {
  return items.some(item => change(item) !== item) ? items.map(change) : items
}
