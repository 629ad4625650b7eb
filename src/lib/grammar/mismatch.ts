// Describes why a text does not match: where, what was found, what was possible there. The reader is a model that will
// write the text again.

export type Mismatch = { offset: number; line: number; column: number; expected: string[]; message: string }

const MAX_EXPECTED = 24
const MAX_NAMED = 12
const SHOWN = 40
const END_OF_TEXT = 'the end of the text'

/** The text does not match at `offset`. */
export function noMatch(text: string, offset: number, wanted: string[], mayEnd: boolean): Mismatch {
  const labels = [...new Set(wanted)].filter(label => label !== '')
  if (mayEnd) labels.push(END_OF_TEXT)
  const place = locate(text, offset)
  const after = place.before === '' ? '' : `, after ${JSON.stringify(place.before)}`
  const found = offset >= text.length ? 'the text ends' : `found ${JSON.stringify(firstLine(text, offset))}`
  const message =
    `The text does not match the grammar at line ${place.line}, column ${place.column}${after}: ` +
    `${found}, but ${expectation(labels)}.`
  return located(offset, place, labels.slice(0, MAX_EXPECTED), message)
}

export function budgetSpent(text: string, offset: number, maxSteps: number): Mismatch {
  const place = locate(text, offset)
  const message =
    `The text was not accepted: checking it against the grammar took more than ${maxSteps} steps and stopped at ` +
    `line ${place.line}, column ${place.column}. Send a shorter or simpler text.`
  return located(offset, place, [], message)
}

export function tooLong(bytes: number, maxInputBytes: number): Mismatch {
  const message =
    `The text was not accepted: it has ${bytes} bytes and at most ${maxInputBytes} are checked. ` +
    'Send a shorter text, for example in several calls.'
  return { offset: 0, line: 1, column: 1, expected: [], message }
}

type Location = { line: number; column: number; before: string }

function located(offset: number, { line, column }: Location, expected: string[], message: string): Mismatch {
  return { offset, line, column, expected, message }
}

/** One-based line and column (in code points) of an offset, and the end of the text before it on its line. */
function locate(text: string, offset: number): Location {
  const lineStart = offset === 0 ? 0 : text.lastIndexOf('\n', offset - 1) + 1
  let line = 1
  for (let at = text.indexOf('\n'); at >= 0 && at < lineStart; at = text.indexOf('\n', at + 1)) line += 1
  const points = Array.from(text.slice(lineStart, offset))
  return { line, column: points.length + 1, before: points.slice(-SHOWN).join('') }
}

function firstLine(text: string, offset: number): string {
  const points = Array.from(text.slice(offset, offset + 2 * SHOWN)).slice(0, SHOWN)
  const end = points.indexOf('\n')
  return (end < 0 ? points : points.slice(0, Math.max(1, end))).join('')
}

function expectation(labels: string[]): string {
  if (labels.length === 0) return 'the grammar accepts nothing here'
  const named = labels.slice(0, MAX_NAMED).join(', ')
  const more = labels.length > MAX_NAMED ? ` and ${labels.length - MAX_NAMED} more` : ''
  return labels.length === 1 ? `expected ${named}` : `expected one of: ${named}${more}`
}
