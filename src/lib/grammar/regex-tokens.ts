// Splits a regular expression into tokens and rewrites each into RE2's spelling: captures become plain groups, \d \w \s
// match Unicode as in the engines that grammars are written for, \uHHHH becomes \x{HHHH}. Features that RE2 does not
// have, and lazy quantifiers, which do not change the set of matching texts, are refused with their position.

import { advance, GrammarError, type Position } from './grammar-error.ts'
import { compileProgram } from './re2-program.ts'

export type RegexToken = {
  kind: 'open' | 'close' | 'or' | 'atom' | 'quantifier' | 'assertion' | 'flags'
  /** RE2's spelling. */
  text: string
  /** Of a quantifier: how many copies it makes. Of any other token: the work of parsing it. */
  weight: number
  offset: number
}

const SPACE =
  '\\t-\\r \\x{85}\\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}\\x{3000}'
const CIRCLED = '\\x{24B6}-\\x{24E9}\\x{1F130}-\\x{1F149}\\x{1F150}-\\x{1F169}\\x{1F170}-\\x{1F189}'
const WORD = `\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}${CIRCLED}\\x{200C}\\x{200D}`
const UNICODE_WEIGHT = 400
// Each assertion is compared with its neighbours, so a long run of them takes quadratic time.
const ASSERTION_WEIGHT = 100

