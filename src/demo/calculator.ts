// Arithmetic for the demonstration's calculator: numbers, + - * / ^ %, brackets and a few functions. A recursive-descent
// parser, so that no text runs as code.

const functions: Readonly<Record<string, (value: number) => number>> = {
  sqrt: Math.sqrt,
  abs: Math.abs,
  round: Math.round,
}

const deepest = 64

export function calculate(expression: string): number {
  const tokens = expression
    .replaceAll('×', '*')
    .replaceAll('÷', '/')
    .replaceAll('−', '-')
    .match(/\d+(?:\.\d+)?(?:e[+-]?\d+)?|\.\d+|[a-z]+|\S/gi)
  if (tokens === null) throw new Error('There is nothing to calculate.')
  const parser = new ExpressionParser(tokens)
  const value = parser.sum(0)
  parser.end()
  if (!Number.isFinite(value)) throw new Error(`${expression} has no finite value.`)
  return Number(value.toPrecision(12))
}

class ExpressionParser {
  readonly #tokens: readonly string[]
  #at = 0

  constructor(tokens: readonly string[]) {
    this.#tokens = tokens
  }

  sum(depth: number): number {
    if (depth > deepest) throw new Error('That is nested too deeply.')
    let value = this.#product(depth)
    for (;;) {
      if (this.#take('+')) value += this.#product(depth)
      else if (this.#take('-')) value -= this.#product(depth)
      else return value
    }
  }

  end(): void {
    const left = this.#tokens[this.#at]
    if (left !== undefined) throw new Error(`"${left}" was not expected here.`)
  }

  #product(depth: number): number {
    let value = this.#signed(depth)
    for (;;) {
      if (this.#take('*')) value *= this.#signed(depth)
      else if (this.#take('/')) value /= this.#signed(depth)
      else if (this.#take('%')) value %= this.#signed(depth)
      else return value
    }
  }

  #signed(depth: number): number {
    if (depth > deepest) throw new Error('That is nested too deeply.')
    if (this.#take('-')) return -this.#signed(depth + 1)
    if (this.#take('+')) return this.#signed(depth + 1)
    const base = this.#atom(depth)
    return this.#take('^') ? base ** this.#signed(depth + 1) : base
  }

  #atom(depth: number): number {
    const token = this.#tokens[this.#at]
    if (token === undefined) throw new Error('Something is missing at the end.')
    this.#at += 1
    if (token === '(') return this.#bracket(depth)
    if (/^[\d.]/.test(token) && token !== '.') return Number(token)
    const name = token.toLowerCase()
    if (name === 'pi') return Math.PI
    const apply = Object.hasOwn(functions, name) ? functions[name] : undefined
    if (!apply || !this.#take('(')) throw new Error(`"${token}" was not expected here.`)
    return apply(this.#bracket(depth))
  }

  #bracket(depth: number): number {
    const value = this.sum(depth + 1)
    if (!this.#take(')')) throw new Error('A closing bracket is missing.')
    return value
  }

  #take(token: string): boolean {
    if (this.#tokens[this.#at] !== token) return false
    this.#at += 1
    return true
  }
}
