// The arguments of a call as single values, each with its role.
import type { FlowRole } from '../../language/flow.ts'
import { isJsonObject, type Json } from '../../lib/json/index.ts'
import { fieldName, type Labels } from './labels.ts'

export type Argument = {
  /** `attachments[0].file_id` */
  path: string
  /** The argument that it is, or is in. */
  name: string
  /** The field that it stands in: the last name of the path. */
  field: string
  value: string | number | boolean
  role: FlowRole | undefined
  /** The kind of thing that it names. */
  kind: string | undefined
  /** It is what the tool takes if nothing is said. */
  isDefault: boolean
  /** It is empty, and the call has to have it. */
  isEmptied: boolean
}

/** The name under which the input of a tool that takes free text is judged. */
export const wholeInput = 'input'

export function readArguments(input: Json, labels: Labels): Argument[] {
  const found: Argument[] = []
  const isObject = isJsonObject(input)
  const given: [string, Json][] = isObject ? Object.entries(input) : [[wholeInput, input]]
  for (const [name, value] of given) {
    const isDefault = labels.defaults.has(name) && isEqual(labels.defaults.get(name), value)
    const kind = labels.ids.get(name)
    const make = (path: string, field: string, leaf: Argument['value']): void => {
      const isEmptied = leaf === '' && labels.required.has(name)
      found.push({ path, name, field, value: leaf, role: labels.args.get(name), kind, isDefault, isEmptied })
    }
    if (isObject && !labels.isArgument(name)) make(name, name, name)
    walk(value, name, name, make, labels)
    if (isEmpty(value) && labels.required.has(name)) make(name, name, '')
  }
  return found
}

function walk(
  value: Json,
  path: string,
  field: string,
  make: (path: string, field: string, value: Argument['value']) => void,
  labels: Labels,
): void {
  if (value === null || value === undefined) return
  if (Array.isArray(value))
    for (const [at, item] of value.entries()) walk(item, `${path}[${at}]`, field, make, labels)
  else if (typeof value === 'object')
    for (const [key, item] of Object.entries(value)) {
      // A name that the tool does not have is a value that the model chose.
      if (!labels.isField(key)) make(path, field, key)
      walk(item, `${path}.${key}`, key, make, labels)
    }
  else make(path, field, value)
}

/** An empty list or object, or an explicit null. */
function isEmpty(value: Json): boolean {
  return value === null || (typeof value === 'object' && Object.keys(value).length === 0)
}

const vague: ReadonlySet<string> = new Set(['new', 'old', 'value', 'the', 'of', 'to', 'by', 'for', 'in', 'n'])

/** What a short value may be called: words of its name, and its kind. */
export function listNouns({ name, field, kind }: Argument, { nouns }: Labels): readonly string[] {
  const key = `${name} ${field}`
  let known = nouns.get(key)
  if (!known) {
    known = [...new Set([...nounsIn(name), ...nounsIn(field), ...(kind ? nounsIn(kind) : [])])]
    // The fields of an object may be any.
    if (nouns.size < 500) nouns.set(key, known)
  }
  return known
}

/** `file_id` is `file` and `id`. */
function nounsIn(name: string): string[] {
  return name
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(word => word !== '' && !vague.has(word))
    .flatMap(word => (word.endsWith('s') && word.length > 3 ? [word, word.slice(0, -1)] : [word]))
}

export function isEqual(a: Json | undefined, b: Json): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b)
}

/** The fields that hold money. */
export const moneyFields: ReadonlySet<string> = new Set([
  ...['amount', 'total', 'price', 'balance', 'cost', 'fee', 'sum', 'rate'],
])

export function isMoneyField(field: string, argument: string): boolean {
  return field === fieldName(argument) || moneyFields.has(field)
}
