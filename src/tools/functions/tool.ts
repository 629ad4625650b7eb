// `tool()` makes a tool from a function of this process. Its declaration is checked when it is defined, and its schemas
// give the types of what `run` takes and returns. Deadlines, retries and running it are the engine's work. Permission
// and the size of its output are policy's.

import {
  InvalidInput,
  type PreviewContext,
  type Tool,
  type ToolContext,
  type ToolOutput,
} from '../../engine/ports/index.ts'
import type { ResultPart } from '../../language/content.ts'
import { TurnwireError } from '../../language/errors.ts'
import { type FlowLabels, takeLabels } from '../../language/flow.ts'
import type { Report } from '../../language/report.ts'
import type { Grammar, ToolCaller, ToolInput, ToolKind } from '../../language/tools.ts'
import { isThenable } from '../../lib/async/promises.ts'
import { compileGrammar } from '../../lib/grammar/index.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json/index.ts'
import { checkDeclaredSchema, checkHasKeywords } from '../../lib/schema/declared.ts'
import type { SchemaIssue } from '../../lib/schema/index.ts'
import {
  type AnySchema,
  describeSchema,
  type InferInput,
  type InferOutput,
  type Refined,
  type SchemaDescription,
  type StandardSchema,
} from '../../lib/schema/standard.ts'
import { errorMessage } from '../../lib/text/error-message.ts'
import { cutUtf8, quote } from '../../lib/text/index.ts'
import { type Afterwards, makeAfterwards } from './afterwards.ts'
import type { Detailed, Later } from './later.ts'
import { checkExamples, type Retries } from './retries.ts'
import { toOutput } from './return-value.ts'
import { checkMemberNames, checkToolSettings, readLabels, refuseTool } from './tool-settings.ts'

// ---- types ---------------------------------------------------------------------------------------------------

/** A schema of an object, or `'text'` for any text, or a grammar for the texts that it matches. */
export type InputSchema = AnySchema | 'text' | Grammar
export type OutputSchema = AnySchema | undefined

/** The argument of `run`: the value after the schema's defaults and transforms. */
export type InputOf<S> = S extends 'text' | Grammar ? string : InferOutput<S>

/** `details`: JSON for the application and people only. `sources`: the addresses that the tool read. */
type Shown = {
  readonly parts: readonly ResultPart[]
  readonly sources?: readonly { readonly uri: string }[]
  readonly report?: Report
  readonly details?: unknown
}

/** Returned by `run` to choose what the model reads. `structured` is checked against the output schema. */
export type ExplicitOutput<Value> =
  | (Shown & { readonly structured: Value; readonly failed?: false })
  | (Shown & { readonly structured?: unknown; readonly failed: true })

/** The values that `run` may return. Only a Standard Schema, such as zod's, gives the compiler a type to check. */
export type RunResult<O> = O extends StandardSchema
  ?
      | DeepReadonly<InferInput<O>>
      | ExplicitOutput<DeepReadonly<InferInput<O>>>
      | Detailed<DeepReadonly<InferInput<O>>>
      | Later
      | Error
  : unknown

type DeepReadonly<T> = T extends object ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> } : T

export type ToolDefinition<
  S extends InputSchema = InputSchema,
  O extends OutputSchema = OutputSchema,
  R = RunResult<O>,
