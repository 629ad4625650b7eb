// Keywords of older drafts in their 2020-12 spelling. Each function changes the schema that it is given.

import type { JsonObject } from '../json/index.ts'

/** A list of `items` becomes `prefixItems`, and `additionalItems` its rest. */
export function listItems(schema: JsonObject): void {
  const { items, additionalItems } = schema
  if (!Array.isArray(items)) return
  schema['prefixItems'] = items
  if (additionalItems === undefined) delete schema['items']
  else schema['items'] = additionalItems
}

/** Exclusive bounds that are true or false become numbers, or nothing. */
export function numberBounds(schema: JsonObject): void {
  for (const [exclusive, bound] of [
    ['exclusiveMinimum', 'minimum'],
    ['exclusiveMaximum', 'maximum'],
  ] as const) {
    const isExclusive = schema[exclusive]
    if (typeof isExclusive !== 'boolean') continue
    delete schema[exclusive]
    const limit = schema[bound]
    if (!isExclusive || limit === undefined) continue
    schema[exclusive] = limit
    delete schema[bound]
  }
}
