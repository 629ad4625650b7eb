// Digests of a log, and what is signed of them. Each event has a digest over its canonical JSON (RFC 8785). A head is a digest over
// the head before it and the digests of the events since, so it depends on each event and on their order. Everything here is
// SHA-256 in base64url, and pure. Who holds the private key is not decided here.
//
// A digest is made with a salt. Where an event is left out, its digest stays in its place, and no reader can try contents until
// one fits. The salts of the events that one signature covers come from one source, which is in the signed event.
//
// There are two ways. In the second, which is the one of new signatures, hashes in an event that are hashes of contents have a salt too,
// and a receipt shows no salt: otherwise contents that are left out elsewhere could be guessed from what stays.
import { createHash } from 'node:crypto'
import { sha256 } from '../lib/json/hash.ts'
import { canonicalJson, type Json, type JsonObject } from '../lib/json/index.ts'
import { leafHash, merkleRoot } from '../lib/merkle/index.ts'
import type { Event } from './events.ts'
import type { LogSigned } from './log-signed.ts'
import type { CallReceipt } from './receipt-calls.ts'
import { replaceSeals, sealingTypes } from './seals.ts'

export const newestWay = 2
export type DigestWay = 1 | typeof newestWay

export function readWay({ way }: Pick<LogSigned, 'way'>): DigestWay {
  return way ?? 1
}

/** The event as its digest is made from it: sealed texts, the source of salts, and hashes of contents are replaced by hashes. */
export function digestForm(event: Event, salts: Salts, way: DigestWay): Event {
  if (event.type === 'log.signed') return signedForm(event)
  const open = sealingTypes.has(event.type) ? replaceSeals(event, sha256) : event
  return way === 1 ? open : hideHashes(open, salts)
}

/** The same object if it has none. */
function hideHashes(event: Event, salts: Salts): Event {
  switch (event.type) {
    case 'model.answered':
      return event.sent === undefined ? event : { ...event, sent: salts.hide(event.sent) }
    case 'request.accepted':
      return { ...event, hash: salts.hide(event.hash) }
    case 'grant.given': {
      const { argsHash } = event.grant
      return argsHash === undefined
        ? event
        : { ...event, grant: { ...event.grant, argsHash: salts.hide(argsHash) } }
    }
    case 'call.handed':
    case 'call.edited':
    case 'approval.requested':
    case 'approval.voted':
    case 'approval.decided':
      // By the call, so that nobody sees of two calls that their arguments are the same.
      return { ...event, argsHash: salts.hide(event.argsHash, event.callId) }
    default:
      return event
  }
}

/** Without anything that would reveal the salts of other events. It is what the signature is made for. */
export function signedForm(event: LogSigned): LogSigned {
  const { marks } = event
  return { ...event, salt: sha256(event.salt), ...(marks !== undefined && { marks: sha256(marks) }) }
}

/** `event`: in the form of `digestForm`. */
export function digestEvent(event: Event, salt: string): string {
  // An event is JSON, but for members that are undefined, which have no place in JSON.
  return sha256(salt + canonicalJson(event as unknown as Json))
}

/** The head after these events. `previous`: the head before them, or an empty text. */
export function chainHead(previous: string, digests: readonly string[]): string {
  return sha256(`${previous}\n${digests.join('\n')}`)
}

const saltChars = 32
/** Of one source text. Most turns need the first few of them only, and a beginning of SHAKE-256 is the same whatever its length. */
const saltsAtOnce = 64
const firstSalts = 16

/** The salts of the events that one signature covers, by their place among them. */
export class Salts {
  readonly #source: string
  #block = -1
  #salts = ''

  constructor(source: string) {
    this.#source = source
  }

  at(index: number): string {
    const block = Math.floor(index / saltsAtOnce)
    const place = index % saltsAtOnce
    const chars = (place < firstSalts ? firstSalts : saltsAtOnce) * saltChars
    if (block !== this.#block || this.#salts.length < chars) {
      this.#block = block
      this.#salts = createHash('shake256', { outputLength: chars / 2 })
        .update(`${this.#source}:${block}`)
        .digest('hex')
    }
    const from = place * saltChars
    return this.#salts.slice(from, from + saltChars)
  }

  /** A hash of a hash. Equal ones stay equal under one signature. */
  hide(hash: string, use = ''): string {
    return sha256(`${this.#source}:${use}:${hash}`)
  }
}

/** The salt of a call's arguments. `salt`: of the event that has them: who is shown that event can compare a receipt with it. */
export function argumentsSalt(salt: string, callId: string): string {
  return sha256(`${salt}:${callId}`)
}

/** Each digest begins with so many characters that no two events of a log are likely to share them. */
const markChars = 8
const mostMarked = 4096

export function makeMarks(digests: readonly string[]): string | undefined {
  if (digests.length > mostMarked) return undefined
  return digests.map(digest => digest.slice(0, markChars)).join('')
}

/** The place of the first digest that differs from its mark. Undefined: none does, or there are no marks. */
export function firstUnmarked(marks: string | undefined, digests: readonly string[]): number | undefined {
  if (marks === undefined) return undefined
  for (const [index, digest] of digests.entries()) {
    const mark = marks.slice(index * markChars, (index + 1) * markChars)
    if (mark !== digest.slice(0, markChars)) return index
  }
  return undefined
}

/** The leaf of a call in the tree of receipts. */
export function receiptLeaf(call: CallReceipt): string {
  return leafHash(canonicalJson(call as unknown as Json)) // It is JSON: see its type.
}

export function callsSigned(leaves: readonly string[]): LogSigned['calls'] {
  return { count: leaves.length, root: merkleRoot(leaves) }
}

/** The text that is signed: the session and everything that the signed event says. `signed`: in the form of `signedForm`. */
export function textToSign(session: string, signed: LogSigned): string {
  const { signature: _, ...said } = signed
  return `turnwire log 1\n${canonicalJson({ session, signed: said as JsonObject })}` // An event is JSON.
}
