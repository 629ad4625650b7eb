// Values that `run` may return beside a plain one: a mark that the result comes later, or details that no model reads.
import { quote } from '../../lib/text/index.ts'

const longestMs = 366 * 24 * 60 * 60 * 1000

/** The result comes later: through the library, `turnwire result`, or the call's callback address. */
export class Later {
  readonly expiresInMs: number

  constructor(expiresInMs: number) {
    this.expiresInMs = expiresInMs
  }
}

/** `expires`: a Date, or milliseconds from now, at most a year. A result that has not come by then is a timeout. */
export function later({ expires }: { expires: Date | number }): Later {
  const ms = typeof expires === 'number' ? expires : expires.getTime() - Date.now()
  if (!(ms > 0 && ms <= longestMs))
    throw new TypeError(`later({ expires }) takes a time within the next year, not ${quote(expires)}.`)
  return new Later(Math.ceil(ms))
}

/** A value with details beside it. */
export class Detailed<Value = unknown> {
  readonly value: Value
  readonly details: unknown

  constructor(value: Value, details: unknown) {
    this.value = value
    this.details = details
  }
}

/** `value` as if it was returned alone, and JSON for the application and people only. */
export function withDetails<const Value>(value: Value, details: unknown): Detailed<Value> {
  return new Detailed(value, details)
}
