// What both codecs of Gemini read answers with: what a request must leave behind so that its answer can be read, how
// errors are worded, and small looks into JSON. How requests are made of the same nouns is in gemini-request.ts.
// Neither codec imports the other; they meet here and there.

import type { Origin } from '../../../language/content.ts'
import type { ToolDeclaration } from '../../../language/tools.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../lib/json.ts'
import { cutUtf8, printable } from '../../../lib/text.ts'
import type { WireNames } from '../../common/wire-names.ts'
import type { Failure, Prepared } from '../../protocol.ts'

// ---- what the answer needs of the request ------------------------------------------------------------------

export type Reading = {
  origin: Origin
  names: ReadonlyMap<string, string>
  /** Wire names of the text tools that were declared as functions of one string. */
  texts: ReadonlySet<string>
  /** At most one call is kept: neither API has a switch for it. */
  single: boolean
}

export function readingOf(
  tools: readonly ToolDeclaration[],
  names: WireNames,
  origin: Origin,
  single: boolean,
): Reading {
  const texts = new Set<string>()
  for (const tool of tools) if (tool.input.form === 'text') texts.add(names.toWire(tool.name))
  return { origin, names: names.fromWire, texts, single }
}

/** A prepared request that remembers what its answer is read with. */
export type Sent<R extends Reading> = Prepared & { reading: R }

export function readingIn<R extends Reading>(prepared: Prepared): R {
  if (!('reading' in prepared))
    throw new TypeError('initial() takes what prepare() of the same protocol gave.')
  // Only prepare() of the same protocol makes the member, and always of this type.
  return (prepared as Sent<R>).reading
}

/** Models at times put the name of the namespace that they see their tools in before a name. */
export function nameOf(reading: Reading, wire: string): string {
  const bare = wire.replace(/^default_api[.:]/, '')
  return reading.names.get(wire) ?? reading.names.get(bare) ?? wire
}

export function isTextTool(reading: Reading, wire: string): boolean {
  return reading.texts.has(wire) || reading.texts.has(wire.replace(/^default_api[.:]/, ''))
}

// ---- failures ----------------------------------------------------------------------------------------------

const longestMessage = 2_000

export function words(text: string): string {
  return printable(cutUtf8(text, longestMessage).text, { multiline: true })
}

export function interrupted(message: string): Failure {
  return { code: 'model_failed', message: words(message), retry: true }
}

export function refused(message: string): Failure {
  return { code: 'model_rejected', message: words(message), retry: false }
}

/** The error object of a body; at times the whole comes wrapped in a list. */
export function errorOf(body: Json | string | undefined): JsonObject | undefined {
  const inner = Array.isArray(body) ? body[0] : body
  return isJsonObject(inner) && isJsonObject(inner['error']) ? inner['error'] : undefined
}

export function statusFailure(status: number, headers: Headers, body: Json | string): Failure {
  const error = errorOf(body)
  const said = stringOf(error?.['message']) || (typeof body === 'string' ? body : '')
  const label = stringOf(error?.['status']) || stringOf(error?.['code'])
  const message = words(`${status}${label && ` ${label}`}: ${said || 'The model provider gave no reason.'}`)
  const details = listOf(error?.['details'])
  const retry = mayRetry(status) && !isSpentForToday(details)
  const retryAfterMs = retry ? (waitOf(headers) ?? delayOf(details)) : undefined
  return {
    code: status === 408 || status === 504 ? 'model_timeout' : retry ? 'model_failed' : 'model_rejected',
    message,
    retry,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  }
}

function mayRetry(status: number): boolean {
  return status === 408 || status === 409 || status === 429 || status === 499 || status >= 500
}

/** A daily quota is answered 429 as well, with a delay that helps nobody. */
function isSpentForToday(details: readonly Json[]): boolean {
  return details.some(detail =>
    listOf(objectOf(detail)['violations']).some(one => /PerDay/i.test(stringOf(objectOf(one)['quotaId']))),
  )
}

function delayOf(details: readonly Json[]): number | undefined {
  for (const detail of details) {
    const found = /^(\d+(?:\.\d+)?)s$/.exec(stringOf(objectOf(detail)['retryDelay']))
    if (found) return Math.ceil(Number(found[1]) * 1000)
  }
  return undefined
}

/** Seconds, or a date that is read against the answer's own, so that no clock is needed here. */
function waitOf(headers: Headers): number | undefined {
  const after = headers.get('retry-after')?.trim()
  if (after === undefined) return undefined
  if (/^\d+(\.\d+)?$/.test(after)) return Math.ceil(Number(after) * 1000)
  const wait = Date.parse(after) - Date.parse(headers.get('date') ?? '')
  return Number.isNaN(wait) ? undefined : Math.max(0, wait)
}

// ---- shapes ------------------------------------------------------------------------------------------------

export function stringOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

export function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {}
}

export function listOf(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value : []
}

export function countOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0
}

/** Undefined when the text is no JSON. */
export function parsed(text: string): Json | undefined {
  try {
    // What the parser gives is JSON by definition.
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}
