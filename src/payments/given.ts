// A payment as a client sends it: in the header of x402 version 2 (`PAYMENT-SIGNATURE`), of version 1 (`X-PAYMENT`), or
// in Sixerr's form of the latter. Only the payment itself is read here: the named payer, the signed terms, and the id
// of the payment. A facilitator checks whether any of it is true.
import { readWalletAddress } from '../callers/wallet.ts'
import { TurnwireError } from '../language/errors.ts'
import { hashJson, sha256 } from '../lib/json/hash.ts'
import { isJsonObject, type Json, type JsonObject, parseJson } from '../lib/json/index.ts'

export type PaymentForm = 'x402-1' | 'x402-2' | 'sixerr'

export type GivenPayment = {
  form: PaymentForm
  /** The wallet that is said to pay, in lower case. */
  payer: string
  /** Unix seconds. */
  validUntil: number
  /** The amount that was signed for, in the smallest unit. */
  amount: string
  /** The nonce makes the authorization unique: each counts once for its payer. */
  nonce: string
  /** How the money would move: by the token itself, or by Permit2. */
  through: 'eip3009' | 'permit2'
  signatureHash: string
  /** Of version 2: the terms that it takes. */
  accepted?: JsonObject
  /** Of version 1: which of the terms it takes. */
  taken?: { scheme: string; network: string }
  /** Of version 2: the resource that it says it pays for. */
  resource?: string
  raw: JsonObject
}

export const paymentHeaders = ['payment-signature', 'x-payment'] as const

const longestHeader = 16 * 1024

/** Throws `bad_request` if the payment cannot be read. */
export function readPayment(header: string): GivenPayment {
  return readPaymentObject(decodeHeader(header))
}

/** The same for a protocol whose messages hold it as it is. */
export function readPaymentObject(given: Json): GivenPayment {
  const raw = object(given, 'The payment')
  if ('permit' in raw) return sixerrPayment(raw)
  const version = raw['x402Version']
  if (version === 1) {
    const taken = { scheme: readText(raw['scheme'], 'scheme'), network: readText(raw['network'], 'network') }
    const given = authorization(object(raw['payload'], 'payload'))
    if (given.through !== 'eip3009') throw unreadable('version 1 has no payload.permit2Authorization')
    return { form: 'x402-1', ...given, taken, raw }
  }
  if (version !== 2) throw unreadable('x402Version must be 1 or 2')
  const accepted = object(raw['accepted'], 'accepted')
  const { resource } = raw
  return {
    form: 'x402-2',
    ...authorization(object(raw['payload'], 'payload')),
    accepted,
    ...(isJsonObject(resource) && { resource: readText(resource['url'], 'resource.url') }),
    raw,
  }
}

/**
 * The same for every repetition of a payment, also with another form of its signature: a chain takes each id once.
 * `network` and `asset`: of the terms that it takes.
 */
export function paymentId(
  { payer, nonce, through }: Pick<GivenPayment, 'payer' | 'nonce' | 'through'>,
  network: string,
  asset: string,
): string {
  // Permit2 counts nonces per payer, for all tokens together.
  const scope = through === 'eip3009' ? asset.toLowerCase() : 'permit2'
  return `pay_${hashJson([network, scope, payer, nonce])}`
}

/** A text, or a whole number as one, of what was read or shown before. */
export function textIn(value: JsonObject, name: string): string {
  const found = value[name]
  if (typeof found === 'string' || typeof found === 'number') return String(found)
  throw unreadable(`${name} is missing`)
}

function decodeHeader(header: string): JsonObject {
  if (header.length > longestHeader) throw unreadable(`it is longer than ${longestHeader} characters`)
  if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(header)) throw unreadable('it is not base64')
  let value: Json
  try {
    value = parseJson(Buffer.from(header, 'base64').toString('utf8'), { maxDepth: 16 })
  } catch {
    throw unreadable('it is not JSON')
  }
  return object(value, 'The payment')
}

type Authorized = Omit<GivenPayment, 'form' | 'raw'>

/** One signature is for one authorization. With two of them, others could check another one than was read here. */
function authorization(payload: JsonObject): Authorized {
  if ('authorization' in payload && 'permit2Authorization' in payload)
    throw unreadable(
      'payload has both authorization and permit2Authorization, and only one of them is signed',
    )
  const signatureHash = sha256(readText(payload['signature'], 'payload.signature'))
  const given = payload['permit2Authorization']
  if (given === undefined) {
    const eip3009 = object(payload['authorization'], 'payload.authorization')
    return {
      through: 'eip3009',
      payer: address(eip3009['from'], 'authorization.from'),
      amount: readNumber(eip3009['value'], 'authorization.value'),
      validUntil: seconds(eip3009['validBefore'], 'authorization.validBefore'),
      nonce: word(eip3009['nonce'], 'authorization.nonce'),
      signatureHash,
    }
  }
  const permit = object(given, 'payload.permit2Authorization')
  return {
    through: 'permit2',
    payer: address(permit['from'], 'permit2Authorization.from'),
    ...permitted(permit),
    signatureHash,
  }
}

function sixerrPayment(raw: JsonObject): GivenPayment {
  const permit = object(raw['permit'], 'permit')
  if ('payload' in raw) throw unreadable('it has both permit and payload, and only one of them is signed')
  return {
    form: 'sixerr',
    through: 'permit2',
    payer: address(raw['sender'], 'sender'),
    ...permitted(permit),
    signatureHash: sha256(readText(raw['signature'], 'signature')),
    raw,
  }
}

function permitted(permit: JsonObject): Pick<GivenPayment, 'amount' | 'validUntil' | 'nonce'> {
  const { amount } = object(permit['permitted'], 'permitted')
  return {
    amount: readNumber(amount, 'permitted.amount'),
    validUntil: seconds(permit['deadline'], 'deadline'),
    nonce: readNumber(permit['nonce'], 'nonce'),
  }
}

function object(value: Json | undefined, name: string): JsonObject {
  if (isJsonObject(value)) return value
  throw unreadable(`${name} must be an object`)
}

function readText(value: Json | undefined, name: string): string {
  if (typeof value === 'string' && value !== '') return value
  throw unreadable(`${name} must be a text`)
}

function address(value: Json | undefined, name: string): string {
  const found = readWalletAddress(readText(value, name))
  if (found === undefined) throw unreadable(`${name} must be an address`)
  return found
}

function word(value: Json | undefined, name: string): string {
  const given = readText(value, name)
  if (/^0x[0-9a-f]{64}$/i.test(given)) return given.toLowerCase()
  throw unreadable(`${name} must be 32 bytes as hexadecimal digits`)
}

/** A whole number, also of more digits than a JSON number can have. */
function readNumber(value: Json | undefined, name: string): string {
  const given = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value
  if (typeof given === 'string' && /^\d{1,78}$/.test(given)) return BigInt(given).toString()
  throw unreadable(`${name} must be a whole number`)
}

function seconds(value: Json | undefined, name: string): number {
  const most = BigInt(Number.MAX_SAFE_INTEGER)
  const given = BigInt(readNumber(value, name))
  return Number(given < most ? given : most)
}

function unreadable(why: string): TurnwireError {
  return new TurnwireError('bad_request', `The payment cannot be read: ${why}.`)
}
