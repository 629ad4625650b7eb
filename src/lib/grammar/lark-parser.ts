// Parses tokens into a LarkGrammar, which is plain data. It accepts a subset of Lark and names each unsupported feature
// in its error. Undefined names are found later, by terminals.ts and productions.ts.

import { COMMON_TERMINALS } from './common-terminals.ts'
import { GrammarError, type Position } from './grammar-error.ts'
import { type Token, type TokenKind, tokenize } from './lark-lexer.ts'

export type Expression =
  | { kind: 'sequence'; items: Expression[]; at: Position }
  | { kind: 'choice'; options: Expression[]; at: Position }
  | { kind: 'repeat'; item: Expression; min: number; max: number; at: Position }
  | { kind: 'rule'; name: string; at: Position }
  | { kind: 'terminal'; name: string; at: Position }
  | { kind: 'string'; text: string; insensitive: boolean; at: Position }
  | { kind: 'pattern'; source: string; flags: string; at: Position }
  | { kind: 'range'; from: string; to: string; at: Position }

type Definition = { name: string; body: Expression; at: Position }

export type LarkGrammar = {
  rules: Map<string, Definition>
  terminals: Map<string, Definition>
  ignored: Expression[]
}

const MAX_NESTING = 100
const MAX_REPEAT = 10_000

const REFUSED_DIRECTIVES: Record<string, string> = {
  '%declare': 'declared terminals have no text to match; define the terminal instead',
  '%override': 'write the definition once, as it should be',
  '%extend': 'write the definition once, with all its alternatives',
  '%json': 'write the JSON rules in Lark, or use a function tool with a schema',
  '%regex': 'write the pattern as /.../',
  '%lark': 'nested grammars are not supported; write one grammar',
  '%llguidance': 'engine options are not supported; remove the line',
}

export function parseLark(definition: string): LarkGrammar {
  return new Parser(tokenize(definition)).grammar()
}

class Parser {
  readonly #tokens: Token[]
  readonly #grammar: LarkGrammar = { rules: new Map(), terminals: new Map(), ignored: [] }
  readonly #imported = new Map<string, string>()
  #next = 0
  #depth = 0

  constructor(tokens: Token[]) {
    this.#tokens = tokens
  }

  grammar(): LarkGrammar {
    while (this.#peek().kind !== 'end') {
      if (this.#peek().kind === 'newline') this.#take()
      else if (this.#peek().kind === 'directive') this.#directive()
      else this.#definition()
    }
    return this.#grammar
  }

  #peek(): Token {
    const token = this.#tokens[this.#next]
    if (token === undefined) throw new Error('the parser read past the end token')
    return token
  }

  #take(): Token {
    const token = this.#peek()
    if (token.kind !== 'end') this.#next += 1
    return token
  }

