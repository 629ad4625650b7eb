// Things that do not exist, or not for this caller.
import { TurnwireError } from '../language/errors.ts'

export function isNotFound(error: unknown): boolean {
  return error instanceof TurnwireError && error.status === 404
}

/** Undefined in place of what does not exist. */
export function ifFound<T>(finding: Promise<T>): Promise<T | undefined> {
  return finding.catch((error: unknown) => {
    if (isNotFound(error)) return undefined
    throw error
  })
}