const QUANTIFIER = /[*+?]|\{(\d*)(?:(,)(\d*))?\}/y
const CODE_ESCAPE = /\\(?:u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}|U([0-9a-fA-F]{8}))/y
const OTHER_ESCAPE = /\\(?:[pP](?:\{\^?\w+\}|[A-Z])|x\{[0-9a-fA-F]+\}|x[0-9a-fA-F]{2}|[\s\S])/y
const POSIX_CLASS = /\[:\^?\w+:\]/y
const GROUP = /\((?:\?(?:P?<[A-Za-z_]\w*>|[a-zA-Z-]*[:)]))?/y
const FREE_SPACE = /(?:\s|#[^\n]*)+/y

export function tokenizeRegex(source: string, freeSpacing: boolean, start: Position): RegexToken[] {
  return new RegexLexer(source, freeSpacing, start).tokens()
}

class RegexLexer {
  readonly #source: string
  readonly #freeSpacing: boolean
  readonly #start: Position
  #offset = 0

  constructor(source: string, freeSpacing: boolean, start: Position) {
    this.#source = source
    this.#freeSpacing = freeSpacing
    this.#start = start
  }

  tokens(): RegexToken[] {
    const tokens: RegexToken[] = []
    for (;;) {
      if (this.#freeSpacing) this.#match(FREE_SPACE)
      if (this.#offset >= this.#source.length) return tokens
      tokens.push(this.#token())
    }
  }

  #match(shape: RegExp): RegExpExecArray | null {
    shape.lastIndex = this.#offset
    const found = shape.exec(this.#source)
    if (found) this.#offset += found[0].length
    return found
  }

  #error(message: string, offset: number): GrammarError {
    return new GrammarError(message, advance(this.#start, this.#source.slice(0, offset)))
  }

  #token(): RegexToken {
    const from = this.#offset
    const make = (kind: RegexToken['kind'], text: string, weight = 1): RegexToken => ({
      kind,
      text,
      weight,
      offset: from,
    })
    const quantifier = this.#quantifier()
    if (quantifier) return make('quantifier', quantifier.text, quantifier.weight)
    const char = this.#source[from]
    if (char === '(') return this.#group(make)
    if (char === '[') return make('atom', ...this.#class())
    if (char === '\\') return this.#escape(make)
    const point = String.fromCodePoint(this.#source.codePointAt(from) ?? 0)
    this.#offset += point.length
    if (point === ')') return make('close', ')')
    if (point === '|') return make('or', '|')
    if (point === '^' || point === '$') return make('assertion', point, ASSERTION_WEIGHT)
    return make('atom', '{}'.includes(point) ? `\\${point}` : point)
  }

  #quantifier(): { text: string; weight: number } | null {
    const from = this.#offset
    const found = this.#match(QUANTIFIER)
    if (!found) return null
    const [text, min = '', comma = '', max = ''] = found
    if (text === '{}' || text === '{,}') {
      this.#offset = from
      return null
    }
    if (this.#source[this.#offset] === '?') {
      throw this.#error(
        `the lazy quantifier ${text}? is not supported; remove the ?, or exclude the end mark, as in [^"]*`,
        from,
      )
    }
    if (!text.startsWith('{')) return { text, weight: 1 }
    const weight = Math.max(Number(min || 0), Number(max || 0)) + (comma && !max ? 1 : 0)
    return { text: `{${min || '0'}${comma}${max}}`, weight }
  }

  #group(make: (kind: RegexToken['kind'], text: string) => RegexToken): RegexToken {
    const from = this.#offset
    const after = this.#source.slice(from + 1, from + 4)
    if (/^\?(?:=|!|<=|<!)/.test(after)) {
      throw this.#error('lookarounds are not supported; write the wanted text out, or use a rule', from)
    }
    const head = this.#match(GROUP)
    if (!head || (head[0] === '(' && after.startsWith('?'))) {
      throw this.#error('this kind of group is not supported; use (...), (?:...) or (?i:...)', from)
    }
    const inline = /^\(\?([a-zA-Z-]*)([:)])$/.exec(head[0])
    if (!inline) return make('open', '(?:')
    const [, letters = '', close = ''] = inline
    if (/[^imsu-]/.test(letters)) {
      throw this.#error(`the inline flags "${letters}" are not supported; i, m and s are`, from)
    }
    const flags = letters.replaceAll('u', '').replace(/-$/, '')
    if (close === ':') return make('open', `(?${flags}:`)
    return make('flags', flags === '' ? '' : `(?${flags})`)
  }

  #escape(make: (kind: RegexToken['kind'], text: string, weight?: number) => RegexToken): RegexToken {
    const from = this.#offset
    const text = this.#escapedAtom(false)
    if (/^\\[bBAzZ]$/.test(text)) {
      return make('assertion', text === '\\Z' ? '\\z' : text, ASSERTION_WEIGHT)
    }
    if (/^\\[1-9]/.test(text)) throw this.#error('back references are not supported', from)
    return make('atom', text, isUnicodeClass(text) ? UNICODE_WEIGHT : 1)
  }

  #escapedAtom(inClass: boolean): string {
    const from = this.#offset
    const code = this.#match(CODE_ESCAPE)
    if (code) return `\\x{${code[1] ?? code[2] ?? code[3]}}`
    const other = this.#match(OTHER_ESCAPE)
    if (!other) throw this.#error('a single \\ at the end; write \\\\ for a backslash', from)
    switch (other[0]) {
      case '\\d':
        return '\\p{Nd}'
      case '\\D':
        return '\\P{Nd}'
      case '\\s':
        return inClass ? SPACE : `[${SPACE}]`
      case '\\w':
        return inClass ? WORD : `[${WORD}]`
      case '\\S':
        return inClass ? complement(SPACE) : `[^${SPACE}]`
      case '\\W':
        return inClass ? complement(WORD) : `[^${WORD}]`
      default:
        return other[0]
    }
  }

  #class(): [text: string, weight: number] {
    const from = this.#offset
    let text = '['
    let weight = 1
    this.#offset += 1
    if (this.#source[this.#offset] === '^') {
      text += '^'
      this.#offset += 1
    }
    for (let first = true; ; first = false) {
      const char = this.#source[this.#offset]
      if (char === undefined) throw this.#error('this character class is not closed; end it with ]', from)
      if (char === ']' && !first) break
      const piece = this.#classPiece(char)
      if (isUnicodeClass(piece)) weight += UNICODE_WEIGHT + piece.length / 4
      text += piece
    }
    this.#offset += 1
    return [`${text}]`, weight]
  }

  #classPiece(char: string): string {
    if (char === '\\') return this.#escapedAtom(true)
    if (this.#source.startsWith('&&', this.#offset)) {
      throw this.#error('set operations in classes (&&) are not supported; list the characters', this.#offset)
    }
    const posix = this.#match(POSIX_CLASS)
    if (posix) return posix[0]
    this.#offset += 1
    return char === '[' || char === ']' ? `\\${char}` : char
  }
}

function isUnicodeClass(text: string): boolean {
  return text.length > 8 || /\\[pP]/.test(text)
}

const complements = new Map<string, string>()

/** The inside of a class of all characters that are not in `inside`. RE2 has no nested negation. */
function complement(inside: string): string {
  const known = complements.get(inside)
  if (known !== undefined) return known
  const runes = compileProgram(`[^${inside}]`).instructions.flatMap(instruction => [...instruction.runes])
  let text = ''
  for (let i = 0; i + 1 < runes.length; i += 2) {
    text += `\\x{${(runes[i] ?? 0).toString(16)}}-\\x{${(runes[i + 1] ?? 0).toString(16)}}`
  }
  complements.set(inside, text)
  return text
}
