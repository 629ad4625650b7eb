// A sealed session: one HTML file that shows a session, and holds the log in a form that can be checked. The log is JSON in the page:
// events in the form of their digests, each with its salt, and only the digest of what was left out.
import type { Event } from '../language/events.ts'
import { makeReceipts, type Receipt } from '../language/make-receipt.ts'
import { digestEvent, digestForm, readWay, Salts, signedForm } from '../language/receipts.ts'
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
  let policy: string | undefined
  for (const { event, seq } of log) {
    if (event.type !== 'log.signed') continue
    const salts = new Salts(event.salt)
    const way = readWay(event)
    for (const item of log.slice(event.from - 1, event.to)) {
      const salt = salts.at(item.seq - event.from)
      const form = digestForm(item.event, salts, way)
      items.push(
        removes(item)
          ? { seq: item.seq, digest: digestEvent(form, salt) }
          : { seq: item.seq, event: form, salt },
      )
    }
    receipts.push(...makeReceipts(session, event, log, policy))
    policy = event.policy
    last = seq
  }
  // The last signature. Between it and the events that it covers there may be others, which nothing proves yet.
  for (const { seq, event } of log.slice(items.length, last))
    items.push(
      event.type === 'log.signed' ? { seq, event: signedForm(event), salt: '' } : { seq, digest: '' },
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
