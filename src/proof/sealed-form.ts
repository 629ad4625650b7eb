// A sealed session: one HTML file that shows a session, and holds the log in a form that can be checked. The log is JSON in the page:
// events in the form of their digests, each with its salt, and only the digest of what was left out.
import type { Event } from '../language/events.ts'
import { makeReceipts, type Receipt } from '../language/make-receipt.ts'
import { digestEvent, digestForm, Salts } from '../language/receipts.ts'
import type { LogItem } from './verify-log.ts'

/** How each sealed file begins. It names the form. */
export const sealedStart = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="generator" content="turnwire seal 1">
`
const dataStart = '<script type="application/json" id="sealed">'
const dataEnd = '</script>'

export type Sealed = {
  turnwire: 'sealed'
  version: 1
  session: string
  /** How many events there are. */
  events: number
  log: LogItem[]
  /** Of every settled call that is signed. */
  receipts: Receipt[]
}

/** The kinds of content that can be left out. The events that say who allowed what are never left out by them. */
const kinds: Readonly<Record<string, ReadonlySet<Event['type']>>> = {
  messages: new Set([
    'session.created',
    'session.configured',
    'turn.started',
    'turn.asked',
    'model.answered',
    'message.queued',
    'message.delivered',
    'history.compacted',
    'history.rewound',
    'agent.changed',
  ]),
  arguments: new Set(['model.answered', 'call.nested', 'call.edited', 'approval.requested']),
  results: new Set(['call.settled', 'call.late', 'question.asked', 'question.answered']),
}

export const redactable = ['all', ...Object.keys(kinds)]

/** Says which events to leave out: kinds of content, or numbers such as `4,7-9`. Undefined: the text says neither. */
export function readRedaction(text: string): ((item: { seq: number; event: Event }) => boolean) | undefined {
  const tests = text.split(',').map(word => {
    const [, from = '', to = from] = /^(\d+)(?:-(\d+))?$/.exec(word.trim()) ?? []
    if (from !== '') return ({ seq }: { seq: number }) => seq >= Number(from) && seq <= Number(to)
    const types = Object.hasOwn(kinds, word.trim()) ? [kinds[word.trim()]!] : Object.values(kinds)
    const isKnown = word.trim() === 'all' || types.length === 1
    return isKnown ? ({ event }: { event: Event }) => types.some(set => set.has(event.type)) : undefined
  })
  if (tests.some(test => test === undefined)) return undefined
  return item => item.event.type !== 'log.signed' && tests.some(test => test?.(item))
}

/**
 * `log`: whole, as it is recorded. Events that are not signed yet have no salt: they are left out, since nothing could prove them.
 * `removes`: further events to leave out.
 */
export function sealLog(
  session: string,
  log: readonly { seq: number; event: Event }[],
  removes: (item: { seq: number; event: Event }) => boolean = () => false,
): Sealed {
  const items: LogItem[] = []
  const receipts: Receipt[] = []
  let last = 0
  for (const { event, seq } of log) {
    if (event.type !== 'log.signed') continue
    const salts = new Salts(event.salt)
    for (const item of log.slice(event.from - 1, event.to)) {
      const salt = salts.at(item.seq - event.from)
      const form = digestForm(item.event)
      items.push(
        removes(item)
          ? { seq: item.seq, digest: digestEvent(form, salt) }
          : { seq: item.seq, event: form, salt },
      )
    }
    receipts.push(...makeReceipts(session, event, log))
    last = seq
  }
  // The last signature. Between it and the events that it covers there may be others, which nothing proves yet.
  for (const { seq, event } of log.slice(items.length, last))
    items.push(
      event.type === 'log.signed' ? { seq, event: digestForm(event), salt: '' } : { seq, digest: '' },
    )
  return {
    turnwire: 'sealed',
    version: 1,
    session,
    events: items.length,
    log: items,
    receipts,
  }
}

/** `<` would end the element, or begin a comment. */
export function embed(sealed: Sealed): string {
  return `${dataStart}${JSON.stringify(sealed).replaceAll('<', '\\u003c')}${dataEnd}`
}

/** Throws if the file holds no sealed session. */
export function readSealed(html: string): Sealed {
  const start = html.indexOf(dataStart)
  const end = html.indexOf(dataEnd, start)
  if (start < 0 || end < 0) throw new Error('the log in the file is missing')
  const sealed = JSON.parse(html.slice(start + dataStart.length, end)) as Sealed // Checked next, and by its signatures.
  if (
    Object.keys(sealed).sort().join() !== 'events,log,receipts,session,turnwire,version' ||
    sealed.turnwire !== 'sealed' ||
    sealed.version !== 1 ||
    !Array.isArray(sealed.log) ||
    !Array.isArray(sealed.receipts)
  )
    throw new Error('the log in the file is not of the form that this program knows')
  return sealed
}
