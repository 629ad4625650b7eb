// A file of the operator's that holds data, in YAML or JSON. Messages about mistakes name the line.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Document, LineCounter } from 'yaml'
import { TurnwireError, wordsOf } from '../language/errors.ts'
import { isRecord } from '../lib/checks/fields.ts'

const mostCharacters = 4 * 1024 * 1024

/** `called`: what it is, for the message. Throws `config_invalid`. */
export function readDataText(file: string, called: string): string {
  try {
    const text = readFileSync(file, 'utf8')
    if (text.length > mostCharacters) throw new Error(`it has more than ${mostCharacters} characters`)
    return text
  } catch (cause) {
    throw new TurnwireError('config_invalid', `${called} ${file} cannot be read: ${wordsOf(cause)}`, {
      cause,
    })
  }
}

export class DataFile {
  readonly value: unknown
  readonly #file: string
  readonly #document: Document.Parsed
  readonly #lines: LineCounter

  /** `file`: for messages. Throws `config_invalid` where the text is no YAML. */
  constructor(text: string, file: string) {
    // Loaded only where there is such a file.
    const yaml = createRequire(import.meta.url)('yaml') as typeof import('yaml')
    this.#file = file
    this.#lines = new yaml.LineCounter()
    this.#document = yaml.parseDocument(text, { lineCounter: this.#lines, prettyErrors: false })
    const [syntax] = this.#document.errors
    if (syntax) throw this.#error(this.#lines.linePos(syntax.pos[0]).line, syntax.message)
    try {
      this.value = this.#document.toJS()
    } catch (error) {
      // Too many aliases, for one.
      throw this.#error(1, wordsOf(error))
    }
  }

  /** `path`: of what is wrong. */
  wrong(path: readonly (string | number)[], message: string): TurnwireError {
    return this.#error(this.#findLine(path), message)
  }

  #error(line: number, message: string): TurnwireError {
    return new TurnwireError('config_invalid', `${this.#file}:${line}: ${message}`)
  }

  /** Of the innermost part of the path that is there. */
  #findLine(path: readonly (string | number)[]): number {
    for (let length = path.length; length > 0; length--) {
      const node: unknown = this.#document.getIn(path.slice(0, length), true)
      const parent: unknown = this.#document.getIn(path.slice(0, length - 1), true)
      const key = path[length - 1]
      const items = isRecord(parent) && Array.isArray(parent['items']) ? (parent['items'] as unknown[]) : []
      const pair = items.find(item => hasKey(item, key))
      const place = findStart(pair) ?? findStart(node)
      if (place !== undefined) return this.#lines.linePos(place).line
    }
    return 1
  }
}

function hasKey(item: unknown, key: unknown): boolean {
  if (!isRecord(item)) return false
  const { key: named } = item
  return isRecord(named) && named['value'] === key
}

/** Where it begins: of a pair its key does. */
function findStart(node: unknown): number | undefined {
  const { key, range } = isRecord(node) ? node : {}
  const found = isRecord(key) ? key['range'] : range
  const [start] = Array.isArray(found) ? (found as unknown[]) : []
  return typeof start === 'number' ? start : undefined
}