> = {
  /** 1 to 128 letters, digits and `_ - . : /`. */
  name: string
  title?: string
  /** The model reads it to decide when and how to call the tool. */
  description: string
  /** A zod or other Standard Schema, a JSON Schema of an object, `'text'`, or `{ syntax, definition }` of a grammar. */
  input: S
  /**
   * True: the vendor's strict mode binds the model to the schema, which is fitted into what the vendor takes; the log says
   * where not. False: never. Default: where it costs nothing.
   */
  strict?: boolean
  /** The schema of what `run` returns. Results are checked against it and kept as data beside the text. */
  output?: O
  kind?: ToolKind
  /** Changes nothing anywhere. Default false. */
  readOnly?: boolean
  /** May run again with the same key after a crash. Default: as `readOnly`. */
  idempotent?: boolean
  /** Default: the opposite of `readOnly`. */
  destructive?: boolean
  /**
   * What its results and arguments are, for agents with flow control: `{ output: 'trusted', args: { to: 'recipient' } }`. Roles
   * can stand in the schema too, as `x-turnwire-role` of a property. Anything that is not said is not trusted.
   */
  flow?: FlowLabels
  /** A message with `during: 'interrupt'` may stop its running calls. Default: as `idempotent`. */
  interruptible?: boolean
  /** Default 60,000. */
  timeoutMs?: number
  /** Only for a tool that is read-only or idempotent: how often, or `{ times, backOffMs, factor, mostMs }`. Default 0. */
  retries?: Retries
  /** Inputs that fit, for the model to learn from. */
  examples?: readonly (S extends 'text' | Grammar ? string : InferInput<S>)[]
  /** Bytes of text that the model is shown. Default 64 KiB. */
  outputLimit?: number
  /** Default `ask`, also for read-only tools, because reading can leak data. */
  trust?: Tool['trust']
  /** Default true. */
  exposed?: boolean
  /** The callers that may use it: `model`, programs that the model writes (`code`), or both. Default both. */
  callers?: readonly ToolCaller[]
  /**
   * By protocol name: the vendor's own definition of this tool, such as `{ anthropic: { type: 'bash_20250124' } }`. Models of
   * that vendor are offered it in that form.
   */
  vendorTyped?: Readonly<Record<string, JsonObject>>
  /**
   * Returns text, any JSON value, parts, `{ parts }` or nothing; for a long output, an async iterable of text or bytes (a
   * generator, a stream), which is written to the store as it comes; `withDetails(value, details)`; or `later({ expires })`.
   * With `output`: a value of that schema, or `{ parts, structured }`. If it throws, the model is told that the tool failed.
   */
  run: (input: InputOf<S>, context: ToolContext) => R | Promise<R>
  /**
   * Reports what the call would do: the files it would touch and how they would change. The person who is asked about
   * the call sees it. It must change nothing.
   */
  preview?: (input: InputOf<S>, context: PreviewContext) => Report | Promise<Report>
} & Afterwards<InputOf<S>, unknown>

/** A tool whose name the compiler knows. */
export type NamedTool<Name extends string> = Tool & { readonly name: Name }

/** A tool whose name and output type the compiler knows. `~output` never has a value. */
export type TypedTool<Output, Name extends string = string> = NamedTool<Name> & {
  readonly '~output'?: Output
}

/** The type of a tool's structured results: `ToolOutputOf<typeof myTool>`. Unknown without a Standard Schema. */
export type ToolOutputOf<T> = T extends TypedTool<infer Output> ? Output : unknown

export { checkMemberNames, refuseTool }

// ---- making and running ----------------------------------------------------------------------------------------

/** `R` is const so that a returned literal such as 'blue' is checked against an enum as 'blue', not as `string`. */
export function tool<
  S extends InputSchema,
  O extends OutputSchema = undefined,
  const R extends RunResult<O> = RunResult<O>,
  Name extends string = string,
>(
  definition: ToolDefinition<S, O, R> & { name: Name },
): TypedTool<O extends StandardSchema ? InferInput<O> : unknown, Name> {
  checkMembers(definition)
  const { name, title, description, run } = definition
  const input = describeInput(definition.input, name, definition.strict)
  const described =
    definition.output === undefined ? undefined : declareSchema(definition.output, name, 'output')
  const output = described?.declared
  const hasOutput = output !== undefined
  const call: RunTool = (value, context) => {
    // The gate has checked the value against the schema of S.
    const returned = run(value as InputOf<S>, context)
    return isThenable(returned)
      ? Promise.resolve(returned).then(settled => toOutput(settled, name, hasOutput))
      : toOutput(returned, name, hasOutput)
  }
  const made: NamedTool<Name> = {
    ...checkToolSettings(definition),
    name,
    description,
    input: input.declared,
    side: 'server',
    run: input.refine === undefined ? call : refined(name, input.refine, call),
  }
  if (title !== undefined) made.title = title
  const flow = readLabels(definition, input.labels)
  if (flow) made.flow = flow
  const warnings = [...input.warnings, ...(described?.warnings ?? [])]
  if (warnings.length > 0) Object.assign(made, { warnings })
  const refuse = (words: string): never => refuseTool(name, words)
  if (definition.examples !== undefined)
    made.examples = deepFreeze(checkExamples(definition.examples, input.declared, refuse))
  if (definition.preview !== undefined) made.preview = previewWith(definition.preview, input.refine)
  if (definition.reconcile !== undefined || definition.undo !== undefined)
    Object.assign(made, makeAfterwards(definition, { name, hasOutput, refine: input.refine }))
  if (definition.vendorTyped !== undefined) made.vendorTyped = checkVendorTyped(name, definition.vendorTyped)
  if (output === undefined) return Object.freeze(made)
  return Object.freeze<NamedTool<Name>>({
    ...made,
    get output() {
      return output.schema
    },
  })
}

