// Arguments for one call, from a clause of the message and the tool's declaration. Three passes over the parameters:
// values that stand beside a parameter's name, then values of its kind, then, if it is required, any value at all.
import type { ToolDeclaration } from '../../language/tools.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json/index.ts'
import { findTarget } from '../../lib/schema/pointers.ts'
import { isTelling, type Value, type ValueKind, valuesIn, wordStems } from './words.ts'

type Source = {
  clause: string
  /** The values that no parameter has taken. */
  values: Value[]
  taken: Value[]
  known: ReadonlySet<string>
  root: JsonObject
}
type Parameter = { name: string; schema: JsonObject; required: boolean }
type Pass = (parameter: Parameter, source: Source, depth: number) => Json | undefined

const DEEPEST = 6

/** The arguments that a clause gives by itself; nothing is made up. */
export function givenArguments(tool: ToolDeclaration, clause: string): JsonObject {
  const source = makeSource(tool, clause)
  return objectFrom(source.root, source, [besideName, ofKind], 0)
}

/** The text of a call. `given` wins over what the clause says. */
export function callText(tool: ToolDeclaration, clause: string, given: JsonObject): string {
  const source = makeSource(tool, clause)
  if (tool.input.form === 'json')
    return JSON.stringify({ ...objectFrom(source.root, source, [besideName, ofKind, anyValue], 0), ...given })
  return source.values.find(({ kind }) => kind === 'quoted')?.text ?? (remainingText(source) || clause)
}

function makeSource({ name, title, input }: ToolDeclaration, clause: string): Source {
  const root = input.form === 'json' ? input.schema : {}
  const names = listParameters(root, root).map(each => each.name)
  const known = new Set(wordStems([name, title ?? '', ...names].join(' ')))
  return { clause, values: valuesIn(clause, known), taken: [], known, root }
}

// ---- the schema ------------------------------------------------------------------------------------------

/** Follows a local reference; of alternatives it takes the first that is not null. */
function flat(schema: Json | undefined, root: JsonObject, hops = 0): JsonObject {
  if (!isJsonObject(schema) || hops > DEEPEST) return {}
  const { $ref: ref, anyOf, oneOf, ...own } = schema
  const either = [anyOf, oneOf].flatMap(list => (Array.isArray(list) ? list : []))
  const target =
    typeof ref === 'string'
      ? findTarget(root, ref)
      : either.find(each => isJsonObject(each) && each['type'] !== 'null')
  if (Array.isArray(own['type'])) own['type'] = own['type'].find(each => each !== 'null') ?? 'null'
  return { type: 'string', ...flat(target, root, hops + 1), ...own }
}

export function listParameters(schema: JsonObject, root: JsonObject): Parameter[] {
  const { properties, required } = flat(schema, root)
  return Object.entries(isJsonObject(properties) ? properties : {}).map(([name, given]) => ({
    name,
    schema: flat(given, root),
    required: Array.isArray(required) && required.includes(name),
  }))
}

function objectFrom(schema: JsonObject, source: Source, passes: readonly Pass[], depth: number): JsonObject {
  const parameters = depth > DEEPEST ? [] : listParameters(schema, source.root)
  const values = new Map<string, Json | undefined>()
  for (const pass of passes)
    for (const parameter of parameters.toSorted((a, b) => Number(b.required) - Number(a.required)))
      values.set(parameter.name, values.get(parameter.name) ?? pass(parameter, source, depth))
  const found = parameters.map(({ name }) => [name, values.get(name)] as const)
  return Object.fromEntries(found.filter((pair): pair is [string, Json] => pair[1] !== undefined))
}

// ---- the passes ------------------------------------------------------------------------------------------

/** "limit 5", "5 results", `subject "Hello"`; an option of an enum; a switch that the clause names. */
const besideName: Pass = ({ name, schema }, source) => {
  if (Array.isArray(schema['enum'])) return schema['enum'].find(option => isSaid(option, source))
  if (schema['type'] === 'boolean')
    return isSaid(name, source) ? !/\b(?:not?|without)\b/iu.test(source.clause) : undefined
  const kinds = valueKinds(name, schema)
  const stems = wordStems(name)
  return takeFirst(source, ({ kind, start, end }) => {
    const before = /[\p{L}\d]+[\s:=]*(?:\b(?:is|of|as|at|to)\s+)?$/u.exec(
      source.clause.slice(0, start).slice(-60),
    )
    const after = kind === 'number' ? /^\s*\p{L}+/u.exec(source.clause.slice(end)) : null
    return (
      kinds.includes(kind) &&
      wordStems([before?.[0], after?.[0]].join(' ')).some(stem => stems.includes(stem))
    )
  })
}

