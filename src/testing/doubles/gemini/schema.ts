// Which schemas Gemini accepts in `functionDeclarations[].parameters`: the OpenAPI subset by name and value, its
// semantics, and the size of what would be compiled.
// Pure functions over one schema, apart from the rest of the request, since schema converters are tested with them.
import * as says from '../../../apis/gemini/wordings.ts'
import type { Rejection, Rejections } from '../script.ts'
import { asList, asRecord, asString, isRecord, wordList } from '../shape.ts'
import { geminiError, invalidValue } from './refusals.ts'

/** Names as the API documents them. Their snake_case spelling is the same field. */
const SCHEMA_KEYS = wordList(`
  type format title description nullable enum maxItems minItems properties required minProperties maxProperties
  minLength maxLength pattern example anyOf propertyOrdering default items minimum maximum`)
const SCHEMA_TYPES = wordList('TYPE_UNSPECIFIED STRING NUMBER INTEGER BOOLEAN ARRAY OBJECT NULL')
/** The real limit is not published. A schema above this one is certain to be refused; below it the double accepts. */
const MOST_STATES = 10_000

/** Everything wrong with one `parameters` schema, the parser's problems first. */
export function checkGeminiSchema(
  schema: unknown,
  at = 'tools[0].function_declarations[0].parameters',
): Rejection[] {
  const parsed = [...parseProblems(schema, at)]
  // The real service parses the whole payload before it looks at meaning.
  if (parsed.length > 0) return parsed
  return [...meaningProblems(schema, `GenerateContentRequest.${at}`), ...sizeProblems(schema)]
}

function* parseProblems(node: unknown, path: string): Rejections {
  if (!isRecord(node)) return yield invalidValue('G-10', path, `${says.protoTypes}.Schema`, node)
  for (const [name, value] of Object.entries(node)) yield* parseField(name, value, path)
}

function* parseField(name: string, value: unknown, path: string): Rejections {
  const key = says.camelCase(name)
  if (!SCHEMA_KEYS.includes(key)) return yield geminiError('G-10', says.unknownName(name, path))
  if ((key === 'type' || key === 'items') && Array.isArray(value)) {
    const text = `Invalid JSON payload received. Unknown name "${name}" at '${path}': Proto field is not repeating, cannot start list.`
    return yield geminiError('G-10', text)
  }
  switch (key) {
    case 'type':
      if (!SCHEMA_TYPES.includes(asString(value).toUpperCase()))
        yield invalidValue('G-10', `${path}.type`, `${says.protoTypes}.Type`, value)
      return
    case 'enum':
    case 'required':
    case 'propertyOrdering':
      for (const [index, item] of asList(value).entries()) {
        if (typeof item === 'string') continue
        yield invalidValue('G-10', `${path}.${snakeCase(key)}[${index}]`, 'TYPE_STRING', item)
      }
      return
    case 'items':
      return yield* parseProblems(value, `${path}.items`)
    case 'anyOf':
      for (const [index, item] of asList(value).entries()) {
        yield* parseProblems(item, `${path}.any_of[${index}]`)
      }
      return
    case 'properties':
      for (const [index, item] of Object.values(asRecord(value)).entries()) {
        yield* parseProblems(item, `${path}.properties[${index}].value`)
      }
  }
}

const snakeCase = (name: string): string => name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)

function* meaningProblems(node: unknown, path: string): Rejections {
  if (!isRecord(node)) return
  const { items, format, enum: values } = node
  const type = asString(node['type']).toUpperCase()
  const properties = asRecord(node['properties'])
  const problem = (text: string): Rejection => geminiError('G-11', `${path}.${text}`)
  if (type === 'OBJECT' && Object.keys(properties).length === 0) {
    yield problem('properties: should be non-empty for OBJECT type')
  }
  if (type === 'ARRAY' && items === undefined) yield problem('items: missing field')
  if (values !== undefined && type !== 'STRING') yield problem('enum: only allowed for STRING type')
  for (const [index, name] of asList(node['required']).entries()) {
    if (!Object.hasOwn(properties, asString(name)))
      yield problem(`required[${index}]: property is not defined`)
  }
  if (type === 'STRING' && format !== undefined && format !== 'enum' && format !== 'date-time') {
    yield problem("format: only 'enum' and 'date-time' are supported for STRING type")
  }
  for (const [name, child] of Object.entries(properties)) {
    yield* meaningProblems(child, `${path}.properties[${name}]`)
  }
  yield* meaningProblems(items, `${path}.items`)
  for (const [index, child] of asList(node['anyOf'] ?? node['any_of']).entries()) {
    yield* meaningProblems(child, `${path}.any_of[${index}]`)
  }
}

/** For either dialect: bounded arrays, bounded numbers and enums make states. */
export function* sizeProblems(schema: unknown): Rejections {
  if (countStates(schema) <= MOST_STATES) return
  const text =
    'The specified schema produces a constraint that has too many states for serving. Typical causes of this error are schemas with lots of text (for example, very long property or enum names), schemas with long array length limits (especially when nested), or schemas using complex value matchers (for example, integers or numbers with minimum/maximum bounds or strings with complex formats like date-time).'
  yield geminiError('G-13', text)
}

function countStates(node: unknown): number {
  if (!isRecord(node)) return 1
  const { minimum, maximum, items } = node
  let total = 1 + asList(node['enum']).length
  if (typeof minimum === 'number' && typeof maximum === 'number') {
    total += Math.min(MOST_STATES, Math.max(0, Math.log2(1 + maximum - minimum) * 8))
  }
  for (const [name, child] of Object.entries(asRecord(node['properties']))) {
    total += name.length / 8 + countStates(child)
  }
  for (const child of asList(node['anyOf'] ?? node['any_of'])) total += countStates(child)
  const most = node['maxItems'] ?? node['max_items']
  const repeats = typeof most === 'number' || typeof most === 'string' ? Math.max(1, Number(most)) : 1
  return items === undefined ? total : total + repeats * countStates(items)
}