type RunTool = (value: unknown, context: ToolContext) => Promise<ToolOutput> | ToolOutput
type Refine = NonNullable<SchemaDescription['refine']>

/** Adds the schema library's own check, which is finer than JSON Schema and applies transforms. */
function refined(name: string, refine: Refine, call: RunTool): RunTool {
  const proceed = (given: unknown, result: Refined, context: ToolContext) => {
    if ('issues' in result) throw new InvalidInput(inputRefusal(name, result.issues))
    const changed = changedInput(given, result.value)
    if (changed !== undefined) context.used?.(changed)
    return call(result.value, context)
  }
  return (value, context) => {
    const result = refine(value)
    return result instanceof Promise
      ? result.then(settled => proceed(value, settled, context))
      : proceed(value, result, context)
  }
}

/** The refined arguments as JSON, if they are not the given ones. Undefined also if JSON cannot say what they are. */
function changedInput(given: unknown, refined: unknown): Json | undefined {
  try {
    const text = JSON.stringify(refined)
    return text === undefined || text === JSON.stringify(given) ? undefined : (JSON.parse(text) as Json)
  } catch {
    return undefined
  }
}

/** The gate has checked the value; the schema library's own check applies its transforms. */
function previewWith<S extends InputSchema>(
  preview: NonNullable<ToolDefinition<S>['preview']>,
  refine: Refine | undefined,
): NonNullable<Tool['preview']> {
  // The values that pass the schema of S are of its type.
  if (refine === undefined) return (value, context) => preview(value as InputOf<S>, context)
  return async (value, context) => {
    const result = await refine(value)
    return 'issues' in result ? {} : preview(result.value as InputOf<S>, context)
  }
}

function inputRefusal(name: string, issues: readonly SchemaIssue[]): string {
  const lines = issues.map(({ path, message }) => `- ${path === '' ? '(top level)' : path}: ${message}`)
  const { text } = cutUtf8(lines.join('\n'), 8 * 1024)
  return `The arguments of "${name}" were refused. Fix this and call it again:\n${text}`
}

// ---- checking the definition -----------------------------------------------------------------------------------

const namePattern = /^[A-Za-z0-9_\-.:/]{1,128}$/

const memberNames: ReadonlySet<string> = new Set([
  ...(['name', 'title', 'description', 'input', 'output', 'kind', 'readOnly', 'idempotent'] as const),
  ...(['destructive', 'timeoutMs', 'retries', 'outputLimit', 'trust', 'exposed', 'strict', 'run'] as const),
  ...(['vendorTyped', 'preview', 'callers', 'examples', 'flow', 'interruptible'] as const),
  ...(['reconcile', 'undo'] as const),
] satisfies (keyof ToolDefinition)[])

/** JavaScript can pass anything, so members are checked in spite of their types. */
function checkMembers(
  definition: Omit<ToolDefinition, 'run' | 'preview' | 'reconcile' | 'undo'> & {
    run: unknown
    preview?: unknown
  },
): void {
  if (typeof definition !== 'object' || definition === null)
    throw new TurnwireError('invalid_tool', 'tool() takes one object: { name, description, input, run }.')
  const { name, title, description, run } = definition
  if (typeof name !== 'string' || !namePattern.test(name))
    throw new TurnwireError(
      'invalid_tool',
      `A tool's name must be 1 to 128 characters out of letters, digits and _ - . : /, not ${quote(name, 100)}.`,
    )
  if (typeof description !== 'string' || description.trim() === '')
    refuseTool(name, 'needs a description: it is what the model reads to decide when to call it')
  if (title !== undefined && typeof title !== 'string') refuseTool(name, 'has a title that is not a text')
  if (definition.preview !== undefined && typeof definition.preview !== 'function')
    refuseTool(name, 'has a "preview" that is not a function')
  checkMemberNames(definition, memberNames)
  if (typeof run !== 'function') refuseTool(name, 'needs "run": the function that carries it out')
}

