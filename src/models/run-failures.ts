// What a failed exchange is called, when it may be tried again, and how it is told without telling a secret.
// A vendor's own words about an error status are read by its protocol; this file knows none of them.

import { TurnwireError } from '../language/errors.ts'
import { printable } from '../lib/text.ts'
import type { Failure } from './protocol.ts'
import type { End } from './run-http.ts'

const MAX_MESSAGE = 1000

/** Errors of the socket that no second try can mend. */
const HOPELESS = /CERT|SSL|TLS|SELF_SIGNED|UNABLE_TO|ERR_INVALID|ERR_UNESCAPED|HPE_/

export function lostFailure(end: Exclude<End, { end: 'complete' | 'aborted' }>, place: string): Failure {
  if (end.end === 'timeout')
    return {
      code: 'model_timeout',
      message:
        end.phase === 'first-byte'
          ? `${place} did not begin to answer in time.`
          : `${place} fell silent in the middle of its answer.`,
      retry: true,
    }
  return {
    code: 'model_failed',
    message: `The connection to ${place} failed: ${end.code}.`,
    retry: !HOPELESS.test(end.code),
  }
}

export function redirectFailure(status: number, place: string): Failure {
  const message = `${place} answered with a redirect (${status}), which is not followed. Check the base URL.`
  return { code: 'model_rejected', message, retry: false }
}

/** `retry-after` in seconds or as an HTTP date, or in milliseconds under its other name. */
export function retryAfterOf(headers: Headers, now: number): number | undefined {
  const exact = Number(headers.get('retry-after-ms') ?? Number.NaN)
  if (Number.isFinite(exact) && exact >= 0) return exact
  const value = headers.get('retry-after')?.trim()
  if (value === undefined || value === '') return undefined
  if (/^\d+(\.\d+)?$/.test(value)) return Number(value) * 1000
  const date = Date.parse(value)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

/** What the vendor's headers say about trying again goes before what its status suggests. */
export function heedHeaders(failure: Failure, headers: Headers, now: number): Failure {
  const said = headers.get('x-should-retry')
  const retry = said === 'true' ? true : said === 'false' ? false : failure.retry
  const retryAfterMs = failure.retryAfterMs ?? retryAfterOf(headers, now)
  return { ...failure, retry, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) }
}

/** Full jitter over a window that doubles: clients that failed together do not come back together. */
export function backoffMs(attempt: number, base: number, longest: number, chance: number): number {
  const window = Math.min(longest, base * 2 ** attempt)
  return Math.round(window / 2 + (window / 2) * chance)
}

const KEY_SHAPES = [
  /\b(?:sk|pk|rk|gsk|xai|key|AKIA|ghp|github_pat)[-_][A-Za-z0-9_*-]{8,}/g,
  /\bAIza[A-Za-z0-9_*-]{10,}/g,
  /\bya29\.[A-Za-z0-9._-]{10,}/g,
  /\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?/g,
  /(?<=\bbearer\s)[A-Za-z0-9._~+/-]{8,}=*/gi,
  /(?<=[?&](?:key|api[-_]?key|token|access_token)=)[^&\s"']+/gi,
]

/** No secret of the request, nor anything shaped like a key, survives; a vendor's error may echo either. */
export function masked(text: string, secrets: readonly string[]): string {
  let safe = text
  for (const secret of secrets) {
    if (secret.length < 4) continue
    safe = safe.replaceAll(secret, '***')
    const encoded = encodeURIComponent(secret)
    if (encoded !== secret) safe = safe.replaceAll(encoded, '***')
  }
  for (const shape of KEY_SHAPES) safe = safe.replace(shape, '***')
  return safe
}

const SECRET_HEADER = /auth|key|token|secret|cookie|credential|passw/i

/** The values of a request's headers that must never be shown. */
export function secretsIn(headers: Readonly<Record<string, string>>): string[] {
  const secrets: string[] = []
  for (const [name, value] of Object.entries(headers)) {
    if (!SECRET_HEADER.test(name)) continue
    secrets.push(value, value.replace(/^\w+\s+/, ''))
  }
  return secrets.sort((a, b) => b.length - a.length)
}

export function toError(failure: Failure, place: string, secrets: readonly string[]): TurnwireError {
  const words = failure.message === '' ? `${place} failed.` : failure.message
  return new TurnwireError(failure.code, printable(masked(words, secrets), MAX_MESSAGE))
}
