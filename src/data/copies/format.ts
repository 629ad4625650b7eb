// The form of exported sessions: JSON lines. A file has a first line, for each session its lines, a line for each payment, and
// a last line, so that a file that was cut off is recognised. The last line of a session has the hash of all lines of it.
import type { Event } from '../../language/events.ts'
import type { PaymentRecord } from '../../language/payments.ts'

export const copyVersion = 1

export type FirstLine = { turnwire: 'export'; version: number }
export type SessionLine = { session: string; events: number }
export type EventLine = { seq: number; event: Event }
export type BlobLine = { blob: string; body: string }
/** `piece`: in base64. The last piece of a blob has `last`. */
export type PieceLine = { blob: string; at: number; piece: string; last?: true }
/** `sha256`: of the lines before it, from the session's first, each with its LF. */
export type SessionEndLine = { end: string; sha256: string }
export type PaymentLine = { payment: PaymentRecord }
/** `sha256`: of all lines before it, each with its LF. Older versions wrote none. */
export type LastLine = { sessions: number; payments: number; sha256?: string }

/** The members of each kind of line. A line with others was not written by an export. */
const kinds: ReadonlySet<string> = new Set(
  [
    ['turnwire', 'version'],
    ['session', 'events'],
    ['seq', 'event'],
    ['blob', 'body'],
    ['blob', 'at', 'piece'],
    ['blob', 'at', 'piece', 'last'],
    ['end', 'sha256'],
    ['payment'],
    ['sessions', 'payments'],
    ['sessions', 'payments', 'sha256'],
  ].map(joinNames),
)

export function isLine(line: object): line is Line {
  return kinds.has(joinNames(Object.keys(line)))
}

function joinNames(names: string[]): string {
  return names.sort().join()
}

export type Line =
  | FirstLine
  | SessionLine
  | EventLine
  | BlobLine
  | PieceLine
  | SessionEndLine
  | PaymentLine
  | LastLine
