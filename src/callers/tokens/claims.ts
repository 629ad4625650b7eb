// What the claims of a checked token mean: whose sessions, which person, which roles.
import type { JWTPayload } from 'jose'
import { isWallet } from '../../language/payments.ts'
import { isJsonObject, type Json } from '../../lib/json/index.ts'
import type { Principal } from '../caller.ts'
import { localOwner } from '../keys.ts'
import type { ClaimPath, ClaimSettings } from './settings.ts'

/** A token that is signed well, and of whose claims no caller can be made. */
export class UnusableClaims extends Error {}

/** `isTaken`: the name is that of a key, whose sessions and approvals are its own. */
export function readPrincipal(
  claims: JWTPayload,
  settings: ClaimSettings,
  isTaken: (name: string) => boolean,
): Principal {
  const owner = readName(claims, settings.owner ?? 'sub', settings, isTaken)
  const name = readName(claims, settings.name ?? 'sub', settings, isTaken)
  const roles = readRoles(findClaim(claims, settings.roles ?? 'roles'))
  const isOperator = settings.operatorRole !== undefined && roles.includes(settings.operatorRole)
  return { owner, name, ...(isOperator && { operator: true }), ...(roles.length > 0 && { roles }) }
}

function readName(
  claims: JWTPayload,
  path: ClaimPath,
  { prefix = '' }: ClaimSettings,
  isTaken: (name: string) => boolean,
): string {
  const value = findClaim(claims, path)
  const shown = [path].flat().join('.')
  if (typeof value !== 'string' || value === '' || value.length > 200)
    throw new UnusableClaims(`its claim "${shown}" must be a text of 1 to 200 characters`)
  // Some issuers let people write any address until they have shown that it is theirs.
  if (shown === 'email' && claims['email_verified'] === false)
    throw new UnusableClaims('its e-mail address is not verified')
  const name = `${prefix}${value}`
  if (name === localOwner || isWallet(name) || name.startsWith('grants:') || isTaken(name))
    throw new UnusableClaims(`its claim "${shown}" has a name that is taken here`)
  return name
}

function readRoles(value: unknown): string[] {
  const given = typeof value === 'string' ? value.split(/\s+/) : Array.isArray(value) ? value : []
  return given.filter(role => typeof role === 'string' && role !== '' && role.length <= 200).slice(0, 100)
}

export function findClaim(claims: JWTPayload, path: ClaimPath): unknown {
  let value: unknown = claims
  for (const part of [path].flat())
    value =
      isJsonObject(value as Json) && Object.hasOwn(value as object, part)
        ? (value as Record<string, unknown>)[part]
        : undefined
  return value
}
