// Translates a pattern of JSON Schema (ECMA-262, Unicode mode) into RE2's spelling, in one pass over its text. RE2 matches
// in linear time, so it lacks look-around and back references. A pattern that RE2 cannot match the same way is refused
// here, before RE2 is loaded, so that a tool with such a pattern is refused when it is declared and not at every call.
// Anchors and flags of other dialects that have one obvious meaning (\A, \z, (?i), (?P<name>…)) are accepted.

import { createRequire } from 'node:module'
import type { RE2JS } from 're2js'
import { quote } from '../text/index.ts'
import { SchemaError } from './keywords.ts'

/** Throws SchemaError. */
export function translatePattern(pattern: string): string {
  return new Translator(pattern).translate()
}

/** Whitespace and line ends of ECMA-262. RE2's own \s is ASCII only. */
const SPACE =
  '\\t-\\r \\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}'
const NOT_SPACE =
  '\\x{0}-\\x{8}\\x{e}-\\x{1f}\\x{21}-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}'
const NOT_LINE_END = '[^\\n\\r\\x{2028}\\x{2029}]'
/** RE2 repeats nothing more often than this, nested repetitions multiplied. */
const MAX_REPEAT = 1_000
/** RE2's own limit. */
const MAX_GROUPS = 1_000

const QUANTIFIER = /(?:[*+?]|\{(\d+)(?:(,)(\d*))?\})\??/y
const GROUP = /\((?:\?(?:P?<([A-Za-z_$][\w$]*)>|([a-zA-Z]*)(?:-([a-zA-Z]*))?([:)])))?/y
const CODE_POINT =
  /\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]+)\}|x([0-9a-fA-F]{2})|x\{([0-9a-fA-F]+)\}|c([a-zA-Z])|0(?!\d))/y
const PROPERTY = /\\([pP])(?:\{(\^?)([\w=]+)\}|([A-Z]))/y
const POSIX = /\[[:.=]\^?\w*[:.=]\]/y
const PLAIN_ESCAPES: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13 }

class Translator {
  readonly #pattern: string
  #at = 0
  #output = ''
  /** Of each open group: what `#most` was outside of it. */
  readonly #outer: number[] = []
  /** Of the current group: the most copies that repetitions make of one of its parts, and of the last part. */
  #most = 1
  #last = 1
  /** Whether a quantifier may follow. */
  #repeatable = false

  constructor(pattern: string) {
    this.#pattern = pattern
  }

  translate(): string {
    while (this.#at < this.#pattern.length) this.#term()
    if (this.#outer.length > 0) this.#refuse('a group is not closed: ) is missing')
    return this.#output === '' ? '(?:)' : this.#output
  }

  #term(): void {
    if (this.#quantifier()) return
    switch (this.#pattern[this.#at]) {
      case '(':
        this.#open()
        break
      case ')':
        this.#close()
        break
      case '[':
        this.#atom(this.#class())
        break
      case '\\':
        this.#escape()
        break
      case '|':
      case '^':
      case '$':
        this.#output += this.#pattern[this.#at++]
        this.#repeatable = false
        break
      case '.':
        this.#at += 1
        this.#atom(NOT_LINE_END)
        break
      default:
        this.#atom(patternLiteral(this.#codePoint()))
    }
  }

  #atom(text: string): void {
    this.#output += text
    this.#last = 1
    this.#repeatable = true
  }

  #quantifier(): boolean {
    const found = this.#match(QUANTIFIER)
    if (!found) return false
    const [text, min, comma, max] = found
    if (!this.#repeatable) this.#refuse(`there is nothing that ${text} could repeat`)
    this.#repeatable = false
    this.#output += text
    if (min === undefined) return true
    const least = Number(min)
    const most = comma === undefined || max === '' ? least : Number(max)
    if (most < least) this.#refuse(`the counts of ${text} are out of order`)
    const copies = this.#last * Math.max(1, most)
    if (copies > MAX_REPEAT)
      this.#refuse(
        `${text} repeats more than ${MAX_REPEAT} times, nested repetitions multiplied; use maxLength or *`,
      )
    this.#most = Math.max(this.#most, copies)
    return true
  }

