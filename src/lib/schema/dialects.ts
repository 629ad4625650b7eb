// The dialects of JSON Schema that are read, by `$schema`.

import type { JsonObject } from '../json/index.ts'
import { quote } from '../text/index.ts'
import { SchemaError } from './keywords.ts'

/** Draft-04 is compiled as draft-07, after it was rewritten (rewrite.ts). */
export type Dialect = '2020-12' | '2019-09' | 'draft-07' | 'draft-06' | 'draft-04'

export function findDialect(schema: JsonObject): Dialect {
  const declared = schema['$schema']
  if (declared === undefined) return '2020-12'
  if (typeof declared !== 'string') throw new SchemaError('/$schema', '$schema must be a string.')
  const found = /^https?:\/\/json-schema\.org\/(?:draft\/(2020-12|2019-09)|(draft-0[467]))\/schema#?$/.exec(
    declared,
  )
  const dialect = found?.[1] ?? found?.[2]
  if (dialect === undefined) {
    throw new SchemaError(
      '/$schema',
      `The dialect ${quote(declared)} is not supported. Use JSON Schema 2020-12, 2019-09, draft-07, draft-06 or draft-04.`,
    )
  }
  return dialect as Dialect // the expression above matches only the five names
}

/** Before 2019-09, `$ref` hides what stands beside it, `$id` included. */
export function isBefore2019(dialect: Dialect): boolean {
  return dialect.startsWith('draft-')
}
