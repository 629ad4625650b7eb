// Reads the type declarations of an SDK (.d.ts files) into plain data that values can be checked against at run time. It knows
// the part of TypeScript that generated SDKs use for data: interfaces, type aliases, namespaces, unions, intersections, arrays,
// records and literals. Classes and functions are skipped.
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

export type Member = { name: string; optional: boolean; type: Type }
export type Type =
  | { kind: 'primitive'; name: 'string' | 'number' | 'boolean' | 'null' | 'unknown' | 'undefined' }
  | { kind: 'literal'; value: string | number | boolean }
  | { kind: 'array'; of: Type }
  | { kind: 'record'; of: Type }
  | { kind: 'object'; members: Member[]; rest?: Type }
  | { kind: 'union' | 'all'; of: Type[] }
  | { kind: 'name'; path: string[]; scope: Scope }

/** The names of a file or of a namespace in it. */
export type Scope = {
  outer?: Scope
  types: Map<string, Type>
  spaces: Map<string, Scope>
  /** Names that an import brings in: all of a file, or one name of it. */
  imports: Map<string, { file: string; name?: string }>
}

const files = new Map<string, Scope>()

export function readDeclarations(file: string): Scope {
  const known = files.get(file)
  if (known) return known
  const scope = newScope()
  files.set(file, scope)
  new Reader(tokensOf(readFileSync(file, 'utf8')), dirname(file)).declarations(scope)
  return scope
}

/** The type that a name means, seen from a scope. */
export function resolve(path: readonly string[], from: Scope): Type {
  const [first = '', ...rest] = path
  for (let scope: Scope | undefined = from; scope; scope = scope.outer) {
    const found = inScope(scope, first, rest)
    if (found) return found
  }
  throw new Error(`no declaration of ${path.join('.')}`)
}

function inScope(scope: Scope, first: string, rest: readonly string[]): Type | undefined {
  const [next, ...more] = rest
  const brought = scope.imports.get(first)
  if (brought) {
    const file = readDeclarations(brought.file)
    if (brought.name === undefined) return next === undefined ? undefined : inScope(file, next, more)
    return inScope(file, brought.name, rest)
  }
  if (next === undefined) return scope.types.get(first)
  const space = scope.spaces.get(first)
  return space && inScope(space, next, more)
}

const newScope = (outer?: Scope): Scope => ({
  types: new Map(),
  spaces: new Map(),
  imports: new Map(),
  ...(outer && { outer }),
})

function tokensOf(text: string): string[] {
  const bare = text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/^\s*\/\/.*$/gm, '')
  return bare.match(/'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|[\w$]+|=>|[^\s]/g) ?? []
}

const primitives = new Set(['string', 'number', 'boolean', 'null', 'unknown', 'undefined'])
const opening = new Set(['{', '(', '[', '<'])
const closing = new Set(['}', ')', ']', '>'])

class Reader {
  readonly #tokens: string[]
  readonly #folder: string
  #at = 0

  constructor(tokens: string[], folder: string) {
    this.#tokens = tokens
    this.#folder = folder
  }