  #isMark(text: string): boolean {
    const token = this.#peek()
    return token.kind === 'mark' && token.text === text
  }

  #takeMark(text: string): Token | null {
    return this.#isMark(text) ? this.#take() : null
  }

  #expect(kind: TokenKind, what: string): Token {
    if (this.#peek().kind !== kind) throw this.#unexpected(what)
    return this.#take()
  }

  #expectMark(text: string, what = `"${text}"`): Token {
    return this.#takeMark(text) ?? throwError(this.#unexpected(what))
  }

  #unexpected(wanted: string): GrammarError {
    const token = this.#peek()
    const found = token.kind === 'newline' || token.kind === 'end' ? token.text : JSON.stringify(token.text)
    return new GrammarError(`expected ${wanted}, found ${found}`, token.at)
  }

  #endOfLine(): void {
    if (this.#peek().kind === 'newline') this.#take()
    else if (this.#peek().kind !== 'end') {
      throw this.#unexpected('the end of the line, "|", or a name, string, regular expression or group')
    }
  }

  #definition(): void {
    while (this.#takeMark('?') || this.#takeMark('!'));
    const name = this.#peek()
    if (name.kind !== 'rule' && name.kind !== 'terminal') {
      throw this.#unexpected(
        'a definition (name: ...) or a directive (%import, %ignore); a line that continues a rule starts with |',
      )
    }
    this.#take()
    if (this.#isMark('{')) throw this.#refuseTemplate()
    if (this.#isMark('[')) {
      throw new GrammarError('options in [ ] after a name are not supported; remove them', this.#peek().at)
    }
    if (this.#takeMark('.')) this.#expect('number', 'a priority number')
    this.#expectMark(':', '":" after the name of the definition')
    this.#define({ name: name.text, body: this.#choice(), at: name.at }, name.kind)
    this.#endOfLine()
  }

  #define(definition: Definition, kind: 'rule' | 'terminal'): void {
    const table = kind === 'rule' ? this.#grammar.rules : this.#grammar.terminals
    const earlier = table.get(definition.name)
    if (earlier) {
      const where = `line ${earlier.at.line}, column ${earlier.at.column}`
      throw new GrammarError(
        `${definition.name} is already defined at ${where}; join both with |`,
        definition.at,
      )
    }
    table.set(definition.name, definition)
  }

  #refuseTemplate(): GrammarError {
    return new GrammarError(
      'templates (name{...}) are not supported; write the rule out for each use',
      this.#peek().at,
    )
  }

  #directive(): void {
    const directive = this.#take()
    if (directive.text === '%import') this.#import()
    else if (directive.text === '%ignore') this.#grammar.ignored.push(this.#choice())
    else {
      const advice = REFUSED_DIRECTIVES[directive.text] ?? 'known directives are %import and %ignore'
      throw new GrammarError(`${directive.text} is not supported: ${advice}`, directive.at)
    }
    this.#endOfLine()
  }

  #import(): void {
    const library = this.#peek()
    if (library.kind !== 'rule' || library.text !== 'common') {
      throw new GrammarError(
        'only the library "common" can be imported; write %import common.NAME',
        library.at,
      )
    }
    this.#take()
    if (this.#takeMark('(')) {
      do {
        const name = this.#expect('terminal', 'the name of a common terminal')
        this.#importAs(name, name)
      } while (this.#takeMark(','))
      this.#expectMark(')')
      return
    }
    this.#expectMark('.', '"." and a name, or a list of names in ( )')
    const name = this.#expect('terminal', 'the name of a common terminal')
    this.#importAs(name, this.#takeMark('->') ? this.#expect('terminal', 'a name in UPPER case') : name)
  }

  #importAs(name: Token, alias: Token): void {
    const source = COMMON_TERMINALS.get(name.text)
    if (source === undefined) {
      const known = [...COMMON_TERMINALS.keys()].join(', ')
      throw new GrammarError(`common has no terminal ${name.text}; it has ${known}`, name.at)
    }
    if (this.#imported.get(alias.text) === name.text) return
    const body: Expression = { kind: 'pattern', source, flags: '', at: name.at }
    this.#define({ name: alias.text, body, at: alias.at }, 'terminal')
    this.#imported.set(alias.text, name.text)
  }

  #choice(): Expression {
    const at = this.#peek().at
    const options = [this.#alternative()]
    while (this.#takeMark('|')) options.push(this.#alternative())
    const only = options[0]
    return options.length === 1 && only ? only : { kind: 'choice', options, at }
  }

  #alternative(): Expression {
    const at = this.#peek().at
    const items: Expression[] = []
    while (this.#startsAtom()) items.push(this.#repeated())
    if (this.#takeMark('->')) {
      const alias = this.#take()
      if (alias.kind !== 'rule' && alias.kind !== 'terminal') {
        throw new GrammarError('expected a name after ->', alias.at)
      }
    }
    const only = items[0]
    return items.length === 1 && only ? only : { kind: 'sequence', items, at }
  }

  #startsAtom(): boolean {
    const { kind } = this.#peek()
    if (kind === 'rule' || kind === 'terminal' || kind === 'string' || kind === 'pattern') return true
    return this.#isMark('(') || this.#isMark('[')
  }

  #repeated(): Expression {
    const item = this.#atom()
    const { at } = this.#peek()
    if (this.#takeMark('?')) return { kind: 'repeat', item, min: 0, max: 1, at }
    if (this.#takeMark('*')) return { kind: 'repeat', item, min: 0, max: Number.POSITIVE_INFINITY, at }
    if (this.#takeMark('+')) return { kind: 'repeat', item, min: 1, max: Number.POSITIVE_INFINITY, at }
    if (this.#takeMark('~')) return this.#tildeCount(item, at)
    if (this.#isMark('{')) return this.#braceCount(item, at)
    return item
  }

  #tildeCount(item: Expression, at: Position): Expression {
    const min = this.#count()
    return this.#counted(item, min, this.#takeMark('..') ? this.#count() : min, at)
  }

  #braceCount(item: Expression, at: Position): Expression {
    const after = this.#tokens[this.#next + 1]
    if (after?.kind !== 'number' && after?.text !== ',') throw this.#refuseTemplate()
    this.#take()
    const min = this.#peek().kind === 'number' ? this.#count() : 0
    let max = min
    if (this.#takeMark(',')) {
      max = this.#peek().kind === 'number' ? this.#count() : Number.POSITIVE_INFINITY
    }
    this.#expectMark('}')
    return this.#counted(item, min, max, at)
  }

  #counted(item: Expression, min: number, max: number, at: Position): Expression {
    if (max < min) {
      throw new GrammarError(
        `this repeats from ${min} to ${max} times; the first number must not be larger`,
        at,
      )
    }
    return { kind: 'repeat', item, min, max, at }
  }

  #count(): number {
    const token = this.#expect('number', 'a number of repetitions')
    const count = Number.parseInt(token.text, 10)
    if (count < 0 || count > MAX_REPEAT) {
      throw new GrammarError(`a repetition count must be between 0 and ${MAX_REPEAT}`, token.at)
    }
    return count
  }

  #atom(): Expression {
    const token = this.#take()
    const { at, text } = token
    switch (token.kind) {
      case 'rule':
      case 'terminal':
        return { kind: token.kind, name: text, at }
      case 'pattern':
        return { kind: 'pattern', source: text, flags: token.flags, at }
      case 'string':
        return this.#isMark('..') ? this.#range(token) : stringExpression(token)
      default:
        return this.#group(token)
    }
  }

  #range(first: Token): Expression {
    this.#take()
    const last = this.#expect('string', 'a string of one character')
    for (const end of [first, last]) {
      if (Array.from(end.text).length !== 1 || end.flags !== '') {
        throw new GrammarError('each end of a range is a string of exactly one character', end.at)
      }
    }
    if ((first.text.codePointAt(0) ?? 0) > (last.text.codePointAt(0) ?? 0)) {
      throw new GrammarError('the range is empty: its first character comes after its last', first.at)
    }
    return { kind: 'range', from: first.text, to: last.text, at: first.at }
  }

  #group(open: Token): Expression {
    this.#depth += 1
    if (this.#depth > MAX_NESTING) {
      throw new GrammarError(`groups are nested more than ${MAX_NESTING} deep; name the inner ones`, open.at)
    }
    const item = this.#choice()
    const close = open.text === '(' ? ')' : ']'
    this.#expectMark(
      close,
      `"${close}" to close "${open.text}" of line ${open.at.line}, column ${open.at.column}`,
    )
    this.#depth -= 1
    return open.text === '(' ? item : { kind: 'repeat', item, min: 0, max: 1, at: open.at }
  }
}

function stringExpression(token: Token): Expression {
  return { kind: 'string', text: token.text, insensitive: token.flags === 'i', at: token.at }
}

function throwError(error: GrammarError): never {
  throw error
}
