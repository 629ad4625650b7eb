// Are these arguments whole, readable and of the declared shape? Runs on every call before anything else may,
// so the good path is one scan, one parse and one compiled check, and a hash for whoever asks. What is refused is told
// in words that a model can act on. Whether the call may run is not asked here (authorise.ts).

import type { Admission, Gate } from '../engine/ports.ts'
import type { ToolDeclaration, ToolInput } from '../language/tools.ts'
import { compileGrammar, type Mismatch } from '../lib/grammar/index.ts'
import { hashJson, sha256 } from '../lib/hash.ts'
import { isJsonObject, type Json, JsonError, type JsonObject, parseJson } from '../lib/json.ts'
import { compileSchema, type SchemaIssue } from '../lib/schema.ts'
import { cutUtf8, utf8Length } from '../lib/text.ts'

export type ArgumentLimits = { maxBytes: number; maxDepth: number }

type Call = Parameters<Gate['admit']>[0]

export function admit(call: Call, tool: ToolDeclaration, limits: ArgumentLimits): Admission {
  if (call.cut)
    return refused(
      `The arguments of "${call.name}" were cut off before they were complete, so it was not run. ` +
        'Call it again with the whole arguments; if they were very long, send less at a time.',
    )
  if (call.form !== tool.input.form) return refused(wrongForm(call.name, tool.input))
  return tool.input.form === 'json'
    ? admitJson(call, tool.input.schema, limits)
    : admitText(call, tool.input, limits)
}

/** A class, for its getter: most hashes are never asked for. Of what was written: the input may be changed by then. */
class Admitted {
  readonly ok = true
  readonly input: Json
  readonly #text: string
  #hash: string | undefined

  constructor(input: Json, text: string) {
    this.input = input
    this.#text = text
  }

  get argsHash(): string {
    // JSON arguments are objects: a string is free text.
    this.#hash ??=
      typeof this.input === 'string' ? sha256(this.#text) : hashJson(JSON.parse(this.#text) as Json)
    return this.#hash
  }
}

function wrongForm(name: string, input: ToolInput): string {
  return input.form === 'json'
    ? `The tool "${name}" takes a JSON object as its arguments, but was called with free text. Call it as a function.`
    : `The tool "${name}" takes free text, but was called with JSON arguments. Call it as a custom tool, with the text alone.`
}

// ---- JSON ----------------------------------------------------------------------------------------------------

function admitJson(call: Call, schema: JsonObject, limits: ArgumentLimits): Admission {
  // A model that calls a tool without arguments may write nothing at all.
  const text = call.text.trim() === '' && describesObject(schema) ? '{}' : call.text
  let input: Json
  try {
    input = parseJson(text, limits)
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    return refused(unreadable(call.name, error))
  }
  if (!isJsonObject(input)) return refused(notAnObject(call.name, input))
  let issues: SchemaIssue[] | null
  try {
    issues = checkerOf(schema).check(input)
  } catch (error) {
    return refused(unusable(call.name, 'schema', error))
  }
  if (issues !== null) return refused(misfit(call.name, issues))
  return new Admitted(input, text)
}

function describesObject({ type }: JsonObject): boolean {
  return type === undefined || type === 'object' || (Array.isArray(type) && type.includes('object'))
}

function unreadable(name: string, error: JsonError): string {
  const remedy =
    error.reason === 'syntax'
      ? 'Call it again with one valid JSON object and nothing around it.'
      : 'Change that and call it again.'
  return `The arguments of "${name}" cannot be read, so it was not run. ${error.message} ${remedy}`
}

function notAnObject(name: string, value: Json): string {
  const found = value === null ? 'null' : Array.isArray(value) ? 'an array' : `a ${typeof value}`
  const hint = typeof value === 'string' ? ' Do not put the object in quotes.' : ''
  return `The arguments of "${name}" must be one JSON object, such as {"name": "value"}, but are ${found}.${hint}`
}

const maxIssues = 20
const maxReasonBytes = 8 * 1024

export function describeIssues(issues: readonly SchemaIssue[]): string {
  const lines = issues
    .slice(0, maxIssues)
    .map(({ path, message }) => `- ${path === '' ? '(top level)' : path} ${message}`)
  const cut = cutUtf8(lines.join('\n'), maxReasonBytes)
  return cut.cutBytes > 0 ? `${cut.text}…` : cut.text
}

function misfit(name: string, issues: readonly SchemaIssue[]): string {
  return `The arguments of "${name}" do not fit its schema, so it was not run. Fix this and call it again:\n${describeIssues(issues)}`
}

// ---- free text -----------------------------------------------------------------------------------------------

function admitText(call: Call, input: ToolInput & { form: 'text' }, limits: ArgumentLimits): Admission {
  const { text, name } = call
  if (text.length * 3 > limits.maxBytes && utf8Length(text) > limits.maxBytes)
    return refused(
      `The input of "${name}" is larger than ${limits.maxBytes} bytes, so it was not run. Send less at a time.`,
    )
  // Half characters all become the same one in UTF-8: two texts would share a hash, and so an approval.
  if (!text.isWellFormed())
    return refused(
      `The input of "${name}" holds a broken character (half of a surrogate pair), so it was not run.`,
    )
  if (input.grammar !== undefined) {
    let mismatch: Mismatch | null
    try {
      mismatch = grammarOf(input.grammar).match(text)
    } catch (error) {
      return refused(unusable(name, 'grammar', error))
    }
    if (mismatch !== null) return refused(outsideGrammar(name, mismatch))
  }
  return new Admitted(text, text)
}

function outsideGrammar(name: string, mismatch: Mismatch): string {
  const where = cutUtf8(mismatch.message, maxReasonBytes).text
  return `The input of "${name}" was refused, so it was not run. ${where} Fix that and call it again with the whole text.`
}

// ---- what is compiled once -------------------------------------------------------------------------------------

type Checker = ReturnType<typeof compileSchema>
type GrammarDeclaration = NonNullable<(ToolInput & { form: 'text' })['grammar']>
type CompiledGrammar = ReturnType<typeof compileGrammar>

const checkers = new WeakMap<JsonObject, Checker>()
const grammars = new WeakMap<GrammarDeclaration, CompiledGrammar>()

/** Throws SchemaError. Declarations are never changed once given, so the object itself is the key. */
export function checkerOf(schema: JsonObject): Checker {
  let checker = checkers.get(schema)
  if (checker === undefined) {
    checker = compileSchema(schema)
    checkers.set(schema, checker)
  }
  return checker
}

function grammarOf(grammar: GrammarDeclaration): CompiledGrammar {
  let compiled = grammars.get(grammar)
  if (compiled === undefined) {
    compiled = compileGrammar(grammar.syntax, grammar.definition)
    grammars.set(grammar, compiled)
  }
  return compiled
}

function unusable(name: string, what: 'schema' | 'grammar', error: unknown): string {
  const cause = error instanceof Error ? ` ${cutUtf8(error.message, 500).text}` : ''
  return `The tool "${name}" cannot be called, because the ${what} it was declared with cannot be used.${cause}`
}

function refused(reason: string): Admission {
  return { ok: false, reason }
}
