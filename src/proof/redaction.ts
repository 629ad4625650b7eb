// Which events are left out of a sealed file, by the kinds of content that they hold. An event is left out whole: its digest stays in
// its place. With `all`, names, times, numbers and hashes remain: who allowed which tool, and how it ended.
import type { Event } from '../language/events.ts'

/** `reasons`: what people and rules said about a decision, and the words of errors. */
const kinds = ['messages', 'arguments', 'results', 'reasons'] as const
type Kind = (typeof kinds)[number]

export const redactable = ['all', ...kinds]

type Item = { seq: number; event: Event }
type Holds<Type> = readonly Kind[] | ((event: Extract<Event, { type: Type }>) => readonly Kind[])

const nothing: readonly Kind[] = []
const history: readonly Kind[] = ['messages', 'arguments', 'results']

/** Of every event, so that a new one is not shown by oversight. */
const held: { readonly [Type in Event['type']]: Holds<Type> } = {
  'session.created': ({ seed }) => (seed.length > 0 ? history : ['messages']),
  'session.configured': ['messages'],
  'request.accepted': nothing,
  'turn.started': ['messages'],
  'turn.asked': ['messages'],
  'model.answered': ({ parts }) =>
    parts.some(({ type }) => type === 'hosted') ? history : ['messages', 'arguments'],
  'call.handed': nothing,
  // The client says by whom, in its own words.
  'call.claimed': ['messages'],
  'approval.requested': ({ preview, flow, again, reason }) => [
    ...(preview || flow || again ? (['arguments', 'results'] as const) : nothing),
    ...reasons(reason),
  ],
  'approval.voted': nothing,
  'approval.refused': ['reasons'],
  'approval.expired': nothing,
  'approval.decided': ({ reason }) => reasons(reason),
  'call.edited': ['arguments'],
  'policy.applied': nothing,
  'call.forbidden': nothing,
  'policy.shadowed': ({ reason }) => reasons(reason),
  'call.allowed': nothing,
  'call.started': nothing,
  'call.nested': ['arguments'],
  'call.suspended': nothing,
  'call.postponed': nothing,
  'call.delegated': nothing,
  'call.used': nothing,
  'call.settled': ({ outcome }) => result(outcome),
  'call.referenced': ['results'],
  'call.reconciled': ({ outcome }) => result(outcome),
  'call.late': ({ outcome }) => result(outcome),
  'question.asked': ['arguments', 'results'],
  'question.answered': ['results'],
  'question.expired': nothing,
  'question.withdrawn': nothing,
  'budget.decided': nothing,
  'agent.changed': ['messages'],
  'turn.ended': ({ shown, error }) => [...(shown ? (['messages'] as const) : nothing), ...reasons(error)],
  'message.queued': ['messages'],
  'message.delivered': ({ parts }) => (parts ? ['messages'] : nothing),
  'message.withdrawn': ({ reason }) => reasons(reason),
  'grant.given': ({ grant }) => (grant.where ? ['arguments'] : nothing),
  'grant.revoked': nothing,
  'control.taken': nothing,
  'control.returned': nothing,
  'history.compacted': history,
  'history.rewound': ({ entries }) => (entries.length > 0 ? history : nothing),
  'hook.acted': ({ reason }) => reasons(reason),
  'model.sampled': nothing,
  'log.signed': nothing,
  'payment.recorded': ['reasons'],
}

function reasons(reason: unknown): readonly Kind[] {
  return reason === undefined ? nothing : ['reasons']
}

/** A tool may say with its result what it was given. */
function result({ input, report }: { input?: unknown; report?: unknown }): readonly Kind[] {
  return input === undefined && report === undefined ? ['results'] : ['arguments', 'results']
}

function holds(event: Event): readonly Kind[] {
  const found = held[event.type] as Holds<Event['type']> // One entry, for events of this type.
  return typeof found === 'function' ? found(event as never) : found
}

/** Says which events to leave out: kinds of content, or numbers such as `4,7-9`. Undefined: the text says neither. */
export function readRedaction(text: string): ((item: Item) => boolean) | undefined {
  const tests = text.split(',').map(word => readTest(word.trim()))
  if (tests.some(test => test === undefined)) return undefined
  return item => item.event.type !== 'log.signed' && tests.some(test => test?.(item))
}

function readTest(word: string): ((item: Item) => boolean) | undefined {
  const [, from = '', to = from] = /^(\d+)(?:-(\d+))?$/.exec(word) ?? []
  if (from !== '') return ({ seq }) => seq >= Number(from) && seq <= Number(to)
  if (word === 'all') return ({ event }) => holds(event).length > 0
  const kind = kinds.find(known => known === word)
  return kind && (({ event }) => holds(event).includes(kind))
}
