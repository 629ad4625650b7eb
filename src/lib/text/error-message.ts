// The message of anything that was thrown. Any value can be thrown, even one that throws again when it is read.

export function errorMessage(thrown: unknown): string {
  try {
    const { message }: { message?: unknown } = thrown instanceof Error ? thrown : {}
    return typeof message === 'string' && message !== '' ? message : String(thrown)
  } catch {
    return 'it threw something that has no words.'
  }
}

/** An error as it is, and anything else as an error. */
export function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(errorMessage(thrown))
}
