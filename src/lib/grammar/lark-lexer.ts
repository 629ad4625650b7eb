// Splits a Lark grammar into tokens. It knows the spelling of tokens and where a line break ends a definition (not within
// brackets, not before `|`). It does not know how tokens combine.

import { advance, GrammarError, type Position } from './grammar-error.ts'

export type TokenKind =
  | 'rule'
  | 'terminal'
  | 'string'
  | 'pattern'
  | 'number'
  | 'directive'
  | 'mark'
  | 'newline'
  | 'end'

/** `text` is decoded for strings and without slashes for patterns. `flags` are the letters after the closing mark. */
export type Token = { kind: TokenKind; text: string; flags: string; at: Position }

const BLANK = /(?:[ \t\r\f]|\\[ \t\r]*\n|\/\/[^\n]*|#[^\n]*)+/y
const STRING = /"((?:\\.|[^"\\\n])*)"(i?)/y
const PATTERN = /\/(?![/*])((?:\\[\s\S]|[^\\/])+)\/([a-zA-Z]*)/y
const NAME_TOKEN = /[A-Za-z_][A-Za-z0-9_]*(?:-[A-Za-z0-9_]+)*/y
const NUMBER_TOKEN = /[+-]?\d+/y
const DIRECTIVE = /%[A-Za-z_]+/y
const MARK = /->|\.\.|[:|()[\]{}?*+~.,!]/y
const ESCAPE = /\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([\s\S]))/g
const PLAIN_ESCAPES: Record<string, string> = {
  n: '\n',
  t: '\t',
  r: '\r',
  f: '\f',
  b: '\b',
  '"': '"',
  "'": "'",
  '\\': '\\',
  '/': '/',
}
const LAST_CODE_POINT = 0x10ffff

export function tokenize(definition: string): Token[] {
  const tokens: Token[] = []
  let offset = 0
  let at: Position = { line: 1, column: 1 }
  let depth = 0
  const take = (shape: RegExp): RegExpExecArray | null => {
    shape.lastIndex = offset
    return shape.exec(definition)
  }
  while (offset < definition.length) {
    const blank = take(BLANK)
    if (blank === null) {
      const token = definition[offset] === '\n' ? newline(at) : readToken(take, definition, offset, at)
      depth += bracketStep(token.token)
      if (token.token.kind !== 'newline' || depth <= 0) tokens.push(token.token)
      offset += token.raw.length
      at = advance(at, token.raw)
    } else {
      offset += blank[0].length
      at = advance(at, blank[0])
    }
  }
  tokens.push({ kind: 'end', text: 'the end of the grammar', flags: '', at })
  return joinAlternatives(tokens)
}

type Read = { token: Token; raw: string }

function newline(at: Position): Read {
  return { token: { kind: 'newline', text: 'the end of the line', flags: '', at }, raw: '\n' }
}

function bracketStep(token: Token): number {
  if (token.kind !== 'mark') return 0
  if (token.text === '(' || token.text === '[') return 1
  return token.text === ')' || token.text === ']' ? -1 : 0
}

function readToken(
  take: (shape: RegExp) => RegExpExecArray | null,
  source: string,
  offset: number,
  at: Position,
): Read {
  const string = take(STRING)
  if (string) {
    const text = decodeString(string[1] ?? '', at)
    return { token: { kind: 'string', text, flags: string[2] ?? '', at }, raw: string[0] }
  }
  const pattern = take(PATTERN)
  if (pattern) {
    const token: Token = { kind: 'pattern', text: pattern[1] ?? '', flags: pattern[2] ?? '', at }
    return { token, raw: pattern[0] }
  }
  const number = take(NUMBER_TOKEN)
  if (number) return { token: { kind: 'number', text: number[0], flags: '', at }, raw: number[0] }
  const name = take(NAME_TOKEN)
  if (name) return { token: { kind: nameKind(name[0], at), text: name[0], flags: '', at }, raw: name[0] }
  const directive = take(DIRECTIVE)
  if (directive) return { token: { kind: 'directive', text: directive[0], flags: '', at }, raw: directive[0] }
  const mark = take(MARK)
  if (mark) return { token: { kind: 'mark', text: mark[0], flags: '', at }, raw: mark[0] }
  throw unknownToken(source, offset, at)
}

function nameKind(name: string, at: Position): 'rule' | 'terminal' {
  if (name === name.toLowerCase() && /[a-z]/.test(name)) return 'rule'
  if (name === name.toUpperCase() && /[A-Z]/.test(name)) return 'terminal'
  throw new GrammarError(
    `the name ${JSON.stringify(name)} mixes cases; write rules in lower case and terminals in UPPER case`,
    at,
  )
}

function unknownToken(source: string, offset: number, at: Position): GrammarError {
  const found = String.fromCodePoint(source.codePointAt(offset) ?? 0)
  if (found === '"') return new GrammarError('this string is not closed; end it with " on the same line', at)
  if (found === '/') return new GrammarError('this regular expression is not closed; end it with /', at)
  if (found === "'") return new GrammarError('strings are written in double quotes', at)
  if (found === '<') return new GrammarError('special tokens <...> are not supported; use text', at)
  if (found === '@') return new GrammarError('references to other grammars (@name) are not supported', at)
  if (found === '&') return new GrammarError('the operator & is not supported; write one expression', at)
  return new GrammarError(`unexpected character ${JSON.stringify(found)}`, at)
}

function decodeString(body: string, at: Position): string {
  return body.replace(
    ESCAPE,
    (whole: string, byte?: string, unit?: string, point?: string, other?: string, index?: number): string => {
      if (byte !== undefined) return String.fromCodePoint(Number.parseInt(byte, 16))
      if (unit !== undefined) return String.fromCharCode(Number.parseInt(unit, 16))
      const code = point === undefined ? -1 : Number.parseInt(point, 16)
      if (code >= 0 && code <= LAST_CODE_POINT) return String.fromCodePoint(code)
      const plain = other === undefined ? undefined : PLAIN_ESCAPES[other]
      if (plain !== undefined) return plain
      throw new GrammarError(
        `the escape ${whole} is unknown; use \\n \\t \\r \\f \\b \\" \\\\ \\xHH \\uHHHH, or \\\\ for a backslash`,
        advance(at, `"${body.slice(0, index)}`),
      )
    },
  )
}

/** A line that starts with `|` continues the definition above it. */
function joinAlternatives(tokens: Token[]): Token[] {
  const joined: Token[] = []
  for (const token of tokens) {
    if (token.kind === 'mark' && token.text === '|') {
      while (joined.at(-1)?.kind === 'newline') joined.pop()
    }
    joined.push(token)
  }
  return joined
}
