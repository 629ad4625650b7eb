// Turns a LarkGrammar into productions. Groups and repetitions become helper symbols. A production is a run of slots, one
// per symbol and one for its end, so that "production and position in it" is a single number for the parser.

import { GrammarError, type Position } from './grammar-error.ts'
import type { Expression, LarkGrammar } from './lark-parser.ts'
import { type GrammarTerminal, TerminalBook } from './terminals.ts'

/** A slot holds a terminal's number (≥ 0), `~symbol` for a nonterminal, or END. */
export const END = 0x7fffffff

export type Productions = {
  /** The content of each slot. */
  readonly expects: Int32Array
  /** The first slots of the productions of each nonterminal. */
  readonly heads: readonly (readonly number[])[]
  readonly terminals: readonly GrammarTerminal[]
  /** The nonterminal of the whole text. No production refers to it. */
  readonly root: number
}

const MAX_SLOTS = 50_000

export function toProductions(grammar: LarkGrammar, maxWeight: number): Productions {
  return new Normaliser(grammar, maxWeight).productions()
}

class Normaliser {
  readonly #grammar: LarkGrammar
  readonly #book: TerminalBook
  readonly #symbols = new Map<string, number>()
  readonly #expects: number[] = []
  readonly #heads: number[][] = []

  constructor(grammar: LarkGrammar, maxWeight: number) {
    this.#grammar = grammar
    this.#book = new TerminalBook(grammar, maxWeight)
  }

  productions(): Productions {
    const start = this.#grammar.rules.get('start')
    if (!start) {
      throw new GrammarError('there is no rule named start; add one: start: ...', { line: 1, column: 1 })
    }
    for (const name of this.#grammar.rules.keys()) this.#symbols.set(name, this.#fresh())
    for (const rule of this.#grammar.rules.values()) {
      this.#produce(this.#findSymbol(rule.name, rule.at), rule.body)
    }
    const root = this.#fresh()
    const trailing = this.#book.trailing()
    const whole = [~this.#findSymbol('start', start.at), ...(trailing === null ? [] : [trailing])]
    this.#add(root, whole, start.at)
    return {
      expects: Int32Array.from(this.#expects),
      heads: this.#heads,
      terminals: this.#book.terminals,
      root,
    }
  }

  #fresh(): number {
    this.#heads.push([])
    return this.#heads.length - 1
  }

  #findSymbol(name: string, at: Position): number {
    const symbol = this.#symbols.get(name)
    if (symbol === undefined) {
      throw new GrammarError(`the rule ${name} is not defined; define it or correct the name`, at)
    }
    return symbol
  }

  #add(symbol: number, items: readonly number[], at: Position): void {
    this.#heads[symbol]?.push(this.#expects.length)
    for (const item of [...items, END]) this.#expects.push(item)
    if (this.#expects.length > MAX_SLOTS) {
      throw new GrammarError('the rules are too large once their repetitions are counted; use + or *', at)
    }
  }

  /** Adds one production per alternative to the nonterminal. */
  #produce(symbol: number, expression: Expression): void {
    const options = expression.kind === 'choice' ? expression.options : [expression]
    for (const option of options) this.#add(symbol, this.#items(option), option.at)
  }

  #items(expression: Expression): number[] {
    switch (expression.kind) {
      case 'sequence':
        return expression.items.flatMap(item => this.#items(item))
      case 'repeat':
        return this.#repeat(flattenRepeat(expression))
      default:
        return [this.#single(expression)]
    }
  }

  /** One symbol for the expression. A new helper, unless the expression is a single symbol. */
  #single(expression: Expression): number {
    switch (expression.kind) {
      case 'rule':
        return ~this.#findSymbol(expression.name, expression.at)
      case 'terminal':
      case 'string':
      case 'pattern':
      case 'range':
        return this.#book.use(expression)
      default: {
        const helper = this.#fresh()
        this.#produce(helper, expression)
        return ~helper
      }
    }
  }

  #repeat({ item, min, max, at }: Expression & { kind: 'repeat' }): number[] {
    if (max === 0) return []
    const one = this.#single(item)
    if (max === Number.POSITIVE_INFINITY) {
      const many = this.#fresh()
      this.#add(many, min === 0 ? [] : [one], at)
      this.#add(many, [~many, one], at)
      return [...new Array<number>(Math.max(0, min - 1)).fill(one), ~many]
    }
    return [...new Array<number>(min).fill(one), ...this.#atMost(max - min, one, at)]
  }

  /** Zero to `count` of the symbol, as a chain of helpers. */
  #atMost(count: number, one: number, at: Position): number[] {
    let rest: number[] = []
    for (let left = count; left > 0; left--) {
      const helper = this.#fresh()
      this.#add(helper, [], at)
      this.#add(helper, [one, ...rest], at)
      rest = [~helper]
    }
    return rest
  }
}

type Repeat = Expression & { kind: 'repeat' }

/** `(x*)*`, `(x+)?` and the like equal a single repetition. Unflattened, they would be infinitely ambiguous. */
function flattenRepeat(outer: Repeat): Repeat {
  let { item, min, max } = outer
  while (item.kind === 'repeat' && isSimple(min, max) && isSimple(item.min, item.max)) {
    min *= item.min
    max = Math.max(max, item.max)
    item = item.item
  }
  return { ...outer, item, min, max }
}

function isSimple(min: number, max: number): boolean {
  return min <= 1 && (max === 1 || max === Number.POSITIVE_INFINITY)
}
