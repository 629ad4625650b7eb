// How strings become text of PostgreSQL and come back. Its text is UTF-8 without NUL, so that a string with a NUL or a
// lone surrogate is stored with escapes, behind a mark. No two strings have the same text, so lookups stay exact. JSON
// needs none of this: `JSON.stringify` escapes both.

const MARK = '\u0001'

export function toText(value: string): string {
  if (value.isWellFormed() && !value.includes('\u0000') && !value.startsWith(MARK)) return value
  return MARK + value.replace(/[\\\0\p{Surrogate}]/gu, escaped)
}

export function fromText(text: string): string {
  if (!text.startsWith(MARK)) return text
  return text
    .slice(1)
    .replace(/\\u([0-9a-f]{4})/g, (_, code: string) => String.fromCharCode(parseInt(code, 16)))
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

type Element = string | number | boolean | null

/** An array as PostgreSQL reads it from text. Strings are well-formed. */
export function arrayLiteral(elements: readonly Element[]): string {
  let text = '{'
  for (let index = 0; index < elements.length; index++) {
    const element = elements[index]!
    if (index > 0) text += ','
    if (typeof element === 'string') text += sqlQuoted(element)
    else text += element === null ? 'NULL' : String(element)
  }
  return `${text}}`
}

const CONTROL = /\p{Cc}/u

/** Quotes and backslashes get a backslash. JSON does the same to text without control characters, and is faster. */
function sqlQuoted(text: string): string {
  return CONTROL.test(text) ? `"${text.replace(/["\\]/g, '\\$&')}"` : JSON.stringify(text)
}
