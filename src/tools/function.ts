// A tool that is a function of this process: its declaration is checked when it is defined, its input is typed by
// its schema, and what it returns becomes parts. Running, deadlines and retries are the engine's; whether it
// may run, and how much of its output is shown, is policy's.

import { InvalidInput, type Tool, type ToolContext, type ToolOutput } from '../engine/ports.ts'
import { TurnwireError } from '../language/errors.ts'
import { type Grammar, type ToolInput, type ToolKind, toolKinds } from '../language/tools.ts'
import { compileGrammar } from '../lib/grammar/index.ts'
import type { Json, JsonObject } from '../lib/json.ts'
import type { SchemaIssue } from '../lib/schema.ts'
import { checkDeclaredSchema } from '../lib/schema-declared.ts'
import {
  type AnySchema,
  describeSchema,
  type InferOutput,
  type Refined,
  type SchemaDescription,
} from '../lib/standard-schema.ts'
import { cutUtf8 } from '../lib/text.ts'
import { toOutput } from './return-value.ts'
import { checkHasKeywords } from './schema-keywords.ts'

const textInput: unique symbol = Symbol('text input')
/** Free text instead of JSON arguments: made by `text()` or `grammar()`. */
export type TextInput = { readonly [textInput]: true; readonly grammar?: Grammar }

/** Input that is any text. */
export function text(): TextInput {
  return { [textInput]: true }
}

/** Input that is a text of this grammar. The definition is compiled here and now, and refused when it is wrong. */
export function grammar(definition: Grammar): TextInput {
  const { syntax, definition: source } = definition
  if (syntax !== 'lark' && syntax !== 'regex')
    throw new TurnwireError(
      'invalid_tool',
      `A grammar's syntax must be "lark" or "regex", not ${shown(syntax)}.`,
    )
  if (typeof source !== 'string' || source === '')
    throw new TurnwireError('invalid_tool', "A grammar's definition must be a text that is not empty.")
  try {
    compileGrammar(syntax, source)
  } catch (error) {
    throw new TurnwireError('invalid_tool', `The grammar cannot be used: ${reasonOf(error)}.`, {
      cause: error,
    })
  }
  return { [textInput]: true, grammar: { syntax, definition: source } }
}

export type InputSchema = AnySchema | TextInput
/** What `run` is given: the schema's output, so that its defaults and transforms have been applied. */
export type InputOf<S> = S extends TextInput ? string : InferOutput<S>

export type ToolDefinition<S extends InputSchema> = {
  /** 1 to 128 letters, digits and `_ - . : /`. */
  name: string
  title?: string
  /** What the model reads to decide when to call it, and how. */
  description: string
  /** A zod or other Standard Schema, a JSON Schema of an object, `text()` or `grammar()`. */
  input: S
  /** The shape of what `run` returns; then that is checked, and kept as data beside the text. */
  output?: AnySchema
  kind?: ToolKind
  /** Changes nothing anywhere. Default false. */
  readOnly?: boolean
  /** May be run again with the same key after a crash. Default: as `readOnly`. */
  idempotent?: boolean
  /** Default: the opposite of `readOnly`. */
  destructive?: boolean
  /** Default 60,000. */
  timeoutMs?: number
  /** Only for a tool that is read-only or idempotent. Default 0. */
  retries?: number
  /** Bytes of text that the model is shown. Default 64 KiB. */
  outputLimit?: number
  /** Default `ask`, also for read-only tools: what reads can leak. */
  trust?: Tool['trust']
  /** Default true. */
  exposed?: boolean
  /**
   * Returns text, any JSON value, parts, `{ parts }` or nothing. A throw is a failure that the model is told of.
   */
  run: (input: InputOf<S>, context: ToolContext) => unknown
}

