// The context that a program gives its tools may hold anything while the engine is in the same process. A process that has
// the engine gets a copy: functions cannot be copied, and an object of a class would silently lose its methods.
import { TurnwireError } from '../../language/errors.ts'

/** Classes of which a structured clone is as good as the original. */
const copied = [Date, RegExp, Map, Set, ArrayBuffer, Error]

/** Throws `bad_request` for the first value of `context` that is not data, with its place. */
export function refuseUnlessData(context: unknown, peer: string): void {
  const found = findLive(context, 'context', new Set())
  if (found === undefined) return
  throw new TurnwireError(
    'bad_request',
    `${found} and cannot be given to the ${peer}, where this session's tools run. Give plain data with send(), or set ` +
      `what is live as "context" in the configuration of that process.`,
  )
}

function findLive(value: unknown, at: string, seen: Set<object>): string | undefined {
  if (typeof value === 'function' || typeof value === 'symbol') return `${at} is a ${typeof value}`
  if (typeof value !== 'object' || value === null || seen.has(value)) return undefined
  seen.add(value)
  if (Array.isArray(value)) return firstLive(value.entries(), at, seen)
  if (copied.some(each => value instanceof each) || ArrayBuffer.isView(value)) return undefined
  const made: unknown = Object.getPrototypeOf(value)
  if (made !== null && made !== Object.prototype) return `${at} is an object of ${className(value)}`
  return firstLive(Object.entries(value), at, seen)
}

function firstLive(
  members: Iterable<[string | number, unknown]>,
  at: string,
  seen: Set<object>,
): string | undefined {
  for (const [key, member] of members) {
    const found = findLive(member, `${at}.${key}`, seen)
    if (found !== undefined) return found
  }
  return undefined
}

function className(value: object): string {
  const { name } = value.constructor ?? {}
  return typeof name === 'string' && name !== '' ? `the class ${name}` : 'a class'
}
