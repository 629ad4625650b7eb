// What a tool shows while it runs, redacted by the same rules as its result. A secret may come in pieces, so a line
// is held back until it is whole, and a secret of several lines until it ends. What is shown is for eyes alone: the
// model reads the result, which is redacted as one text.
import type { Live } from '../engine/ports.ts'
import type { Redactor, Tally } from './redact.ts'

/** A line that grows longer than this is shown up to its last space. */
const longLine = 8 * 1024
/** More than this is never held back, whatever it may yet become. */
const mostHeld = 64 * 1024

export function liveText(redactor: Redactor): Live {
  const tally: Tally = { count: 0 }
  let held = ''
  return {
    take(piece) {
      held += piece
      const end = held.length > mostHeld ? held.length : lastBreak(held)
      if (end === 0) return ''
      const ready = held.slice(0, end)
      if (end < mostHeld && runsOn(ready, redactor)) return ''
      held = held.slice(end)
      return redactor(ready, tally)
    },
    rest() {
      const ready = held
      held = ''
      return redactor(ready, tally)
    },
  }
}

/** After the last end of a line; in a line without an end in sight, after its last space. */
function lastBreak(text: string): number {
  const line = Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r')) + 1
  return line > 0 || text.length <= longLine ? line : text.lastIndexOf(' ') + 1
}

const beyond = '\u0001'

/** What a rule takes out reaches the end of the text, and so perhaps further: a key block that has only begun. */
function runsOn(text: string, redactor: Redactor): boolean {
  return !redactor(text + beyond, { count: 0 }).endsWith(beyond)
}
