// Checks that a call's arguments are complete, readable and of the declared shape. It runs first on every call, so a
// valid call costs one scan, one parse and one compiled check; only a check that costs much is done elsewhere, and then
// the verdict is a promise. A refusal is worded so that a model can act on it. Whether
// the call may run is decided elsewhere (authorise.ts).

import type { Admission, Gate } from '../engine/ports/index.ts'
import type { ToolDeclaration, ToolInput } from '../language/tools.ts'
import { type Checked, checkGrammar, type SchemaChecker, schemaChecker } from '../lib/checks/index.ts'
import type { Mismatch } from '../lib/grammar/index.ts'
import { hashJson, sha256 } from '../lib/json/hash.ts'
import { isJsonObject, type Json, JsonError, type JsonObject, parseJson } from '../lib/json/index.ts'
import type { SchemaIssue } from '../lib/schema/index.ts'
import { cutUtf8, utf8Length } from '../lib/text/index.ts'

export type ArgumentSettings = { maxBytes: number; maxDepth: number; compiled: CompiledSchemas }

type GateCall = Parameters<Gate['admit']>[0]

type Verdict = Admission | Promise<Admission>

/** `owner`: whose call it is, so that costly checks of one owner wait for each other and not for others'. */
export function admitCall(
  call: GateCall,
  tool: ToolDeclaration,
  settings: ArgumentSettings,
  owner: string,
): Verdict {
  if (call.cut)
    return inadmissible(
      `The arguments of "${call.name}" were cut off before they were complete, so it was not run. ` +
        'Call it again with the whole arguments; if they were very long, send less at a time.',
    )
  if (call.form !== tool.input.form) return inadmissible(wrongForm(call.name, tool.input))
  return tool.input.form === 'json'
    ? admitJson(call, tool.input.schema, settings, owner)
    : admitText(call, tool.input, settings, owner)
}

/** A class, so that the hash is computed on demand: most hashes are never read. It is taken from the text, not the input. */
class AdmittedCall {
  readonly ok = true
  readonly input: Json
  readonly #text: string
  #hash: string | undefined

  constructor(input: Json, text: string) {
    this.input = input
    this.#text = text
  }

  get argsHash(): string {
    // JSON arguments are objects, so a string is free text.
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

function admitJson(call: GateCall, schema: JsonObject, settings: ArgumentSettings, owner: string): Verdict {
  // For a call without arguments some models write no text at all.
  const text = call.text.trim() === '' && describesObject(schema) ? '{}' : call.text
  let input: Json
  try {
    input = parseJson(text, settings)
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    return inadmissible(notParsed(call.name, error))
  }
  if (!isJsonObject(input)) return inadmissible(notAnObject(call.name, input))
  const admit = (checked: Checked<SchemaIssue[]>): Admission => {
    if (checked === null) return new AdmittedCall(input, text)
    return inadmissible(
      'refused' in checked ? unchecked(call.name, 'schema', checked.refused) : notValid(call.name, checked),
    )
  }
  const fail = (error: unknown): Admission => inadmissible(unusable(call.name, 'schema', error))
  try {
    const checked = settings.compiled.checker(schema).check(input, text, owner)
    return checked instanceof Promise ? checked.then(admit).catch(fail) : admit(checked)
  } catch (error) {
    return fail(error)
  }
}

function describesObject({ type }: JsonObject): boolean {
  return type === undefined || type === 'object' || (Array.isArray(type) && type.includes('object'))
}

function notParsed(name: string, error: JsonError): string {
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

function notValid(name: string, issues: readonly SchemaIssue[]): string {
  return `The arguments of "${name}" do not fit its schema, so it was not run. Fix this and call it again:\n${describeIssues(issues)}`
}

// ---- free text -----------------------------------------------------------------------------------------------

function admitText(
  call: GateCall,
  input: ToolInput & { form: 'text' },
  { maxBytes }: ArgumentSettings,
  owner: string,
): Verdict {
  const { text, name } = call
  if (text.length * 3 > maxBytes && utf8Length(text) > maxBytes)
    return inadmissible(
      `The input of "${name}" is larger than ${maxBytes} bytes, so it was not run. Send less at a time.`,
    )
  // All lone surrogates become the same character in UTF-8. Two texts would share a hash, and so an approval.
  if (!text.isWellFormed())
    return inadmissible(
      `The input of "${name}" holds a broken character (half of a surrogate pair), so it was not run.`,
    )
  if (input.grammar === undefined) return new AdmittedCall(text, text)
  const admit = (checked: Checked<Mismatch>): Admission => {
    if (checked === null) return new AdmittedCall(text, text)
    return inadmissible(
      'refused' in checked ? unchecked(name, 'grammar', checked.refused) : outsideGrammar(name, checked),
    )
  }
  const fail = (error: unknown): Admission => inadmissible(unusable(name, 'grammar', error))
  try {
    const checked = checkGrammar(input.grammar.syntax, input.grammar.definition, text, owner)
    return checked instanceof Promise ? checked.then(admit).catch(fail) : admit(checked)
  } catch (error) {
    return fail(error)
  }
}

function outsideGrammar(name: string, mismatch: Mismatch): string {
  const where = cutUtf8(mismatch.message, maxReasonBytes).text
  return `The input of "${name}" was refused, so it was not run. ${where} Fix that and call it again with the whole text.`
}

// ---- compiled schemas ----------------------------------------------------------------------------------------

/**
 * The compiled schemas of one gate. The keys are weak: a declaration never changes, and a client's tool is forgotten
 * together with its session.
 */
export class CompiledSchemas {
  readonly #checkers = new WeakMap<JsonObject, SchemaChecker>()

  /** Throws SchemaError. */
  checker(schema: JsonObject): SchemaChecker {
    const known = this.#checkers.get(schema)
    if (known) return known
    const made = schemaChecker(schema)
    this.#checkers.set(schema, made)
    return made
  }
}

/** `why` completes a sentence of pool.ts. */
function unchecked(name: string, what: 'schema' | 'grammar', why: string): string {
  return (
    `The arguments of "${name}" were not accepted, so it was not run: checking them against the tool's ${what} ${why}. ` +
    'Call it again with shorter or simpler arguments.'
  )
}

function unusable(name: string, what: 'schema' | 'grammar', error: unknown): string {
  const cause = error instanceof Error ? ` ${cutUtf8(error.message, 500).text}` : ''
  return `The tool "${name}" cannot be called, because the ${what} it was declared with cannot be used.${cause}`
}

function inadmissible(reason: string): Admission {
  return { ok: false, reason }
}