export function tool<S extends InputSchema>(definition: ToolDefinition<S>): Tool {
  const { name, title, description, run } = checkWords(definition)
  const flags = checkFlags(definition)
  const input = describeInput(definition.input, name)
  const output =
    definition.output === undefined ? undefined : describe(definition.output, name, 'output').declared
  const hasOutput = output !== undefined
  const call = (value: unknown, context: ToolContext): Promise<ToolOutput> | ToolOutput => {
    // The gate has checked the value against the schema that S was described by.
    const given = run(value as InputOf<S>, context)
    return isThenable(given)
      ? Promise.resolve(given).then(settled => toOutput(settled, name, hasOutput))
      : toOutput(given, name, hasOutput)
  }
  const made: Tool = {
    ...flags,
    name,
    description,
    input: input.declared,
    side: 'server',
    run: input.refine === undefined ? call : refined(name, input.refine, call),
  }
  if (title !== undefined) made.title = title
  if (output === undefined) return Object.freeze(made)
  return Object.freeze<Tool>({
    ...made,
    get output() {
      return output.schema
    },
  })
}

type Run = (value: unknown, context: ToolContext) => Promise<ToolOutput> | ToolOutput

/** The schema library's own check: finer than JSON Schema can say, and the one that applies transforms. */
function refined(name: string, refine: NonNullable<SchemaDescription['refine']>, call: Run): Run {
  const proceed = (result: Refined, context: ToolContext) => {
    if ('issues' in result) throw new InvalidInput(refusal(name, result.issues))
    return call(result.value, context)
  }
  return (value, context) => {
    const result = refine(value)
    return result instanceof Promise
      ? result.then(settled => proceed(settled, context))
      : proceed(result, context)
  }
}

function refusal(name: string, issues: readonly SchemaIssue[]): string {
  const lines = issues.map(({ path, message }) => `- ${path === '' ? '(top level)' : path}: ${message}`)
  const { text: list } = cutUtf8(lines.join('\n'), 8 * 1024)
  return `The arguments of "${name}" were refused. Fix this and call it again:\n${list}`
}

// ---- the declaration -----------------------------------------------------------------------------------------

const namePattern = /^[A-Za-z0-9_\-.:/]{1,128}$/

function checkWords<S extends InputSchema>(definition: ToolDefinition<S>): ToolDefinition<S> {
  if (typeof definition !== 'object' || definition === null)
    throw new TurnwireError('invalid_tool', 'tool() takes one object: { name, description, input, run }.')
  const { name, title, description, run } = definition
  if (typeof name !== 'string' || !namePattern.test(name))
    throw new TurnwireError(
      'invalid_tool',
      `A tool's name must be 1 to 128 characters out of letters, digits and _ - . : /, not ${shown(name)}.`,
    )
  if (typeof description !== 'string' || description.trim() === '')
    refuse(name, 'needs a description: it is what the model reads to decide when to call it')
  if (title !== undefined && typeof title !== 'string') refuse(name, 'has a title that is not a text')
  if (typeof run !== 'function') refuse(name, 'needs "run": the function that carries it out')
  for (const member of Object.keys(definition))
    if (!members.has(member))
      refuse(name, `has the unknown member ${shown(member)}; known are: ${[...members].join(', ')}`)
  return definition
}

const members: ReadonlySet<string> = new Set([
  'name',
  'title',
  'description',
  'input',
  'output',
  'kind',
  'readOnly',
  'idempotent',
  'destructive',
  'timeoutMs',
  'retries',
  'outputLimit',
  'trust',
  'exposed',
  'run',
] satisfies (keyof ToolDefinition<InputSchema>)[])

type Flags = Omit<Tool, 'name' | 'title' | 'description' | 'input' | 'output' | 'side' | 'run'>

function checkFlags(definition: ToolDefinition<InputSchema>): Flags {
  const { name, kind = 'other', readOnly = false, trust = 'ask', exposed = true } = definition
  const { idempotent = readOnly, destructive = !readOnly, retries = 0 } = definition
  const { timeoutMs = 60_000, outputLimit = 64 * 1024 } = definition
  if (!toolKinds.includes(kind))
    refuse(name, `has the unknown kind ${shown(kind)}; known are: ${toolKinds.join(', ')}`)
  if (!['trusted', 'ask', 'deny'].includes(trust))
    refuse(name, `has the unknown trust ${shown(trust)}; it is "trusted", "ask" or "deny"`)
  checkBoolean(name, 'readOnly', readOnly)
  checkBoolean(name, 'idempotent', idempotent)
  checkBoolean(name, 'destructive', destructive)
  checkBoolean(name, 'exposed', exposed)
  if (readOnly && destructive) refuse(name, 'cannot be both readOnly and destructive; drop one')
  checkNumber(name, 'timeoutMs', timeoutMs, 1, 2 ** 31 - 1)
  checkNumber(name, 'outputLimit', outputLimit, 256, 2 ** 31 - 1)
  checkNumber(name, 'retries', retries, 0, 100)
  if (retries > 0 && !readOnly && !idempotent)
    refuse(
      name,
      'has "retries", but is neither readOnly nor idempotent: a second run could do its work twice. ' +
        'Declare idempotent: true if it honours context.idempotencyKey, or drop retries',
    )
  return { kind, readOnly, idempotent, destructive, exposed, trust, timeoutMs, retries, outputLimit }
}

