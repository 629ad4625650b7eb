// One line for each event that is neither a message nor a step of a call, as a reader of a transcript wants it.
import type { Event, Grant } from '../language/events.ts'
import type { ShownEnd, ShownMessage } from '../language/show.ts'
import { printable } from '../lib/text/index.ts'
import { type NoteTone, stopWords } from './view.ts'

export type Note = { tone: NoteTone; text: string }

export function endNote({ stop, limit, error }: ShownEnd): Note | undefined {
  if (stop === 'end') return undefined
  const tone = stop === 'cancelled' || stop === 'abandoned' ? 'plain' : 'bad'
  return { tone, text: stopWords(stop, limit, error?.message) }
}

export function messageNote(message: ShownMessage): Note | undefined {
  if (message.state !== 'withdrawn') return undefined
  return { tone: 'plain', text: `${message.by} withdrew a message before it was delivered` }
}

export function toNote(event: Event): Note | undefined {
  switch (event.type) {
    case 'session.configured':
      return { tone: 'plain', text: `Settings changed: ${Object.keys(event.settings).join(', ')}` }
    case 'grant.given':
      return { tone: event.grant.deny ? 'bad' : 'good', text: grantWords(event.grant) }
    case 'grant.revoked':
      return { tone: 'plain', text: `${event.by} revoked a grant` }
    case 'agent.changed':
      return { tone: 'plain', text: `The agent ${event.agent} goes on with the conversation` }
    case 'control.taken':
      return { tone: 'waiting', text: `${event.by} took manual control` }
    case 'control.returned':
      return { tone: 'plain', text: `${event.by} returned control to the loop` }
    case 'history.compacted':
      return { tone: 'plain', text: `The model now reads a summary in place of ${event.replaces} entries` }
    case 'history.rewound':
      return { tone: 'plain', text: `A message was said anew: the model keeps ${event.keeps} entries` }
    case 'hook.acted':
      return { tone: event.change === 'refused' ? 'bad' : 'plain', text: hookWords(event) }
    case 'policy.shadowed':
      return { tone: 'plain', text: shadowWords(event) }
    default:
      return undefined
  }
}

function shadowWords({ given, verdict, rule }: Extract<Event, { type: 'policy.shadowed' }>): string {
  return `The shadow rule ${printable(rule, 80)} would say ${verdict}, not ${given}`
}

export function grantWords(grant: Grant): string {
  const verb = grant.deny
    ? 'never'
    : `always${grant.argsHash === undefined ? patternWords(grant) : ', with these arguments,'}`
  const uses = grant.usesLeft === undefined ? '' : `, ${grant.usesLeft} more times`
  const until = grant.expiresAt === undefined ? '' : `, until ${new Date(grant.expiresAt).toLocaleString()}`
  return `${grant.by} says: ${grant.tool} may ${verb} run${uses}${until}`
}

function patternWords({ where }: Grant): string {
  if (!where) return ''
  const pairs = Object.entries(where).map(([name, pattern]) => `${name} ${pattern}`)
  return ` with ${pairs.join(', ')}`
}

function hookWords({ hook, change, reason }: Extract<Event, { type: 'hook.acted' }>): string {
  const did = change === 'refused' ? 'refused it' : `replaced the ${change}`
  return `The hook ${hook} ${did}${reason === undefined ? '' : `: ${printable(reason, 400)}`}`
}
