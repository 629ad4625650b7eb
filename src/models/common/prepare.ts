// Parts of preparing a request that every protocol shares: the warnings about it, the offer of its tools, and its body as text.
// No vendor's field names are here.

import type { ModelRequest } from '../../engine/ports/index.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import type { JsonObject } from '../../lib/json/index.ts'
import type { ModelTarget } from '../protocol.ts'

/** Reports content that a vendor cannot take, and what was sent instead. */
export type Warn = (warning: string) => void

/** Each warning is kept once. */
export function collectWarnings(): { warnings: string[]; warn: Warn } {
  const warnings: string[] = []
  const warn: Warn = warning => {
    if (!warnings.includes(warning)) warnings.push(warning)
  }
  return { warnings, warn }
}

/** Text tools with a grammar are among them. */
export function hasGrammars(tools: readonly ToolDeclaration[]): boolean {
  for (const { input } of tools) if (input.form === 'text' && input.grammar !== undefined) return true
  return false
}

// ---- offers ------------------------------------------------------------------------------------------------
// An offer is a protocol's form of a request's tools: their names at the vendor, their declarations, the choice among
// them. The requests of a session offer the same tools, and so do the sessions of an agent, so it is made once for as
// long as the tools and the deployment are the same objects. It depends on nothing else.

/** The part of a request that an offer is made of. */
export type OfferRequest = Pick<ModelRequest, 'tools' | 'choice' | 'parallel' | 'vendorSearch' | 'hosted'>

type KeptOffer<Offer> = {
  request: OfferRequest
  target: ModelTarget
  offer: Offer
  /** They are given again with each request. */
  warnings: readonly string[]
}

/** So many offers that begin with the same tool are kept. */
const mostKept = 4

/** `make` is pure, except for its warnings. */
export function keepOffers<Offer>(
  make: (request: OfferRequest, target: ModelTarget, warn: Warn) => Offer,
): (request: OfferRequest, target: ModelTarget, warn: Warn) => Offer {
  /** By the first tool, so that an offer of a client's own tools goes with them. Without tools: by the target. */
  const known = new WeakMap<object, KeptOffer<Offer>[]>()
  return (request, target, warn) => {
    const key = request.tools[0] ?? target
    const kept = known.get(key) ?? []
    for (const each of kept) {
      if (each.target !== target || !isSameRequest(each.request, request)) continue
      for (const warning of each.warnings) warn(warning)
      return each.offer
    }
    const collected = collectWarnings()
    const offer = make(request, target, collected.warn)
    const { tools, choice, parallel, vendorSearch, hosted } = request
    const made: OfferRequest = {
      tools: [...tools],
      choice,
      parallel,
      ...(vendorSearch && { vendorSearch }),
      ...(hosted === false && { hosted }),
    }
    const { warnings } = collected
    // Whether a large grammar can be used is known only once it has been judged.
    if (!hasGrammars(tools))
      known.set(key, [{ request: made, target, offer, warnings }, ...kept.slice(0, mostKept - 1)])
    for (const warning of warnings) warn(warning)
    return offer
  }
}

function isSameRequest(one: OfferRequest, other: OfferRequest): boolean {
  const { tools } = one
  if (tools.length !== other.tools.length || one.choice !== other.choice || one.parallel !== other.parallel)
    return false
  if (one.vendorSearch !== other.vendorSearch || one.hosted !== other.hosted) return false
  for (let at = 0; at < tools.length; at++) if (tools[at] !== other.tools[at]) return false
  return true
}

// ---- the body ----------------------------------------------------------------------------------------------

type Texts = Readonly<Record<string, string | undefined>>

/**
 * A body of which the first and the last members are JSON text already, so that only the other fields are written anew for
 * each request. A text stands for a field of the same name.
 */
export function bodyWith(first: Texts, fields: JsonObject, last: Texts): string {
  const rest: JsonObject = {}
  for (const name in fields)
    if (first[name] === undefined && last[name] === undefined) rest[name] = fields[name]!
  let body = ''
  // It is never cut: a text may be megabytes, and would be copied.
  const add = (member: string): void => {
    body += body === '' ? member : `,${member}`
  }
  for (const name in first) if (first[name] !== undefined) add(`"${name}":${first[name]}`)
  const own = wireJson(rest).slice(1, -1)
  if (own !== '') add(own)
  for (const name in last) if (last[name] !== undefined) add(`"${name}":${last[name]}`)
  return `{${body}}`
}

/** JSON text in well-formed Unicode: a lone surrogate anywhere in the value becomes U+FFFD. */
export function wireJson(value: unknown): string {
  const text = JSON.stringify(value) ?? 'null'
  // JSON.stringify escapes lone surrogates and nothing else in this range; an escaped backslash is skipped.
  if (!text.includes('\\ud')) return text
  return text.replace(/\\\\|\\ud[89a-f][0-9a-f]{2}/g, found => (found === '\\\\' ? found : '\\ufffd'))
}
