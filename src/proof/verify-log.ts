// Checks a session's log against its signatures, event by event, and names the first that is not as it was recorded. The log may come
// from a store, an export or a sealed file. Where events were left out, their digests are in their place.
import type { Event } from '../language/events.ts'
import type { LogSigned } from '../language/log-signed.ts'
import type { Receipt } from '../language/make-receipt.ts'
import { ReceiptFold } from '../language/receipt-calls.ts'
import {
  callsSigned,
  chainHead,
  digestEvent,
  digestForm,
  firstUnmarked,
  newestWay,
  readWay,
  receiptLeaf,
  Salts,
  signedForm,
  textToSign,
} from '../language/receipts.ts'
import { isSignedBy, thumbprint } from '../lib/signing/ed25519.ts'
import { SigningKeys, type TrustedKeys } from './trust.ts'

/**
 * An event as it is recorded; as a sealed file has it, in the form of its digest and with its salt; or, in a sealed file too, the digest of
 * one that was left out.
 */
export type LogItem =
  | { seq: number; event: Event; salt?: undefined }
  | { seq: number; event: Event; salt: string }
  | { seq: number; digest: string }

/** `whole`: each event as it is recorded. `sealed`: all that is shown has to be signed. */
export type LogForm = 'whole' | 'sealed'

const members: Readonly<Record<LogForm, ReadonlySet<string>>> = {
  whole: new Set(['event,seq']),
  sealed: new Set(['event,salt,seq', 'digest,seq']),
}

/** `seq`: the first event that is not as it was recorded, or where the end of the log is wrong. */
export type Broken = { seq: number; why: string }

export type VerifiedLog = {
  session: string
  events: number
  /** The last event that is signed. 0: none is. */
  signedTo: number
  /** The events after it that are not signatures. */
  unsigned: number
  /** Settled calls that are signed. */
  calls: number
  /** Events that were left out. */
  removed: number
  /** Events that the server had read back from its store when it signed them. A change of the store before that does not show. */
  readBack: number
  /** Results that are kept beside the log. Absent: they were not looked at. */
  outputs?: number
  /** The names of the keys that signed. */
  keys: string[]
  /** Absent: everything that is signed is as it was recorded. */
  broken?: Broken
}

export class LogVerifier {
  readonly #session: string
  readonly #keys: SigningKeys
  readonly #form: LogForm
  /** By signature: the events that signed receipts which someone kept. The log has to have them. */
  readonly #awaited: Map<string, LogSigned>
  /** After the last signed event. */
  #held: LogItem[] = []
  #head = ''
  /** The version of the rules there. */
  #policy: string | undefined
  readonly #result: VerifiedLog

