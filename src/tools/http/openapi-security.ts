// The credentials of an operation: which of the document's security schemes it demands, and where each goes.
import { isJsonObject, type Json, type JsonObject } from '../../lib/json/index.ts'
import { quote } from '../../lib/text/index.ts'
import { type ApiDocument, listAt, memberText, refuseDocument } from './openapi-document.ts'
import type { CallSecret, HttpAuth } from './secrets.ts'

/** By the name of a security scheme: a token or key, or a user with a password. */
export type Credentials = Readonly<Record<string, CallSecret | { user: string; password: CallSecret }>>

/** The first demand that the given credentials meet. A document without security demands nothing. */
export function chooseAuth(
  api: ApiDocument,
  operation: JsonObject,
  credentials: Credentials,
  id: string,
): HttpAuth[] {
  const own = operation['security']
  const demands = (Array.isArray(own) ? own : listAt(api.at() ?? {}, 'security')).map(listSchemes)
  if (demands.length === 0) return []
  const met = demands.find(names => names.every(name => Object.hasOwn(credentials, name)))
  if (!met)
    refuseDocument(
      `demands credentials for "${id}": give "auth" for ${demands.map(names => names.map(name => quote(name)).join(' and ')).join(', or ')}`,
    )
  return met.map(name => placed(api, name, credentials[name] as Credentials[string])) // `met` has only such names.
}

function listSchemes(demand: Json): string[] {
  return isJsonObject(demand) ? Object.keys(demand) : []
}

function placed(api: ApiDocument, name: string, credential: Credentials[string]): HttpAuth {
  const scheme = api.resolved(api.at('components', 'securitySchemes')?.[name])
  const type = memberText(scheme, 'type')
  const isPair = typeof credential === 'object'
  if (type === 'http' && memberText(scheme, 'scheme')?.toLowerCase() === 'basic') {
    if (!isPair) refuseDocument(`has the scheme "${name}" for a user and a password: give { user, password }`)
    return { basic: credential }
  }
  if (isPair) refuseDocument(`has the scheme "${name}" for one token or key, not for a user and a password`)
  if (type === 'apiKey') {
    const where = memberText(scheme, 'in')
    const key = { apiKey: credential, name: memberText(scheme, 'name') ?? '' }
    if (where === 'header' || where === 'query' || where === 'cookie') return { ...key, in: where }
  }
  if (type === 'http' || type === 'oauth2' || type === 'openIdConnect') return { bearer: credential }
  return refuseDocument(
    `has the security scheme "${name}" of the type ${quote(type)}, which is not supported`,
  )
}
