// The members of an object that are not undefined. With `exactOptionalPropertyTypes`, a member that may be absent must not be
// there with the value undefined.

export function present<Members extends object>(
  members: Members,
): { [Key in keyof Members]?: Exclude<Members[Key], undefined> } {
  // The filter leaves no undefined value.
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as never
}

/** The members of these names that are not undefined. */
export function pickPresent<Members extends object, Name extends keyof Members>(
  members: Members,
  names: readonly Name[],
): Pick<Members, Name> {
  const given = names.filter(name => members[name] !== undefined)
  return Object.fromEntries(given.map(name => [name, members[name]])) as Pick<Members, Name> // under their own names
}