  /** `receipts`: kept elsewhere, and checked. Without them nothing shows that a log was cut off after one of its signatures. */
  constructor(
    session: string,
    trusted: TrustedKeys,
    form: LogForm = 'whole',
    receipts: readonly Receipt[] = [],
  ) {
    this.#session = session
    this.#awaited = new Map(
      receipts
        .filter(({ call }) => call.session === session)
        .map(({ signed }) => [signed.signature, signed] as const),
    )
    this.#keys = new SigningKeys(trusted)
    this.#form = form
    this.#result = {
      session,
      events: 0,
      signedTo: 0,
      unsigned: 0,
      calls: 0,
      removed: 0,
      readBack: 0,
      keys: [],
    }
  }

  /** False: something is broken, and the rest need not be read. */
  take(item: LogItem): boolean {
    const result = this.#result
    if (result.broken) return false
    const due = result.events + 1
    if (item.seq !== due)
      return this.#break(due, `event ${due} is missing: event ${item.seq} stands in its place`)
    // A member that is not looked at here could be what another reader shows.
    if (!members[this.#form].has(Object.keys(item).sort().join()))
      return this.#break(due, `event ${due} has members that it cannot have here, or lacks some`)
    result.events = due
    this.#held.push(item)
    if ('digest' in item) result.removed += item.digest === '' ? 0 : 1
    else if (item.event.type === 'log.signed') this.#check(item.event, due)
    return result.broken === undefined
  }

  /** The rest of the log cannot be read: that is where it is broken, if nothing before it is. */
  stop(): VerifiedLog {
    const due = this.#result.events + 1
    this.#break(due, `event ${due} cannot be read: what the store has of it is damaged or was changed`)
    return this.end()
  }

  /** `head`: the number of the last event that there should be, where it is known. */
  end(head?: number): VerifiedLog {
    const result = this.#result
    if (!result.broken && head !== undefined && head !== result.events)
      this.#break(result.events + 1, `the log should have ${head} events, and has ${result.events}`)
    const isOther = (item: LogItem): boolean => !('event' in item) || item.event.type !== 'log.signed'
    result.unsigned = this.#held.filter(isOther).length
    const [awaited] = this.#awaited.values()
    if (awaited)
      this.#break(
        awaited.from,
        `a receipt that is kept elsewhere says that events ${awaited.from} to ${awaited.to} were signed otherwise, or the log was cut off before them`,
      )
    const forged = this.#form === 'sealed' ? this.#held.find(item => !isEmptyPlace(item)) : undefined
    if (forged)
      this.#break(
        forged.seq,
        `event ${forged.seq} is not signed, and a sealed file shows only what is signed`,
      )
    return result
  }

  #check(signed: LogSigned, seq: number): void {
    const result = this.#result
    const isSealed = this.#form === 'sealed'
    const { from, to, head, previous, key, signature, at } = signed
    const form = isSealed ? signed : signedForm(signed)
    const count = to - result.signedTo
    if (signed.seq !== seq) {
      this.#break(
        Math.min(seq, to + 1),
        `the signature at event ${seq} was event ${signed.seq}: events before it are missing or were added`,
      )
      return
    }
    if (from !== result.signedTo + 1 || !(count > 0) || to >= seq || previous !== this.#head) {
      this.#break(
        seq,
        `the signature at event ${seq} does not follow the one before it: events between them are missing or were added`,
      )
      return
    }
    if (signed.way !== undefined && signed.way !== newestWay) {
      this.#break(seq, `the signature at event ${seq} is of a version that this program does not know`)
      return
    }
    const covered = this.#held.slice(0, count)
    const read = isSealed ? covered.map(readShown) : covered.map(recordedReader(signed))
    const digests = read.map(({ digest }) => digest)
    if (chainHead(previous, digests) !== head) {
      const index = isSealed ? undefined : firstUnmarked(signed.marks, digests)
      this.#break(index === undefined ? from : from + index, changed(covered, index, from, to))
      return
    }
    if (!isSignedBy(key, textToSign(this.#session, form), signature))
      this.#break(
        seq,
        `the signature at event ${seq} is not of the key that it names, or not of this session`,
      )
    else if (!this.#hasReceipts(signed, read))
      this.#break(from, `the receipts of the calls in events ${from} to ${to} are not those of the log`)
    else {
      const latest = covered.reduce(
        (time, item) => ('event' in item ? Math.max(time, item.event.at) : time),
        at,
      )
      const why = this.#keys.distrust(key, latest)
      if (why !== undefined) this.#break(seq, `event ${seq} is a signature, but ${why}`)
    }
    const kid = thumbprint(key)
    if (!result.keys.includes(kid)) result.keys.push(kid)
    if (result.broken) return
    this.#awaited.delete(signature)
    result.signedTo = to
    result.calls += signed.calls.count
    result.readBack += countReadBack(signed)
    this.#head = head
    this.#policy = signed.policy
    this.#held = this.#held.slice(count)
  }

  /** They can be made again only where no event was left out. The signature covers them in any case. */
  #hasReceipts(signed: LogSigned, covered: readonly ReadItem[]): boolean {
    const fold = new ReceiptFold(this.#session, readWay(signed), this.#policy)
    const leaves: string[] = []
    for (const [index, { form, digest, salt }] of covered.entries()) {
      if (!form) return true
      const settled = fold.take(signed.from + index, form, digest, salt)
      if (settled) leaves.push(receiptLeaf(settled.call))
    }
    const { root, count } = callsSigned(leaves)
    const hasPolicy = readWay(signed) === 1 || fold.policy === signed.policy
    return root === signed.calls.root && count === signed.calls.count && hasPolicy
  }

  #break(seq: number, why: string): false {
    this.#result.broken ??= { seq, why }
    return false
  }
}

function countReadBack({ from, to, readBack = 0 }: LogSigned): number {
  return Math.max(0, Math.min(readBack, to) - from + 1)
}

/** After the last signed event of a sealed file: a signature, which stands for itself, or the place of an event that is not shown. */
function isEmptyPlace(item: LogItem): boolean {
  return 'digest' in item ? item.digest === '' : item.event.type === 'log.signed' && item.salt === ''
}

/** `form`: of the event, as its digest is made from it. Absent: it was left out. */
type ReadItem = { digest: string; salt: string; form?: Event }

function readShown(item: LogItem): ReadItem {
  if ('digest' in item) return { digest: item.digest, salt: '' }
  const { event: form, salt = '' } = item
  return { digest: digestEvent(form, salt), salt, form }
}

/** For events as they are recorded, which have no salts of their own. */
function recordedReader(signed: LogSigned): (item: LogItem) => ReadItem {
  const salts = new Salts(signed.salt)
  return item => {
    if (!('event' in item)) return { digest: '', salt: '' }
    const salt = salts.at(item.seq - signed.from)
    const form = digestForm(item.event, salts, readWay(signed))
    return { digest: digestEvent(form, salt), salt, form }
  }
}

function changed(items: readonly LogItem[], index: number | undefined, from: number, to: number): string {
  if (index === undefined) return `one of the events ${from} to ${to} is not as it was recorded`
  const item = items[index]
  const type = item && 'event' in item ? ` (${item.event.type})` : ''
  return `event ${from + index}${type} is not as it was recorded: it was changed, or events before it are missing or were added`
}
