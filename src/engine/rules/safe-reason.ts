// The reason that a model reads when a tool throws. A message that the tool's author wrote is shown. A message of the
// system or the language may hold paths, addresses and pieces of data, so only its kind is shown. The operator's log
// says where it was thrown.
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
  'AggregateError',
])

export function safeReason(error: unknown): string {
  // Its words are ours. Its cause has a code, which says less.
  if (error instanceof Unanswered) return printable(wordsOf(error), MOST_CHARS)
  const kind = safeErrorCode(error) ?? (error instanceof Error ? safeErrorCode(error.cause) : undefined)
  if (kind !== undefined) return `it met the error ${kind}.`
  if (error instanceof Error && OF_THE_LANGUAGE.has(error.name)) return `it has a defect (${error.name}).`
  return printable(wordsOf(error), MOST_CHARS)
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

/** The class of the error and the place where it was thrown. Not its message, which may hold arguments or secrets. */
export function kindAndPlace(error: unknown): { error: string; at?: string } {
  try {
    if (!(error instanceof Error)) return { error: typeof error }
    // The message comes before the places, and may look like one.
    const at = /\n {4}at (.+)/.exec(error.stack?.slice(error.message.length) ?? '')?.[1]
    return { error: error.name, ...(at !== undefined && { at }) }
  } catch {
    return { error: 'an error that cannot be read' }
  }
}
