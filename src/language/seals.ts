// Uses of texts that the vault seals. A text carries its use and is opened for that use only: a text that a client
// chose, such as an option's value, is never taken for a token. Readers outside the engine are not shown sealed texts.
import type { Event, OptionValue, Settings } from './events.ts'
import type { AnswerPart, Entry } from './history.ts'

export type SealUse =
  /** In the log, or in a file of the data folder. */
  | 'option'
  | 'arguments'
  | 'mcp tokens'
  /** In records beside the logs. */
  | 'mcp account'
  | 'mcp login'
  /** Carried by clients. */
  | 'wallet token'
  | 'console cookie'
  | 'oidc sign-in'
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

/** What becomes of a sealed text. Undefined: it is left out; of an option the empty text stays, so that readers see that it is set. */
type Replace = (sealed: string) => string | undefined

/** The event as a reader outside the engine is given it: the same object if nothing in it is sealed. */
export function withoutSeals(event: Event): Event {
  return replaceSeals(event, leaveOut)
}

const leaveOut: Replace = () => undefined

/** The same object if nothing in it is sealed. */
export function replaceSeals(event: Event, replace: Replace): Event {
  switch (event.type) {
    case 'session.created': {
      const settings = replaceInSettings(event.settings, replace)
      const seed = replaceInEntries(event.seed, replace)
      return settings === event.settings && seed === event.seed ? event : { ...event, settings, seed }
    }
    case 'session.configured':
    case 'agent.changed': {
      const settings = replaceInSettings(event.settings, replace)
      return settings === event.settings ? event : ({ ...event, settings } as Event) // Of the same type, and as whole as before.
    }
    case 'message.queued': {
      const settings = event.settings && replaceInSettings(event.settings, replace)
      return settings === undefined || settings === event.settings ? event : { ...event, settings }
    }
    case 'model.answered': {
      const parts = replaceInParts(event.parts, replace)
      return parts === event.parts ? event : { ...event, parts }
    }
    case 'call.nested': {
      const call = replaceSeal(event.call, replace)
      return call === event.call ? event : { ...event, call }
    }
    case 'call.edited':
      return replaceSeal(event, replace)
    case 'question.answered':
      return replaceSeal(event, replace)
    case 'history.compacted':
    case 'history.rewound': {
      const entries = replaceInEntries(event.entries, replace)
      return entries === event.entries ? event : { ...event, entries }
    }
    default:
      return event
  }
}

/** A secret value is emptied, but the option stays: readers see that it is set. */
export function settingsWithoutSeals<Given extends Partial<Settings>>(settings: Given): Given {
  return replaceInSettings(settings, leaveOut)
}

function replaceInSettings<Given extends Partial<Settings>>(settings: Given, replace: Replace): Given {
  const { options } = settings
  if (!options || Object.values(options).every(value => typeof value === 'string')) return settings
  const hide = (value: OptionValue): OptionValue =>
    typeof value === 'string' ? value : { sealed: replace(value.sealed) ?? '' }
  return {
    ...settings,
    options: Object.fromEntries(Object.entries(options).map(([name, value]) => [name, hide(value)])),
  }
}

export function entriesWithoutSeals(entries: Entry[]): Entry[] {
  return replaceInEntries(entries, leaveOut)
}

function replaceInEntries(entries: Entry[], replace: Replace): Entry[] {
  return mapChanged(entries, entry => {
    if (entry.role !== 'assistant') return entry
    const parts = replaceInParts(entry.parts, replace)
    return parts === entry.parts ? entry : { ...entry, parts }
  })
}

function replaceInParts(parts: AnswerPart[], replace: Replace): AnswerPart[] {
  for (const part of parts)
    if (part.type === 'call' && part.sealed !== undefined)
      return parts.map(each => (each.type === 'call' ? replaceSeal(each, replace) : each))
  return parts
}

export function withoutSeal<Holder extends { sealed?: string }>(holder: Holder): Omit<Holder, 'sealed'> {
  return replaceSeal(holder, leaveOut)
}

function replaceSeal<Holder extends { sealed?: string }>(holder: Holder, replace: Replace): Holder {
  if (holder.sealed === undefined) return holder
  const { sealed, ...rest } = holder
  const other = replace(sealed)
  return (other === undefined ? rest : { ...rest, sealed: other }) as Holder // `sealed` is optional in it.
}

/** The same list if no item was replaced. */
function mapChanged<Item>(items: Item[], change: (item: Item) => Item): Item[] {
  return items.some(item => change(item) !== item) ? items.map(change) : items
}
