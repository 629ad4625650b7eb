/**
 * Which schemas Gemini takes in `functionDeclarations[].parameters`: the OpenAPI subset by name and value
 * (G-10), its semantics (G-11), and the size of what would be compiled (G-13).
 * Pure functions over one schema, apart from the rest, since down-converters are tested with them.
 */
import { isRecord, type JsonRecord, listOf, stringOf } from '../shape.ts'

export type SchemaComplaint = { rule: 'G-10' | 'G-11' | 'G-13'; message: string }

/** Names as the API documents them; their snake_case spelling is the same field. */
export const SCHEMA_KEYS: readonly string[] = [
  'type',
  'format',
  'title',
  'description',
  'nullable',
  'enum',
  'maxItems',
  'minItems',
  'properties',
  'required',
  'minProperties',
  'maxProperties',
  'minLength',
  'maxLength',
  'pattern',
  'example',
  'anyOf',
  'propertyOrdering',
  'default',
  'items',
  'minimum',
  'maximum',
]
const TYPES = ['TYPE_UNSPECIFIED', 'STRING', 'NUMBER', 'INTEGER', 'BOOLEAN', 'ARRAY', 'OBJECT', 'NULL']
const PROTO = 'type.googleapis.com/google.ai.generativelanguage.v1beta'
/** Not published; past it a schema is certain to be refused, below it the double lets it pass. */
export const MOST_STATES = 10_000

export const camel = (name: string): string =>
  name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

const g10 = (message: string): SchemaComplaint => ({ rule: 'G-10', message })
const g11 = (message: string): SchemaComplaint => ({ rule: 'G-11', message })

/** All complaints about one `parameters` schema, those of the parser first. `at` e.g. `tools[0].function_declarations[0].parameters`. */
export function checkGeminiSchema(
  schema: unknown,
  at = 'tools[0].function_declarations[0].parameters',
): SchemaComplaint[] {
  const parsed = parseProblems(schema, at)
  // The real service parses the whole payload before it looks at meaning.
  if (parsed.length > 0) return parsed
  return [...meaningProblems(schema, `GenerateContentRequest.${at}`), ...sizeProblems(schema)]
}

function parseProblems(node: unknown, at: string): SchemaComplaint[] {
  if (!isRecord(node)) {
    return [g10(`Invalid value at '${at}' (${PROTO}.Schema), ${JSON.stringify(node)}`)]
  }
  return Object.entries(node).flatMap(([name, value]) => parseField(camel(name), name, value, at))
}

function parseField(field: string, name: string, value: unknown, at: string): SchemaComplaint[] {
  if (!SCHEMA_KEYS.includes(field)) {
    return [g10(`Invalid JSON payload received. Unknown name "${name}" at '${at}': Cannot find field.`)]
  }
  if ((field === 'type' || field === 'items') && Array.isArray(value)) {
    return [
      g10(
        `Invalid JSON payload received. Unknown name "${name}" at '${at}': Proto field is not repeating, cannot start list.`,
      ),
    ]
  }
  if (field === 'type' && !TYPES.includes(stringOf(value).toUpperCase())) {
    return [g10(`Invalid value at '${at}.type' (${PROTO}.Type), ${JSON.stringify(value)}`)]
  }
  if (field === 'enum' || field === 'required' || field === 'propertyOrdering') {
    return listOf(value).flatMap((item, index) =>
      typeof item === 'string'
        ? []
        : [g10(`Invalid value at '${at}.${snake(field)}[${index}]' (TYPE_STRING), ${JSON.stringify(item)}`)],
    )
  }
  if (field === 'items') return parseProblems(value, `${at}.items`)
  if (field === 'anyOf') {
    return listOf(value).flatMap((item, index) => parseProblems(item, `${at}.any_of[${index}]`))
  }
  if (field === 'properties' && isRecord(value)) {
    return Object.values(value).flatMap((item, index) =>
      parseProblems(item, `${at}.properties[${index}].value`),
    )
  }
  return []
}

const snake = (name: string): string => name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)

const typeOf = (node: JsonRecord): string => stringOf(node['type']).toUpperCase()

function meaningProblems(node: unknown, at: string): SchemaComplaint[] {
  if (!isRecord(node)) return []
  const type = typeOf(node)
  const found: SchemaComplaint[] = []
  const properties = isRecord(node['properties']) ? node['properties'] : {}
  if (type === 'OBJECT' && Object.keys(properties).length === 0) {
    found.push(g11(`${at}.properties: should be non-empty for OBJECT type`))
  }
  if (type === 'ARRAY' && node['items'] === undefined) found.push(g11(`${at}.items: missing field`))
  if (node['enum'] !== undefined && type !== 'STRING')
    found.push(g11(`${at}.enum: only allowed for STRING type`))
  for (const [index, name] of listOf(node['required']).entries()) {
    if (!Object.hasOwn(properties, stringOf(name))) {
      found.push(g11(`${at}.required[${index}]: property is not defined`))
    }
  }
  const format = node['format']
  if (type === 'STRING' && format !== undefined && format !== 'enum' && format !== 'date-time') {
    found.push(g11(`${at}.format: only 'enum' and 'date-time' are supported for STRING type`))
  }
  for (const [name, child] of Object.entries(properties)) {
    found.push(...meaningProblems(child, `${at}.properties[${name}]`))
  }
  found.push(...meaningProblems(node['items'], `${at}.items`))
  for (const [index, child] of listOf(node['anyOf'] ?? node['any_of']).entries()) {
    found.push(...meaningProblems(child, `${at}.any_of[${index}]`))
  }
  return found
}

/** G-13, for either dialect: bounded arrays, bounded numbers and enums are what makes states. */
export function sizeProblems(schema: unknown): SchemaComplaint[] {
  return states(schema) <= MOST_STATES
    ? []
    : [
        {
          rule: 'G-13',
          message:
            'The specified schema produces a constraint that has too many states for serving. Typical causes of this error are schemas with lots of text (for example, very long property or enum names), schemas with long array length limits (especially when nested), or schemas using complex value matchers (for example, integers or numbers with minimum/maximum bounds or strings with complex formats like date-time).',
        },
      ]
}

function states(node: unknown): number {
  if (!isRecord(node)) return 1
  let total = 1 + listOf(node['enum']).length
  if (typeof node['minimum'] === 'number' && typeof node['maximum'] === 'number') {
    total += Math.min(MOST_STATES, Math.max(0, Math.log2(1 + node['maximum'] - node['minimum']) * 8))
  }
  const properties = isRecord(node['properties']) ? Object.entries(node['properties']) : []
  for (const [name, child] of properties) total += name.length / 8 + states(child)
  for (const child of listOf(node['anyOf'] ?? node['any_of'])) total += states(child)
  const most = node['maxItems'] ?? node['max_items']
  const repeats = typeof most === 'number' || typeof most === 'string' ? Math.max(1, Number(most)) : 1
  if (node['items'] !== undefined) total += repeats * states(node['items'])
  return total
}
