// Failures of an exchange: their codes, when they may be tried again, and how they are reported without a secret. A
// vendor's own error bodies are read by its protocol.

import { TurnwireError } from '../language/errors.ts'
import { readRetryAfter } from '../lib/net/retry-after.ts'
import { printable } from '../lib/text/index.ts'
import type { ModelFailure } from './protocol.ts'
import type { PostEnd } from './run-http.ts'

const MAX_MESSAGE_CHARS = 1000

/** Socket errors that a second attempt would meet again. */
const PERMANENT = /CERT|SSL|TLS|SELF_SIGNED|UNABLE_TO|ERR_INVALID|ERR_UNESCAPED|HPE_/

/** Nothing listens there, or there is no such host. */
const ABSENT = /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN)$/

export function lostFailure(
  end: Exclude<PostEnd, { end: 'complete' | 'aborted' }>,
  provider: string,
): ModelFailure {
  if (end.end === 'timeout')
    return {
      code: 'model_timeout',
      message:
        end.phase === 'first-byte'
          ? `${provider} did not begin to answer in time.`
          : `${provider} fell silent in the middle of its answer.`,
      retry: true,
    }
  return {
    code: 'model_failed',
    message: `The connection to ${provider} failed: ${end.code}.${ABSENT.test(end.code) ? ' Does it run, and is its address right?' : ''}`,
    retry: !PERMANENT.test(end.code),
  }
}

export function redirectFailure(status: number, provider: string): ModelFailure {
  const message = `${provider} answered with a redirect (${status}), which is not followed. Check the base URL.`
  return { code: 'model_rejected', message, retry: false }
}

/** The vendor's headers about another attempt come before what its status suggests. */
export function applyRetryHeaders(failure: ModelFailure, headers: Headers, now: number): ModelFailure {
  const told = headers.get('x-should-retry')
  const retry = told === 'true' || (told !== 'false' && failure.retry)
  const retryAfterMs = failure.retryAfterMs ?? readRetryAfter(headers, now)
  return { ...failure, retry, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) }
}

/** A window that doubles, of which half is random, so that clients that failed together do not return together. */
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

/** Removes the request's secrets, and anything shaped like a key: a vendor's error may repeat either. */
function maskSecrets(text: string, secrets: readonly string[]): string {
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

/** `hasRun`: the vendor has made a call outside its own servers for this request. */
export function toError(
  failure: ModelFailure,
  provider: string,
  secrets: readonly string[],
  hasRun = false,
): TurnwireError {
  const { code, message, retryAfterMs } = failure
  const text = printable(maskSecrets(message || `${provider} failed.`, secrets), MAX_MESSAGE_CHARS)
  return new TurnwireError(code, code === 'model_limited' ? withWait(text, retryAfterMs) : text, {
    retryAfterMs,
    hasRun,
  })
}

/** In the words that clients look for, also where only the message reaches them. */
function withWait(text: string, retryAfterMs: number | undefined): string {
  if (retryAfterMs === undefined || /try again in/i.test(text)) return text
  return `${text} Please try again in ${Math.ceil(retryAfterMs / 1000)}s.`
}
