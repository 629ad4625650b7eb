// A text tool for a vendor that knows only functions: it is declared as a function of one string. The text is taken
// out of the function's arguments while they stream, so that it is validated as text. Vendors that have text tools of
// their own use `grammarProblem` alone.

import type { ToolDeclaration } from '../../language/tools.ts'
import { judgeGrammar, grammarProblem as problemOf } from '../../lib/checks/index.ts'
import { isJsonObject, type JsonObject } from '../../lib/json/index.ts'
import { printable } from '../../lib/text/index.ts'

const FIELD = 'input'

export const textToolSchema: JsonObject = {
  type: 'object',
  properties: { [FIELD]: { type: 'string', description: 'The whole text, exactly as the tool takes it.' } },
  required: [FIELD],
  additionalProperties: false,
}

/**
 * Why a text tool cannot be offered: calls could not be checked against its grammar, and a vendor that checks grammars
 * would refuse the whole request. Undefined for every other tool, and for a grammar too large to be compiled here, until
 * `judgeGrammars` has had it judged.
 */
export function grammarProblem({ input }: ToolDeclaration): string | undefined {
  if (input.form !== 'text' || input.grammar === undefined) return undefined
  const problem = problemOf(input.grammar.syntax, input.grammar.definition)
  return problem ? printable(problem, 300) : undefined
}

/** Has the large grammars of these tools judged. `owner`: see `judgeGrammar`. */
export async function judgeGrammars(tools: readonly ToolDeclaration[], owner: string): Promise<void> {
  const judging: Promise<void>[] = []
  for (const { input } of tools) {
    if (input.form !== 'text' || input.grammar === undefined) continue
    const judged = judgeGrammar(input.grammar.syntax, input.grammar.definition, owner)
    if (judged) judging.push(judged)
  }
  await Promise.all(judging)
}

/** `examples` false: the vendor has a place of its own for them. */
export function textToolDescription(tool: ToolDeclaration, examples = true): string {
  const { input } = tool
  const description = examples ? withExamples(tool) : tool.description
  if (input.form !== 'text' || input.grammar === undefined) return description
  const { syntax, definition } = input.grammar
  const rule = syntax === 'lark' ? 'this Lark grammar' : 'this regular expression (RE2), from start to end'
  return `${description}\n\nThe text in \`${FIELD}\` must match ${rule}:\n${definition}`
}

export function withExamples({ description, examples = [], input }: ToolDeclaration): string {
  if (examples.length === 0) return description
  const lines = examples.map(example =>
    typeof example === 'string' && input.form === 'text' ? example : JSON.stringify(example),
  )
  return `${description}\n\nExamples of its input:\n${lines.join('\n')}`
}

/** The function arguments that a text call has in a vendor's history. */
export function wrapText(text: string): JsonObject {
  return { [FIELD]: text }
}

export type TextUnwrapper = {
  /** Takes a fragment of the arguments; gives the text that it adds. */
  push(fragment: string): string
  /** The text that is still missing, and whether the string was closed. */
  end(): { rest: string; closed: boolean }
}

const HEAD = new RegExp(`^\\s*\\{\\s*"${FIELD}"\\s*:\\s*"`)
/** Arguments whose string has not begun after so many characters are not in the declared form. */
const LONGEST_HEAD = 200
const ESCAPES: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }

/** Reads `{"input":"…"}` in pieces. Arguments in another form are given at the end: their string, or as they are. */
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

/** Decodes up to the closing quote. `left` is an escape, or a pair of surrogate escapes, that is not complete yet. */
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
      // An escape that the fragment cut short waits for the next fragment; a broken one is text.
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
