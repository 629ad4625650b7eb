// Checks one receipt, with nothing else at hand: that its call stands in the tree whose root was signed, and by whom.
import type { LogSigned } from '../language/log-signed.ts'
import type { Receipt } from '../language/make-receipt.ts'
import type { ReceiptKey } from '../language/receipt-keys.ts'
import { receiptLeaf, textToSign } from '../language/receipts.ts'
import { isRecord } from '../lib/checks/fields.ts'
import { hashJson } from '../lib/json/hash.ts'
import type { Json } from '../lib/json/index.ts'
import { rootFromProof } from '../lib/merkle/index.ts'
import { isSignedBy } from '../lib/signing/ed25519.ts'
import type { Sealed } from './sealed-form.ts'
import { distrust, type TrustedKeys, trustKeys } from './trust.ts'

export function isReceipt(value: unknown): value is Receipt {
  if (!isRecord(value) || value['turnwire'] !== 'receipt') return false
  const { call, proof, signed } = value
  return isRecord(call) && isRecord(proof) && Array.isArray(proof['path']) && isRecord(signed)
}

/** Why it proves nothing. Undefined: the holder of a trusted key signed that this call happened so. */
export function flawOfReceipt(receipt: Receipt, trusted: TrustedKeys): string | undefined {
  const { call, proof, signed, version } = receipt
  if (version !== 1 || ![1, 2].includes(call.v) || call.type !== 'turnwire.call')
    return 'it is of a version that this program does not know'
  const extra =
    Object.keys(receipt).find(key => !knownKeys.has(key)) ??
    Object.keys(proof).find(key => !proofKeys.has(key))
  if (!hasSalts(receipt)) return 'its salts are not of the form that this program knows'
  if (extra !== undefined) return `"${extra}" is no part of a receipt`
  if (!isInside(receipt)) return 'the call is not among the events that were signed'
  const root = rootFromProof(hashLeaf(receipt), { ...proof, size: signed.calls.count })
  if (root === undefined || root !== signed.calls.root)
    return 'the call is not among those that were signed: it was changed'
  if (!isSignedBy(signed.key, signedText(call.session, signed), signed.signature))
    return 'the signature is not of the key that it names'
  return distrust(trusted, signed.key, signed.at)
}

/**
 * Checks a receipt with the public keys of the server that gave it. Gives why it proves nothing; undefined: the holder of one of the keys
 * recorded that this call happened so.
 */
export function verifyReceipt(
  receipt: unknown,
  { keys }: { keys: readonly ReceiptKey[] },
): string | undefined {
  return isReceipt(receipt) ? flawOfReceipt(receipt, trustKeys(keys)) : 'it is no receipt'
}

/** Why the receipts of a sealed file are not those of its log, whose signatures were checked: all of them, in their order, each once. */
export function flawOfReceipts(
  { session, log, receipts }: Pick<Sealed, 'session' | 'log' | 'receipts'>,
  trusted: TrustedKeys,
): string | undefined {
  const due = log.flatMap(item => {
    if (!('event' in item) || item.event.type !== 'log.signed') return []
    const signed = hashSigned(item.event)
    return Array.from({ length: item.event.calls.count }, (_, index) => ({ signed, index }))
  })
  if (receipts.length !== due.length)
    return `there should be ${due.length} receipts in it, and there are ${receipts.length}`
  for (const [place, receipt] of receipts.entries()) {
    const { signed, index } = due[place]!
    const flaw = isReceipt(receipt) ? flawOfReceipt(receipt, trusted) : 'parts of it are missing'
    if (flaw !== undefined) return `receipt ${place + 1} in it: ${flaw}`
    if (receipt.salts)
      return `receipt ${place + 1} in it shows salts, by which what was left out can be guessed`
    if (
      receipt.call.session !== session ||
      receipt.proof.index !== index ||
      hashSigned(receipt.signed) !== signed
    )
      return `receipt ${place + 1} in it is not the one of this log that belongs there`
  }
  return undefined
}

function hashSigned(signed: LogSigned): string {
  return hashJson(signed as unknown as Json) // An event is JSON.
}

const knownKeys = new Set(['turnwire', 'version', 'call', 'proof', 'signed', 'salts'])
const hasSalts = ({ salts }: Receipt): boolean =>
  salts === undefined ||
  (isRecord(salts) &&
    Object.keys(salts).sort().join() === 'arguments,outcome' &&
    Object.values(salts).every(salt => typeof salt === 'string'))

const proofKeys = new Set(['index', 'path'])

function isInside({ call, signed }: Receipt): boolean {
  const { from, to } = signed
  return call.seq?.settled >= from && call.seq.settled <= to && signed.calls !== undefined
}

function hashLeaf({ call }: Receipt): string {
  try {
    return receiptLeaf(call)
  } catch {
    return ''
  }
}

function signedText(session: string, signed: LogSigned): string {
  try {
    return textToSign(session, signed)
  } catch {
    return ''
  }
}
