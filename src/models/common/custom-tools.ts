// A text tool for a vendor that knows functions only: offered as a function of one string, whose answer is taken
// out of its wrapping while it streams, so that it is validated as the text it is. Vendors with text tools of
// their own need none of this.

import type { Grammar, ToolDeclaration } from '../../language/tools.ts'
import { compileGrammar } from '../../lib/grammar/index.ts'
import { isJsonObject, type JsonObject } from '../../lib/json.ts'
import { printable } from '../../lib/text.ts'

const FIELD = 'input'

export const textToolSchema: JsonObject = {
  type: 'object',
  properties: { [FIELD]: { type: 'string', description: 'The whole text, exactly as the tool takes it.' } },
  required: [FIELD],
  additionalProperties: false,
}

const problems = new WeakMap<Grammar, string>()

/**
 * Why a text tool cannot be offered: its grammar is none that calls could be checked against. A vendor with text tools of
 * its own would refuse the whole request for it. Undefined for every other tool.
 */
export function grammarProblem({ input }: ToolDeclaration): string | undefined {
  const grammar = input.form === 'text' ? input.grammar : undefined
  if (grammar === undefined) return undefined
  let problem = problems.get(grammar)
  if (problem === undefined) {
    try {
      compileGrammar(grammar.syntax, grammar.definition)
      problem = ''
    } catch (error) {
      problem = error instanceof Error ? printable(error.message, 300) : 'it cannot be read'
    }
    problems.set(grammar, problem)
  }
  return problem === '' ? undefined : problem
}

export function textToolDescription(tool: ToolDeclaration): string {
  const { input, description } = tool
  if (input.form !== 'text' || input.grammar === undefined) return description
  const { syntax, definition } = input.grammar
  const rule = syntax === 'lark' ? 'this Lark grammar' : 'this regular expression (RE2), from start to end'
  return `${description}\n\nThe text in \`${FIELD}\` must match ${rule}:\n${definition}`
}

/** The arguments that stand for a text call in a vendor's history. */
export function wrapText(text: string): JsonObject {
  return { [FIELD]: text }
}

export type TextUnwrapper = {
  /** The part of the text that this fragment of arguments adds. */
  push(fragment: string): string
  /** What is still to be shown, and whether the wrapping was closed. */
  end(): { rest: string; closed: boolean }
}

const HEAD = new RegExp(`^\\s*\\{\\s*"${FIELD}"\\s*:\\s*"`)
/** Longer than any honest opening: what has not begun by then is not in the wrapping we asked for. */
const LONGEST_HEAD = 200
const ESCAPES: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }

/** Reads `{"input":"…"}` in pieces. What came in another form is shown at the end: its text if it holds one, else as it is. */
export function textUnwrapper(): TextUnwrapper {
  let state: 'head' | 'body' | 'tail' | 'other' = 'head'
  let raw = ''
  let pending = ''
  const body = (): string => {
    const { text, left, closed } = decodeString(pending)
    pending = left
    if (closed) state = 'tail'
    return text
  }
  return {
    push(fragment) {
      if (state === 'tail') return ''
      if (state === 'body') {
        pending += fragment
        return body()
      }
      raw += fragment
      if (state === 'other') return ''
      const head = HEAD.exec(raw)
      if (head === null) {
        if (raw.length > LONGEST_HEAD) state = 'other'
        return ''
      }
      state = 'body'
      pending = raw.slice(head[0].length)
      return body()
    },
    end() {
      if (state === 'tail') return { rest: '', closed: true }
      if (state === 'body') return { rest: '', closed: false }
      return unwrapWhole(raw)
    },
  }
}

function unwrapWhole(raw: string): { rest: string; closed: boolean } {
  try {
    const value: unknown = JSON.parse(raw)
    if (typeof value === 'string') return { rest: value, closed: true }
    const inner = isJsonObject(value) ? value[FIELD] : undefined
    return { rest: typeof inner === 'string' ? inner : raw, closed: true }
  } catch {
    return { rest: raw, closed: false }
  }
}

/** Decodes up to the closing quote. An escape, or a surrogate pair of escapes, that is not whole yet is left over. */
function decodeString(source: string): { text: string; left: string; closed: boolean } {
  let text = ''
  for (let at = 0; at < source.length; ) {
    const char = source.charAt(at)
    if (char === '"') return { text, left: '', closed: true }
    if (char !== '\\') {
      text += char
      at++
      continue
    }
    const found = /^\\(?:u([0-9a-fA-F]{4})(?:\\u([0-9a-fA-F]{4}))?|[^u])/.exec(source.slice(at, at + 12))
    if (found === null) {
      // A broken escape is text; one that the fragment only cut short waits for the next.
      if (/^\\(?:u[0-9a-fA-F]{0,3})?$/.test(source.slice(at)))
        return { text, left: source.slice(at), closed: false }
      text += char
      at++
      continue
    }
    const [whole, first, second] = found
    if (first === undefined) {
      text += ESCAPES[whole.charAt(1)] ?? whole.charAt(1)
      at += whole.length
    } else if (isHigh(first) && second === undefined && source.length - at < 12) {
      return { text, left: source.slice(at), closed: false }
    } else {
      text += String.fromCharCode(Number.parseInt(first, 16))
      at += 6
    }
  }
  return { text, left: '', closed: false }
}

function isHigh(hex: string): boolean {
  return /^d[89ab]/i.test(hex)
}