  declarations(scope: Scope): void {
    while (this.#at < this.#tokens.length && !this.#is('}')) this.#declaration(scope)
  }

  #declaration(scope: Scope): void {
    while (this.#take('export') || this.#take('declare') || this.#take('abstract')) {
      // Words before a declaration that change nothing for its data.
    }
    if (this.#take('import')) this.#import(scope)
    else if (this.#take('interface')) this.#interface(scope)
    else if (this.#is('type') && this.#peek(2) === '=') this.#alias(scope)
    else if (this.#take('namespace')) this.#namespace(scope)
    else this.#skip()
  }

  #import(scope: Scope): void {
    const names: [string, string | undefined][] = []
    this.#take('type')
    if (this.#take('*')) {
      this.#expect('as')
      names.push([this.#next(), undefined])
    } else if (this.#take('{'))
      while (!this.#take('}')) {
        this.#take('type')
        const name = this.#next()
        names.push([this.#take('as') ? this.#next() : name, name])
        this.#take(',')
      }
    if (!this.#take('from')) {
      this.#skip()
      return
    }
    const file = join(this.#folder, this.#next().slice(1, -1).replace(/\.js$/, '.d.ts'))
    for (const [local, name] of names) scope.imports.set(local, { file, ...(name && { name }) })
    this.#take(';')
  }

  #interface(scope: Scope): void {
    const name = this.#next()
    const parts: Type[] = []
    if (this.#is('<')) this.#balanced()
    if (this.#take('extends'))
      do parts.push(this.#single(scope))
      while (this.#take(','))
    parts.push(this.#object(scope))
    scope.types.set(name, parts.length === 1 ? parts[0]! : { kind: 'all', of: parts })
  }

  #alias(scope: Scope): void {
    this.#expect('type')
    const name = this.#next()
    this.#expect('=')
    scope.types.set(name, this.#type(scope))
    this.#take(';')
  }

  #namespace(scope: Scope): void {
    const name = this.#next()
    const space = scope.spaces.get(name) ?? newScope(scope)
    scope.spaces.set(name, space)
    this.#expect('{')
    this.declarations(space)
    this.#expect('}')
  }

  #type(scope: Scope): Type {
    this.#take('|')
    const of = [this.#both(scope)]
    while (this.#take('|')) of.push(this.#both(scope))
    return of.length === 1 ? of[0]! : { kind: 'union', of }
  }

  #both(scope: Scope): Type {
    const of = [this.#single(scope)]
    while (this.#take('&')) of.push(this.#single(scope))
    return of.length === 1 ? of[0]! : { kind: 'all', of }
  }

  #single(scope: Scope): Type {
    let type = this.#atom(scope)
    while (this.#is('[') && this.#peek(1) === ']') {
      this.#at += 2
      type = { kind: 'array', of: type }
    }
    return type
  }

  #atom(scope: Scope): Type {
    if (this.#is('{')) return this.#object(scope)
    if (this.#take('(')) {
      const inner = this.#type(scope)
      this.#expect(')')
      return inner
    }
    const word = this.#next()
    if (/^['"]/.test(word)) return { kind: 'literal', value: word.slice(1, -1) }
    if (/^\d/.test(word)) return { kind: 'literal', value: Number(word) }
    if (word === 'true' || word === 'false') return { kind: 'literal', value: word === 'true' }
    if (primitives.has(word)) return { kind: 'primitive', name: word } as Type // It is one of them.
    if (word === 'any' || word === 'never') return { kind: 'primitive', name: 'unknown' }
    const path = [word]
    while (this.#take('.')) path.push(this.#next())
    if (!this.#is('<')) return { kind: 'name', path, scope }
    const given = this.#generics(scope)
    if (word === 'Array') return { kind: 'array', of: given[0]! }
    if (word === 'Record') return { kind: 'record', of: given[1]! }
    return { kind: 'primitive', name: 'unknown' }
  }

  #generics(scope: Scope): Type[] {
    this.#expect('<')
    const given: Type[] = []
    do given.push(this.#type(scope))
    while (this.#take(','))
    this.#expect('>')
    return given
  }

  #object(scope: Scope): Type {
    this.#expect('{')
    const members: Member[] = []
    let rest: Type | undefined
    while (!this.#take('}')) {
      this.#take('readonly')
      if (this.#take('[')) {
        while (!this.#take(']')) this.#next()
        this.#expect(':')
        rest = this.#type(scope)
      } else {
        const name = this.#next().replace(/^['"]|['"]$/g, '')
        const optional = this.#take('?')
        this.#expect(':')
        members.push({ name, optional, type: this.#type(scope) })
      }
      if (!this.#take(';')) this.#take(',')
    }
    return { kind: 'object', members, ...(rest && { rest }) }
  }

  /** A class, a function, a value or a list of exports: to the end of its block or its line. */
  #skip(): void {
    while (this.#at < this.#tokens.length) {
      if (this.#take(';')) return
      if (this.#is('{')) {
        this.#balanced()
        if (this.#take('from')) this.#next()
        this.#take(';')
        return
      }
      if (this.#is('(') || this.#is('[')) this.#balanced()
      else this.#next()
    }
  }

  #balanced(): void {
    let depth = 0
    do {
      const token = this.#next()
      if (opening.has(token)) depth += 1
      if (closing.has(token)) depth -= 1
    } while (depth > 0)
  }

  #peek(ahead: number): string | undefined {
    return this.#tokens[this.#at + ahead]
  }

  #is(token: string): boolean {
    return this.#tokens[this.#at] === token
  }

  #take(token: string): boolean {
    if (!this.#is(token)) return false
    this.#at += 1
    return true
  }

  #next(): string {
    const token = this.#tokens[this.#at++]
    if (token === undefined) throw new Error('the declarations end too early')
    return token
  }

  #expect(token: string): void {
    const found = this.#next()
    if (found !== token)
      throw new Error(
        `${token} expected, ${found} found: ${this.#tokens.slice(this.#at - 12, this.#at + 4).join(' ')}`,
      )
  }
}
