// How two definitions of one tool differ, in words for the person who must accept the new one.
import type { ToolDeclaration } from '../../language/tools.ts'
import { isJsonObject, type Json } from '../../lib/json/index.ts'
import { printable } from '../../lib/text/index.ts'
import { ownDescription } from './declare.ts'

const longestText = 120

export function definitionDifference(before: ToolDeclaration, after: ToolDeclaration): string {
  const parts = [
    ...textDifference('title', before.title ?? '', after.title ?? ''),
    ...textDifference('description', ownDescription(before), ownDescription(after)),
    ...propertyDifference(inputSchema(before), inputSchema(after)),
    ...(same(before.output, after.output) ? [] : ['its results have another shape']),
  ]
  return `Its definition has changed: ${parts.join('; ') || 'its claims about itself'}.`
}

function textDifference(field: string, before: string, after: string): string[] {
  if (before === after) return []
  // The part that both begin with is left out, so that the change itself is shown.
  let from = 0
  while (from < before.length && before[from] === after[from]) from += 1
  const start = Math.max(0, from - 20)
  const shown = (text: string): string =>
    JSON.stringify(`${start > 0 ? '…' : ''}${printable(text.slice(start), longestText)}`)
  return [`${field} was ${shown(before)}, is ${shown(after)}`]
}

function inputSchema({ input }: ToolDeclaration): Json {
  return input.form === 'json' ? input.schema : {}
}

function propertyDifference(before: Json, after: Json): string[] {
  if (same(before, after)) return []
  const [old, now] = [schemaProperties(before), schemaProperties(after)]
  const named = (words: string, names: readonly string[]): string[] =>
    names.length === 0 ? [] : [`${words} ${names.map(name => printable(name, 40)).join(', ')}`]
  const found = [
    ...named(
      'new argument',
      [...now.keys()].filter(name => !old.has(name)),
    ),
    ...named(
      'no more argument',
      [...old.keys()].filter(name => !now.has(name)),
    ),
    ...named(
      'changed argument',
      [...now.keys()].filter(name => old.has(name) && !same(old.get(name), now.get(name))),
    ),
  ]
  return found.length > 0 ? found : ['its arguments have other rules']
}

function schemaProperties(schema: Json): Map<string, Json> {
  const properties = isJsonObject(schema) ? schema['properties'] : undefined
  return new Map(isJsonObject(properties) ? Object.entries(properties) : [])
}

function same(a: Json | undefined, b: Json | undefined): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
