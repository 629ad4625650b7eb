// Failures that all vendors have in common: an HTTP status by itself, an answer that broke off, and error text that is safe
// to show. A vendor's own error codes are read in its failure.ts.

import { cutUtf8, printable } from '../../lib/text/index.ts'
import type { ModelFailure } from '../protocol.ts'

const TIMEOUTS: ReadonlySet<number> = new Set([408, 504, 524])
/** Statuses below 500 after which another attempt may succeed. */
const RETRIED: ReadonlySet<number> = new Set([408, 409, 425, 429, 499])
const MAX_BYTES = 2_000

/** `final`: the vendor said that no later attempt can succeed, as when a quota is used up. */
export function statusFailure(status: number, message: string, final = false): ModelFailure {
  const retry = !final && (status >= 500 || RETRIED.has(status))
  return { code: statusCode(status, retry), message: failureText(message), retry }
}

function statusCode(status: number, retry: boolean): ModelFailure['code'] {
  if (TIMEOUTS.has(status)) return 'model_timeout'
  if (!retry) return 'model_rejected'
  return status === 429 ? 'model_limited' : 'model_failed'
}

/** Another attempt may succeed. */
export function passingFailure(message: string): ModelFailure {
  return { code: 'model_failed', message: failureText(message), retry: true }
}

/** The vendor limits the rate of requests. The same request may succeed later. */
export function limitedFailure(message: string): ModelFailure {
  return { code: 'model_limited', message: failureText(message), retry: true }
}

/** The vendor refused what we sent, and would refuse it again. */
export function finalFailure(message: string): ModelFailure {
  return { code: 'model_rejected', message: failureText(message), retry: false }
}

/** A vendor's own words, bounded and without control characters. */
export function failureText(text: string): string {
  return printable(cutUtf8(text, MAX_BYTES).text, { multiline: true })
}
