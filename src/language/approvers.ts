// Who may decide about a call: the demand of a policy rule, a person with roles, and whether the two fit. Pure, and used on
// both sides: the engine refuses by it, and pages show by it what they offer.

/** A person, or a program, as the server knows them: never as a client says. */
export type Person = { name: string; roles?: readonly string[] }

/** The name and the roles alone. */
export function toPerson({ name, roles }: { name: string; roles?: readonly string[] | undefined }): Person {
  return { name, ...(roles?.length && { roles }) }
}

/**
 * Whose yes a call needs. With `roles` or `names`, a person needs one of the roles or to be one of the names; with neither,
 * anyone may decide who reaches the session. `notRequester`: nobody who asked for the turn. `quorum`: so many different people.
 */
export type Approvers = {
  roles?: readonly string[]
  names?: readonly string[]
  notRequester?: true
  quorum?: number
}

/** One yes of several that are needed. `remember`: it is also for further calls of the tool. */
export type Vote = Person & { at: number; remember?: true }

/** Of a call that waits for a person. */
export type Restriction = {
  /** Who may decide. Absent: anyone who reaches the session. */
  approvers?: Approvers
  /** Those who asked for the turn, if they may not decide. */
  requesters?: readonly string[]
  /** Those who said yes, while more people have to. */
  votes?: readonly Vote[]
}

/** Why this person may not decide, in words. Undefined: they may. */
export function whyNotApprover(
  approvers: Approvers,
  { name, roles = [] }: Person,
  requesters: readonly string[],
): string | undefined {
  const { roles: wanted = [], names = [], notRequester } = approvers
  if (notRequester && requesters.includes(name)) return `${name} asked for it, and another person must decide`
  if (wanted.length + names.length === 0 || names.includes(name)) return undefined
  if (roles.some(role => wanted.includes(role))) return undefined
  return `${name} ${roles.length === 0 ? 'has no role' : `has the ${listed(roles, 'role', 'and')}`}`
}

/** Why this person may not decide about a call that waits, in words. Undefined: they may, or anyone may. */
export function whyNotDecide(
  { approvers, requesters = [], votes = [] }: Restriction,
  person: Person,
): string | undefined {
  if (!approvers) return undefined
  if (votes.some(({ name }) => name === person.name)) return `${person.name} has allowed it already`
  return whyNotApprover(approvers, person, requesters)
}

/** As in: 2 people with the role "finance" or "legal", or named ana, who did not ask for it. */
export function describeApprovers({ roles = [], names = [], notRequester, quorum = 1 }: Approvers): string {
  const people = quorum === 1 ? 'a person' : `${quorum} people`
  const who = [
    ...(roles.length > 0 ? [`with the ${listed(roles, 'role', 'or')}`] : []),
    ...(names.length > 0 ? [`named ${joined(names, 'or')}`] : []),
  ].join(', or ')
  const others = notRequester ? (who === '' ? 'who did not ask for it' : ', who did not ask for it') : ''
  return [people, who, others]
    .filter(part => part !== '')
    .join(' ')
    .replace(' ,', ',')
}

/** How many different people have to say yes. */
export function neededVotes({ quorum = 1 }: Approvers): number {
  return quorum
}

/** Whether these people together may allow a call. */
export function areApprovers(
  approvers: Approvers,
  people: readonly Person[],
  requesters: readonly string[],
): boolean {
  const fit = people.filter(person => whyNotApprover(approvers, person, requesters) === undefined)
  return new Set(fit.map(({ name }) => name)).size >= neededVotes(approvers)
}

function listed(values: readonly string[], noun: string, word: 'or' | 'and'): string {
  const quoted = values.map(value => JSON.stringify(value))
  return `${noun}${values.length > 1 && word === 'and' ? 's' : ''} ${joined(quoted, word)}`
}

function joined(values: readonly string[], word: 'or' | 'and'): string {
  return values.length < 2 ? values.join() : `${values.slice(0, -1).join(', ')} ${word} ${values.at(-1)}`
}
