// A JSON Schema none of whose words is a keyword allows everything: `{ city: 'string' }` was meant as properties.
import type { JsonObject } from '../lib/json.ts'
import { SchemaError } from '../lib/schema.ts'

const keywords: ReadonlySet<string> = new Set([
  ...['type', 'properties', 'required', 'additionalProperties', 'patternProperties', 'propertyNames'],
  ...['minProperties', 'maxProperties', 'unevaluatedProperties', 'dependentRequired', 'dependentSchemas'],
  ...['anyOf', 'oneOf', 'allOf', 'not', 'if', 'then', 'else', 'enum', 'const', 'definitions', 'dependencies'],
  ...['title', 'description', 'default', 'examples', 'deprecated'],
])

/** Throws SchemaError. An empty schema is meant as it is written. */
export function checkHasKeywords(schema: JsonObject): void {
  for (const word in schema) if (word.startsWith('$') || keywords.has(word)) return
  const words = Object.keys(schema)
  if (words.length === 0) return
  throw new SchemaError(
    '',
    `It has no keyword of JSON Schema, only ${words.slice(0, 3).join(', ')}. Write { type: 'object', properties: { … } }`,
  )
}
