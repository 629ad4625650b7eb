// How texts are compared: after NFKC, without case, with blanks as one. A value that holds what a person does not see, or
// letters of alphabets that look alike, equals nothing.

export function fold(text: string): string {
  // Most values are plain words, which are as they are.
  const isPlain = plain.test(text)
  if (isPlain && !changing.test(text)) return text
  const lower = (isPlain ? text : text.normalize('NFKC')).toLowerCase()
  return spaced.test(lower) ? lower.replace(/\s+/gu, ' ').trim() : lower
}

const changing = /[A-Z]| {2}|^ | $/
const spaced = /[^\S ]|\s\s|^\s|\s$/u
const plain = /^[\x20-\x7e]*$/

const hidden = /[\p{Cf}\p{Cs}\p{Co}\p{Default_Ignorable_Code_Point}\u2028\u2029]|[^\P{Cc}\t\n\r]/u
const letters = /[\p{L}\p{M}\p{N}]+/gu
const latin = /\p{Script=Latin}/u
/** Alphabets with letters that look like Latin ones. */
const alike =
  /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Coptic}\p{Script=Lisu}]/u

/** Zero-width and bidirectional marks, control characters: what is shown is not what is there. */
export function hasHidden(text: string): boolean {
  return !plain.test(text) && hidden.test(text)
}

/** A value of one alphabet may stand beside another one, but not within one word or address. */
function mixesAlphabets(text: string): boolean {
  if (plain.test(text) || !alike.test(text)) return false
  const whole = text.normalize('NFKC')
  for (const run of whole.split(/[\s,;"'()<>[\]{}]+/u)) {
    let hasLatin = false
    let hasAlike = false
    for (const [word] of run.matchAll(letters)) {
      hasLatin ||= latin.test(word)
      hasAlike ||= alike.test(word)
    }
    if (hasLatin && hasAlike) return true
  }
  return false
}

export function isDeceptive(text: string): boolean {
  return hasHidden(text) || mixesAlphabets(text)
}

/** `\0` stands for a word that was taken out: what was joined to it stays joined. */
const asciiWordChar = /[\w\0]/
const otherWordChar = /[\p{L}\p{M}\p{N}]/u
function isWordChar(char: string): boolean {
  return char < '\x80' ? asciiWordChar.test(char) : otherWordChar.test(char)
}

/** They join what stands on both sides: `a@b`, `a.b`, `a-b`. */
const joiners: ReadonlySet<string> = new Set('@.-+%&=~:;?#*$!'.split(''))

/** They do so in an address only, where others may stand before the `@`; elsewhere they stand around words. */
const addressJoiners: ReadonlySet<string> = new Set("'’^`{|}".split(''))
/** They do so in a path or a URL. */
const pathJoiners: ReadonlySet<string> = new Set("'’,|()[]{}".split(''))
const neverJoins: ReadonlySet<string> = new Set()

/** Whether the character before `start` belongs to the same word, name, address or path. */
export function joinsLeft(text: string, start: number, more = neverJoins): boolean {
  const char = charBefore(text, start)
  if (char === undefined) return false
  if (isWordChar(char) || char === '/' || char === '\\') return true
  const before = charBefore(text, start - char.length)
  const joins = joiners.has(char) || more.has(char)
  return joins && before !== undefined && (isWordChar(before) || joiners.has(before))
}

/** Of a value that begins with a sign: what stands right before it is a part of the same path, name or address. */
function joinsSign(text: string, start: number): boolean {
  const char = charBefore(text, start)
  return char !== undefined && (isWordChar(char) || /[/\\)\]}>]/.test(char) || joiners.has(char))
}

export function joinsRight(text: string, end: number, more = neverJoins): boolean {
  const char = charAt(text, end)
  if (char === undefined) return false
  if (isWordChar(char) || char === '/' || char === '\\') return true
  const after = charAt(text, end + char.length)
  return (joiners.has(char) || more.has(char)) && after !== undefined && isWordChar(after)
}

/** Each place where `value` stands by itself in `text`. Both are folded. */
export function* findWhole(text: string, value: string): Generator<number> {
  if (value === '') return
  let at = text.indexOf(value)
  if (at < 0) return
  const isWord = isWordChar(charAt(value, 0) ?? '')
  const isPath = value.includes('/')
  const before = value.includes('@') ? addressJoiners : isPath ? pathJoiners : neverJoins
  const after = isPath ? pathJoiners : neverJoins
  for (; at >= 0; at = text.indexOf(value, at + 1)) {
    const isJoined = isWord ? joinsLeft(text, at, before) : joinsSign(text, at)
    if (!isJoined && !joinsRight(text, at + value.length, after)) yield at
  }
}

function charBefore(text: string, end: number): string | undefined {
  if (end <= 0) return undefined
  const low = text.charCodeAt(end - 1)
  return low >= 0xdc00 && low <= 0xdfff && end > 1 ? text.slice(end - 2, end) : text[end - 1]
}

function charAt(text: string, at: number): string | undefined {
  const high = text.charCodeAt(at)
  return high >= 0xd800 && high <= 0xdbff ? text.slice(at, at + 2) : text[at]
}

/** Words of three letters or more; of other alphabets than ours, where one letter may be a word, all of them. */
export function wordsIn(folded: string): string[] {
  return folded.match(/[\p{L}\p{M}\p{N}]{3,}|(?!\p{Script=Latin})\p{L}[\p{L}\p{M}\p{N}]*/gu) ?? []
}
