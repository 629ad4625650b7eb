// The approvers of a policy rule, as an operator writes them: checked, and in the one form that the engine records.
import type { Approvers } from '../language/approvers.ts'
import { isRecord } from '../lib/checks/fields.ts'
import { invalidPolicy, refuseUnknownMembers } from './invalid-policy.ts'

/**
 * Who may decide about a call that the rule asks about. With `roles` or `names`: a person who has one of the roles or is one of
 * the names. `notRequester`: nobody who asked for the turn. `quorum`: so many different people have to allow it; one no ends it.
 */
export type RuleApprovers = {
  roles?: string | readonly string[]
  names?: string | readonly string[]
  notRequester?: boolean
  quorum?: number
}

const members = ['roles', 'names', 'notRequester', 'quorum'] satisfies (keyof RuleApprovers)[]
const mostVotes = 20

/** Throws `config_invalid`. */
export function readApprovers(given: RuleApprovers, then: string, where: string): Approvers {
  if (then !== 'ask') invalidPolicy(where, 'has a meaning only with then: "ask"; leave it out')
  if (!isRecord(given)) invalidPolicy(where, 'must be an object such as { roles: ["finance"], quorum: 2 }')
  refuseUnknownMembers(given, members, where)
  const roles = readNames(given.roles, `${where}.roles`)
  const names = readNames(given.names, `${where}.names`)
  const { notRequester = false, quorum = 1 } = given
  if (typeof notRequester !== 'boolean') invalidPolicy(`${where}.notRequester`, 'must be true or false')
  if (!Number.isSafeInteger(quorum) || quorum < 1 || quorum > mostVotes)
    invalidPolicy(`${where}.quorum`, `must be a whole number from 1 to ${mostVotes}`)
  if (names && !roles && names.length < quorum)
    invalidPolicy(`${where}.quorum`, `is ${quorum}, but only ${names.length} people are named`)
  if (!roles && !names && !notRequester && quorum === 1)
    invalidPolicy(where, 'must say something: roles, names, notRequester: true, or quorum from 2 up')
  return {
    ...(roles && { roles }),
    ...(names && { names }),
    ...(notRequester && { notRequester }),
    ...(quorum > 1 && { quorum }),
  }
}

function readNames(given: string | readonly string[] | undefined, where: string): string[] | undefined {
  if (given === undefined) return undefined
  const names = [given].flat()
  if (names.length === 0 || names.some(name => typeof name !== 'string' || name === ''))
    invalidPolicy(where, 'must be a text, or a list of texts, that is not empty')
  return [...new Set(names)]
}
