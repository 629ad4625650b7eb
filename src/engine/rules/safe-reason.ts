// What is told when a tool throws. The model reads a reason: a message that the tool's author wrote, or one that the language
// makes of names in the code. Other messages of the system and the language may hold paths, addresses and pieces of data, so only
// their kind is told. Operators get all of it, redacted.
import type { Thrown } from '../../language/calls.ts'
import { wordsOf } from '../../language/errors.ts'
import { Unanswered } from '../../lib/net/unanswered.ts'
import { printable } from '../../lib/text/index.ts'

const MOST_CHARS = 500
const CODE = /^[A-Z][A-Z0-9_]{1,40}$/
const OF_THE_LANGUAGE: ReadonlySet<string> = new Set([
  'TypeError',
  'RangeError',
  'ReferenceError',
  'SyntaxError',
  'EvalError',
  'URIError',
])

/** Their messages name members and types, such as "Cannot read properties of undefined (reading 'city')". */
const SAYS_NAMES: ReadonlySet<string> = new Set(['TypeError', 'RangeError', 'ReferenceError'])
const MOST_DEFECT_CHARS = 300

/** An error of the language whose words are names in the code, not data. */
export function isDefect(error: unknown): boolean {
  if (!(error instanceof Error) || isFailedFetch(error)) return false
  return SAYS_NAMES.has(error.name) && safeErrorCode(error) === undefined
}

export function safeReason(error: unknown): string {
  // Its words are ours. Its cause has a code, which says less.
  if (error instanceof Unanswered) return printable(wordsOf(error), MOST_CHARS)
  const kind = safeErrorCode(error) ?? (error instanceof Error ? safeErrorCode(error.cause) : undefined)
  if (kind !== undefined) return `it met the error ${kind}.`
  if (error instanceof AggregateError && error.errors.length > 0) return severalReasons(error.errors)
  if (isFailedFetch(error)) return 'a request that it made failed.'
  if (error instanceof Error && OF_THE_LANGUAGE.has(error.name))
    return `it has a defect (${error.name}${isDefect(error) ? `: ${printable(error.message, MOST_DEFECT_CHARS)}` : ''}). Other arguments may work; if not, go on without it.`
  return printable(wordsOfThrown(error) ?? 'it threw an object without a message.', MOST_CHARS)
}

const MOST_REASONS = 3

/** As of `Promise.any`. */
function severalReasons(errors: readonly unknown[]): string {
  // One that holds others, perhaps itself, is not looked into.
  const single = errors.filter(each => !(each instanceof AggregateError))
  const reasons = new Set(single.slice(0, MOST_REASONS).map(safeReason))
  return printable(`several errors: ${[...reasons].join(' ')}`, MOST_CHARS)
}

/** In Node's words. Why it failed is in its cause. */
function isFailedFetch(error: unknown): boolean {
  return error instanceof TypeError && error.message === 'fetch failed'
}

/** Libraries throw plain objects with a message too. Undefined: an object without one. */
function wordsOfThrown(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || error instanceof Error) return wordsOf(error)
  return 'message' in error && typeof error.message === 'string' ? error.message : undefined
}

/** For traces and the log: the code of what was thrown, or its class. Few values, and none of its words. */
export function errorType(error: unknown): string {
  if (!(error instanceof Error)) return typeof error
  const code = safeErrorCode(error) ?? safeErrorCode(error.cause)
  return code ?? (/^[A-Za-z_$][\w$.]{0,60}$/.test(error.name) ? error.name : 'Error')
}

/** Errors of the system, and of many libraries, have a code in capitals. */
function safeErrorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined
  const { code } = error
  return typeof code === 'string' && CODE.test(code) ? code : undefined
}

const MOST_MESSAGE_CHARS = 2_000
const MOST_PLACES = 12
const MOST_CAUSES = 4

/** For the tool's author. It may hold arguments and secrets: redact it before it is kept or shown. */
export function describeThrown(error: unknown): Thrown {
  try {
    if (!(error instanceof Error)) {
      const words = wordsOfThrown(error) ?? JSON.stringify(error) ?? ''
      return { message: printable(words, MOST_MESSAGE_CHARS) }
    }
    // The message comes before the places, and may look like one.
    const places = (error.stack ?? '').slice(error.message.length).matchAll(/\n {4}at (.+)/g)
    const stack = [...places].slice(0, MOST_PLACES).map(([, place = '']) => printable(place, 300))
    const several: readonly unknown[] = error instanceof AggregateError ? error.errors : []
    const cause = several.slice(0, MOST_CAUSES).map(each => printable(wordsOf(each), MOST_MESSAGE_CHARS))
    for (let inner = error.cause; inner !== undefined && cause.length < MOST_CAUSES; ) {
      cause.push(printable(wordsOf(inner), MOST_MESSAGE_CHARS))
      inner = inner instanceof Error ? inner.cause : undefined
    }
    return {
      message: printable(`${error.name}: ${error.message}`, MOST_MESSAGE_CHARS),
      ...(stack.length > 0 && { stack }),
      ...(cause.length > 0 && { cause }),
    }
  } catch {
    return { message: 'an error that cannot be read' }
  }
}
