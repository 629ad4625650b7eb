// Error statuses of Google's APIs, for both protocols.

import { isJsonObject, type Json, type JsonObject } from '../../../lib/json/index.ts'
import { statusFailure } from '../../common/failure.ts'
import { asList, asObject, asString } from '../../common/json-read.ts'
import type { ModelFailure } from '../../protocol.ts'

/** The error object of a body, which may come wrapped in a list. */
export function googleError(body: Json | string | undefined): JsonObject | undefined {
  const inner = Array.isArray(body) ? body[0] : body
  return isJsonObject(inner) && isJsonObject(inner['error']) ? inner['error'] : undefined
}

export function googleFailure(status: number, headers: Headers, body: Json | string): ModelFailure {
  const error = googleError(body) ?? {}
  const text = asString(error['message']) || asString(body) || 'The model provider gave no reason.'
  const label = asString(error['status']) || asString(error['code'])
  const details = asList(error['details'])
  const failed = statusFailure(status, `${status}${label && ` ${label}`}: ${text}`, isDailyQuota(details))
  const retryAfterMs = failed.retry ? (headerDelay(headers) ?? bodyDelay(details)) : undefined
  return { ...failed, ...(retryAfterMs !== undefined && { retryAfterMs }) }
}

/** A daily quota that is used up is answered with 429 and a short delay, which does not help. */
function isDailyQuota(details: readonly Json[]): boolean {
  return details.some(detail =>
    asList(asObject(detail)['violations']).some(one => /PerDay/i.test(asString(asObject(one)['quotaId']))),
  )
}

function bodyDelay(details: readonly Json[]): number | undefined {
  for (const detail of details) {
    const found = /^(\d+(?:\.\d+)?)s$/.exec(asString(asObject(detail)['retryDelay']))
    if (found) return Math.ceil(Number(found[1]) * 1000)
  }
  return undefined
}

/** Seconds, or a date that is compared with the response's own date, so that no clock is needed. */
function headerDelay(headers: Headers): number | undefined {
  const after = headers.get('retry-after')?.trim()
  if (after === undefined) return undefined
  if (/^\d+(\.\d+)?$/.test(after)) return Math.ceil(Number(after) * 1000)
  const wait = Date.parse(after) - Date.parse(headers.get('date') ?? '')
  return Number.isNaN(wait) ? undefined : Math.max(0, wait)
}