  #open(): void {
    const ahead = this.#pattern.slice(this.#at, this.#at + 4)
    if (/^\(\?<?[=!]/.test(ahead))
      this.#refuse(
        'it looks ahead or behind. Use "allOf" with one pattern for each condition and "not" for what must not match, or check it in code (in zod: .refine)',
      )
    const found = this.#match(GROUP)
    const [text = '', , on = '', off = '', end] = found ?? []
    if (text === '' || (text === '(' && ahead.startsWith('(?')) || /[^im]/.test(on + off))
      this.#refuse(`a group begins with ${quote(ahead)}; there are (…), (?:…), (?<name>…), (?i:…) and (?m:…)`)
    const flags = off === '' ? on : `${on}-${off}`
    if (end === ')') {
      if (flags !== '') this.#output += `(?${flags})`
      this.#repeatable = false
      return
    }
    this.#output += `(?${flags}:`
    this.#outer.push(this.#most)
    if (this.#outer.length > MAX_GROUPS) this.#refuse(`groups are nested more than ${MAX_GROUPS} deep`)
    this.#most = 1
    this.#last = 1
    this.#repeatable = false
  }

  #close(): void {
    const outer = this.#outer.pop()
    if (outer === undefined) this.#refuse('a ) closes no group; write \\) for the character')
    this.#at += 1
    this.#output += ')'
    this.#last = this.#most
    this.#most = Math.max(outer, this.#most)
    this.#repeatable = true
  }

  // ---- escapes ------------------------------------------------------------------------------------------------------

  #escape(): void {
    const letter = this.#pattern[this.#at + 1] ?? ''
    if (/[bBAzZ]/.test(letter)) {
      this.#at += 2
      this.#output += letter === 'Z' ? '\\z' : `\\${letter}`
      this.#repeatable = false
      return
    }
    const set = this.#set(false)
    this.#atom(set ?? patternLiteral(this.#escaped()))
  }

  /** A set of characters, as it stands in or outside of a class. Undefined: it is a single character. */
  #set(inClass: boolean): string | undefined {
    const property = this.#match(PROPERTY)
    if (property) {
      const [, kind, caret = '', name = '', short = ''] = property
      return this.#property(name + short, (kind === 'P') !== (caret === '^'), inClass)
    }
    const letter = this.#pattern[this.#at + 1] ?? ''
    if (!/[dDwWsS]/.test(letter)) return undefined
    this.#at += 2
    if (letter === 's') return inClass ? SPACE : `[${SPACE}]`
    if (letter === 'S') return inClass ? NOT_SPACE : `[${NOT_SPACE}]`
    return `\\${letter}`
  }

  #property(given: string, isNegated: boolean, inClass: boolean): string {
    const [, key, value = ''] = /^(?:(\w+)=)?(\w+)$/.exec(given) ?? []
    const isCategory = key === undefined || key === 'gc' || key === 'General_Category'
    const isOther = key === undefined || key === 'sc' || key === 'Script'
    if (key === undefined && (value === 'Any' || value === 'ASCII')) {
      const last = value === 'Any' ? '10ffff' : '7f'
      if (!isNegated) return inClass ? `\\x{0}-\\x{${last}}` : `[\\x{0}-\\x{${last}}]`
      if (value === 'ASCII') return inClass ? '\\x{80}-\\x{10ffff}' : '[\\x{80}-\\x{10ffff}]'
    }
    const category = isCategory ? (CATEGORIES.get(value) ?? (SHORT_CATEGORY.test(value) ? value : '')) : ''
    if (category !== '') return `\\${isNegated ? 'P' : 'p'}{${category}}`
    if (isOther && isPropertyOfRe2(value)) return `\\${isNegated ? 'P' : 'p'}{${value}}`
    return this.#refuse(
      `\\p{${given}} is not known; there are general categories and, by their long names, scripts: \\p{Letter}, \\p{Script=Greek}`,
    )
  }

  #escaped(): number {
    const code = this.#match(CODE_POINT)
    if (code) return this.#checkCode(escapeCode(code))
    const from = this.#at
    this.#at += 1
    if (this.#at >= this.#pattern.length) this.#refuse('it ends in a single \\; write \\\\ for a backslash')
    const point = this.#codePoint()
    const text = String.fromCodePoint(point)
    if (PLAIN_ESCAPES[text] !== undefined) return PLAIN_ESCAPES[text]
    if (/[1-9]|k/.test(text)) this.#refuse(`\\${text} refers back to a group, which is not supported`)
    if (/[A-Za-z0]/.test(text))
      this.#refuse(`\\${text} at character ${from + 1} is not an escape of ECMA-262; write ${text} alone`)
    return point
  }

  #checkCode(point: number): number {
    if (point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
      this.#refuse(`the code ${point.toString(16)} is not a character`)
    return point
  }

  // ---- classes ------------------------------------------------------------------------------------------------------

  #class(): string {
    this.#at += 1
    const isNegated = this.#pattern[this.#at] === '^'
    if (isNegated) this.#at += 1
    let inside = ''
    while (this.#pattern[this.#at] !== ']') {
      if (this.#at >= this.#pattern.length) this.#refuse('a character class is not closed: ] is missing')
      inside += this.#classPart()
    }
    this.#at += 1
    if (inside === '') return isNegated ? '[\\x{0}-\\x{10ffff}]' : '[^\\x{0}-\\x{10ffff}]'
    return `[${isNegated ? '^' : ''}${inside}]`
  }

  #classPart(): string {
    const low = this.#classAtom()
    if (typeof low === 'string' || !this.#isRange()) return typeof low === 'string' ? low : code(low)
    this.#at += 1
    const high = this.#classAtom()
    // As in `[a-\d]`: the hyphen stands for itself.
    if (typeof high === 'string') return `${code(low)}\\x{2d}${high}`
    if (high < low) this.#refuse('a range of a character class is out of order')
    return `${code(low)}-${code(high)}`
  }

  #isRange(): boolean {
    const after = this.#pattern[this.#at + 1]
    return this.#pattern[this.#at] === '-' && after !== ']' && after !== undefined
  }

  #classAtom(): number | string {
    const posix = this.#match(POSIX)
    if (posix) return this.#refuse(`${posix[0]} is not of ECMA-262; use \\p{…}, \\d, \\w or \\s`)
    if (this.#pattern[this.#at] !== '\\') return this.#codePoint()
    if (this.#pattern[this.#at + 1] === 'b') {
      this.#at += 2
      return 8
    }
    return this.#set(true) ?? this.#escaped()
  }

  // ---- reading ------------------------------------------------------------------------------------------------------

  #match(shape: RegExp): RegExpExecArray | null {
    shape.lastIndex = this.#at
    const found = shape.exec(this.#pattern)
    if (found) this.#at += found[0].length
    return found
  }

  #codePoint(): number {
    const point = this.#pattern.codePointAt(this.#at) ?? 0
    this.#at += point > 0xffff ? 2 : 1
    return this.#checkCode(point)
  }

  #refuse(why: string): never {
    throw new SchemaError('', `The pattern ${quote(this.#pattern)} is not supported: ${why}.`)
  }
}