function checkVendorTyped(name: string, given: unknown): Readonly<Record<string, JsonObject>> {
  if (!isJsonObject(given) || !Object.values(given).every(isJsonObject))
    return refuseTool(
      name,
      `has "vendorTyped" as ${quote(given)}; it is like { anthropic: { type: "bash_20250124" } }`,
    )
  // Every member was found to be an object.
  return deepFreeze(structuredClone(given) as Record<string, JsonObject>)
}

function describeInput(
  input: InputSchema,
  name: string,
  strict: boolean | undefined,
): { declared: ToolInput; refine?: Refine; warnings: readonly string[]; labels?: JsonObject } {
  const isText = input === 'text' || isGrammar(input)
  if (strict !== undefined && (isText || typeof strict !== 'boolean'))
    refuseTool(
      name,
      'has "strict" as something else than true or false, or takes text, which is never strict',
    )
  if (input === 'text') return { declared: Object.freeze({ form: 'text' }), warnings: [] }
  if (isGrammar(input)) {
    const grammar = checkGrammar(input, name)
    return { declared: deepFreeze({ form: 'text', grammar }), warnings: [] }
  }
  const { json, refine, declared, warnings, labels } = declareSchema(input, name, 'input', strict)
  if (json['type'] !== undefined && json['type'] !== 'object')
    refuseTool(
      name,
      `has an input schema of type ${quote(json['type'])}; arguments are an object, so describe an object ` +
        '(for plain text use input: "text" or a grammar)',
    )
  const described = labels ? { declared, warnings, labels } : { declared, warnings }
  return refine === undefined ? described : { ...described, refine }
}

/** Neither name is a keyword of JSON Schema. */
function isGrammar(input: unknown): input is Grammar {
  return typeof input === 'object' && input !== null && 'syntax' in input && 'definition' in input
}

function checkGrammar({ syntax, definition }: Grammar, name: string): Grammar {
  if (syntax !== 'lark' && syntax !== 'regex')
    refuseTool(name, `has a grammar whose syntax is ${quote(syntax)}; it is "lark" or "regex"`)
  if (typeof definition !== 'string' || definition === '')
    refuseTool(name, 'has a grammar whose definition is not a text, or is empty')
  try {
    compileGrammar(syntax, definition)
  } catch (error) {
    refuseTool(name, `has a grammar that cannot be used: ${refusalReason(error)}`, error)
  }
  return { syntax, definition }
}

function declareSchema(
  schema: unknown,
  name: string,
  member: 'input' | 'output',
  strict?: boolean,
): SchemaDescription & { declared: JsonInput; warnings: readonly string[]; labels?: JsonObject } {
  try {
    const given = describeSchema(schema)
    // Vendors refuse words that they do not know.
    const { schema: json, labels } = takeLabels(given.json)
    const described = labels ? { ...given, json } : given
    if (member === 'input') checkHasKeywords(described.json)
    const { warnings } = checkDeclaredSchema(described.json)
    return {
      ...described,
      declared: new JsonInput(described.json, strict),
      ...(labels && { labels }),
      warnings: warnings.map(words => `The ${member} schema: ${words}`),
    }
  } catch (error) {
    return refuseTool(name, `has an ${member} schema that cannot be used: ${refusalReason(error)}`)
  }
}

/**
 * A copy of the schema: an approval is bound to the declaration, so later changes of the original must not show. The
 * copy is kept as text and parsed at its first use, because a server with thousands of tools reads few of them. The
 * accessor is shared, because an object with a getter of its own takes several times as long to make.
 */
class JsonInput {
  readonly form = 'json'
  declare readonly schema: JsonObject
  declare readonly strict?: boolean
  #kept: string | JsonObject

  constructor(schema: JsonObject, strict?: boolean) {
    this.#kept = JSON.stringify(schema) ?? ''
    if (!this.#kept.startsWith('{')) throw new TypeError('a schema must be an object')
    Object.defineProperty(this, 'schema', JsonInput.#read)
    if (strict !== undefined) this.strict = strict
    Object.freeze(this)
  }

  static readonly #read = {
    enumerable: true,
    get(this: JsonInput): JsonObject {
      // The constructor has checked that the text is of an object.
      if (typeof this.#kept === 'string') this.#kept = deepFreeze(JSON.parse(this.#kept) as JsonObject)
      return this.#kept
    },
  }
}

function deepFreeze<T extends Json | ToolInput>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const item of Object.values<Json>(value)) deepFreeze(item)
  }
  return value
}

function refusalReason(error: unknown): string {
  return errorMessage(error).replace(/\.$/, '')
}