function checkBoolean(name: string, member: string, value: unknown): void {
  if (typeof value !== 'boolean') refuse(name, `has "${member}" as ${shown(value)}; it is true or false`)
}

function checkNumber(name: string, member: string, value: number, least: number, most: number): void {
  if (!Number.isSafeInteger(value) || value < least || value > most)
    refuse(name, `has "${member}" as ${shown(value)}; it is a whole number from ${least} to ${most}`)
}

function describeInput(
  input: InputSchema,
  name: string,
): { declared: ToolInput; refine?: NonNullable<SchemaDescription['refine']> } {
  if (isTextInput(input)) {
    const declared: ToolInput =
      input.grammar === undefined ? { form: 'text' } : { form: 'text', grammar: input.grammar }
    return { declared: deepFreeze(declared) }
  }
  const { json, refine, declared } = describe(input, name, 'input')
  if (json['type'] !== undefined && json['type'] !== 'object')
    refuse(
      name,
      `has an input schema of type ${shown(json['type'])}; arguments are an object, so describe an object ` +
        '(for plain text use text() or grammar())',
    )
  return refine === undefined ? { declared } : { declared, refine }
}

type Described = SchemaDescription & { declared: JsonInput }

function describe(schema: unknown, name: string, member: 'input' | 'output'): Described {
  try {
    const { json, refine } = describeSchema(schema)
    if (member === 'input') checkHasKeywords(json)
    checkDeclaredSchema(json)
    const declared = new JsonInput(json)
    return refine === undefined ? { json, declared } : { json, declared, refine }
  } catch (error) {
    return refuse(name, `has an ${member} schema that cannot be used: ${reasonOf(error)}`)
  }
}

/**
 * What was declared is what an approval is bound to, so later changes of the original must not show. It is kept as
 * text, and built when it is first read: a server with thousands of tools reads few of them. All share one accessor,
 * since an object with a getter of its own takes several times as long to make.
 */
class JsonInput {
  readonly form = 'json'
  declare readonly schema: JsonObject
  #kept: string | JsonObject

  constructor(schema: JsonObject) {
    this.#kept = JSON.stringify(schema) ?? ''
    if (!this.#kept.startsWith('{')) throw new TypeError('a schema must be an object')
    Object.defineProperty(this, 'schema', JsonInput.#read)
    Object.freeze(this)
  }

  static readonly #read = {
    enumerable: true,
    get(this: JsonInput): JsonObject {
      // The text is of an object.
      if (typeof this.#kept === 'string') this.#kept = deepFreeze(JSON.parse(this.#kept) as JsonObject)
      return this.#kept
    },
  }
}

function isTextInput(input: unknown): input is TextInput {
  return typeof input === 'object' && input !== null && textInput in input
}

function deepFreeze<T extends Json | ToolInput>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const item of Object.values<Json>(value)) deepFreeze(item)
  }
  return value
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}

function reasonOf(error: unknown): string {
  const words = error instanceof Error ? error.message : String(error)
  return words.replace(/\.$/, '')
}

function shown(value: unknown): string {
  const words = typeof value === 'string' ? JSON.stringify(value) : String(value)
  return words.length > 100 ? `${words.slice(0, 100)}…` : words
}

function refuse(name: string, problem: string): never {
  throw new TurnwireError('invalid_tool', `The tool "${name}" ${problem}.`)
}