/** A value of the parameter's kind. An optional parameter takes neither quoted text nor a number in this way. */
const ofKind: Pass = ({ name, schema, required }, source) => {
  if (schema['type'] === 'array') return listFrom(name, flat(schema['items'], source.root), source)
  const kinds = schema['enum'] === undefined ? valueKinds(name, schema) : []
  const isFree = kinds[0] === 'quoted' || kinds[0] === 'number'
  for (const kind of required ? kinds : kinds.filter(each => !isFree && each !== 'quoted')) {
    const value = takeFirst(source, each => each.kind === kind)
    if (value !== undefined) return value
  }
  return undefined
}

function listFrom(name: string, schema: JsonObject, source: Source): Json[] | undefined {
  const list = Array.isArray(schema['enum']) ? schema['enum'].filter(option => isSaid(option, source)) : []
  const next = (): Json | undefined => ofKind({ name, schema, required: true }, source, 0)
  for (let value = next(); value !== undefined; value = next()) list.push(value)
  return list.length > 0 ? list : undefined
}

/** A value that the schema names, else the rest of the clause. */
const anyValue: Pass = ({ name, schema, required }, source, depth) => {
  if (!required) return undefined
  const { type, const: only, default: usual, enum: options, minimum, minLength, items } = schema
  const named = only ?? usual ?? (Array.isArray(options) ? options[0] : undefined)
  if (named !== undefined) return named
  if (type === 'object') return objectFrom(schema, source, [besideName, ofKind, anyValue], depth + 1)
  if (type === 'array') {
    const item = { name, schema: flat(items, source.root), required }
    return depth > DEEPEST ? [] : [anyValue(item, source, depth + 1) ?? null]
  }
  if (type === 'boolean' || type === 'null') return type === 'null' ? null : false
  if (type !== 'string') return minimum ?? 1
  return remainingText(source) || (minLength ? source.clause : '')
}

// ---- what a parameter asks for ---------------------------------------------------------------------------

/** By the format or a word of the name, the first row that fits. */
const PARAMETER_KINDS: readonly [RegExp, ValueKind[]][] = [
  [/\b(?:e?mails?|recipients?|attendees?|cc|bcc)\b/u, ['email']],
  [
    /\b(?:paths?|files?|filename|folder|directory|source|destination|ur[il]|link|page)\b/u,
    ['path', 'quoted'],
  ],
  [/\b(?:expression|formula)\b/u, ['sum']],
  [/\b(?:to|from)\b/u, ['email', 'path', 'name']],
  [/\b(?:city|location|place|country|where|person|who|customer|user)\b/u, ['name', 'quoted']],
  [
    /\b(?:text|body|content|message|query|question|note|title|subject|topic|prompt|description)\b/u,
    ['quoted'],
  ],
]

export function valueKinds(name: string, { type, format }: JsonObject): ValueKind[] {
  if (type === 'integer' || type === 'number') return ['number']
  if (type !== 'string') return []
  const words = name.replace(/(?<=\p{Ll})(?=\p{Lu})|_/gu, ' ').toLowerCase()
  const hints = typeof format === 'string' ? `${format} ${words}` : words
  return PARAMETER_KINDS.find(([pattern]) => pattern.test(hints))?.[1] ?? ['quoted', 'name']
}

// ---- what a clause holds ---------------------------------------------------------------------------------

function takeFirst(source: Source, fits: (value: Value) => boolean): Json | undefined {
  const at = source.values.findIndex(fits)
  const [value] = at < 0 ? [] : source.values.splice(at, 1)
  if (value === undefined) return undefined
  source.taken.push(value)
  return value.kind === 'number' ? Number(value.text) : value.text
}

function isSaid(text: Json, { clause }: Source): boolean {
  const wordsIn = (each: string): string[] => each.toLowerCase().split(/[^\p{L}\d.-]+/u)
  return typeof text !== 'object' && wordsIn(String(text)).every(word => wordsIn(clause).includes(word))
}

/** The text after "that", "saying" or a colon; else the clause without taken values and the words of the tool before it. */
function remainingText({ clause, taken, known }: Source): string {
  const told = /(?:\b(?:that|saying)|:)\s+(\S.*)$/su.exec(clause)?.[1]
  if (told !== undefined) return told.trim()
  let rest = clause.replace(/,?\s+please$/iu, '')
  for (const { start, end } of taken.toSorted((a, b) => b.start - a.start))
    rest = rest.slice(0, start).replace(/\b(?:to|in|at|for|from|with|of)\s+$/iu, '') + rest.slice(end)
  const words = rest.split(/\s+/u)
  const first = words.findIndex(word => isTelling(word, known))
  return first < 0 ? '' : words.slice(first).join(' ').trim()
}
