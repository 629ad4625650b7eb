// The members of an object that are not undefined. With `exactOptionalPropertyTypes`, a member that may be absent must not be
// there with the value undefined.

export function present<Members extends object>(
  members: Members,
): { [Key in keyof Members]?: Exclude<Members[Key], undefined> } {
  // The filter leaves no undefined value.
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as never
}