function escapeCode([, high, low, four, braces, two, others, control]: RegExpExecArray): number {
  if (high !== undefined && low !== undefined)
    return 0x10000 + ((Number.parseInt(high, 16) - 0xd800) << 10) + (Number.parseInt(low, 16) - 0xdc00)
  if (control !== undefined) return control.charCodeAt(0) % 32
  return Number.parseInt(four ?? braces ?? two ?? others ?? '0', 16)
}

function code(point: number): string {
  return `\\x{${point.toString(16)}}`
}

function patternLiteral(point: number): string {
  const text = String.fromCodePoint(point)
  return /[\w ]/.test(text) ? text : code(point)
}

// ---- properties -------------------------------------------------------------------------------------------------------

const SHORT_CATEGORY = /^(?:L[ulmot]?|M[nce]?|N[dlo]?|S[mcko]?|P[cdsefio]?|Z[slp]?|C[cfo]?)$/

/** The long names that ECMA-262 has for what RE2 knows by its short name. */
const CATEGORIES: ReadonlyMap<string, string> = new Map(
  (
    'Letter L Uppercase_Letter Lu Lowercase_Letter Ll Titlecase_Letter Lt Modifier_Letter Lm Other_Letter Lo Mark M ' +
    'Combining_Mark M Nonspacing_Mark Mn Spacing_Mark Mc Enclosing_Mark Me Number N Decimal_Number Nd digit Nd ' +
    'Letter_Number Nl Other_Number No Symbol S Math_Symbol Sm Currency_Symbol Sc Modifier_Symbol Sk Other_Symbol So ' +
    'Punctuation P punct P Connector_Punctuation Pc Dash_Punctuation Pd Open_Punctuation Ps Close_Punctuation Pe ' +
    'Initial_Punctuation Pi Final_Punctuation Pf Other_Punctuation Po Separator Z Space_Separator Zs Line_Separator Zl ' +
    'Paragraph_Separator Zp Control Cc cntrl Cc Format Cf Private_Use Co'
  )
    .match(/\w+ \w+/g)
    ?.map((pair): [string, string] => {
      const [long = '', short = ''] = pair.split(' ')
      return [long, short]
    }),
)

/** Asks RE2, which is loaded for this. Scripts and other properties are rare in patterns. */
function isPropertyOfRe2(name: string): boolean {
  if (!/^[A-Z][a-z]+(?:_[A-Z][a-z]+)*$/.test(name)) return false
  const re2 = createRequire(import.meta.url)('re2js') as { RE2JS: typeof RE2JS } // `require` is untyped
  try {
    re2.RE2JS.compile(`\\p{${name}}`)
    return true
  } catch {
    return false
  }
}
