// Puts the values of a call where the API wants them: into the path, the query, headers, cookies or the body. The styles
// are those of OpenAPI. A value can never leave its place: not the path segment, not the header line.
import { InvalidInput } from '../../engine/ports/index.ts'
import { isJsonObject, type Json } from '../../lib/json/index.ts'
import { quote } from '../../lib/text/index.ts'

/** `json`: any value, as JSON text. */
export type ParameterStyle = 'simple' | 'form' | 'spaceDelimited' | 'pipeDelimited' | 'deepObject' | 'json'

export type Placement = {
  /** Of the tool's argument. */
  name: string
  /** Of the parameter at the API. */
  as: string
  in: 'path' | 'query' | 'header' | 'cookie'
  style: ParameterStyle
  explode: boolean
}

/** Fills `{name}` in a path. Each value stays within its segment. */
export function fillPath(
  template: string,
  values: ReadonlyMap<string, Json>,
  places: readonly Placement[],
): string {
  return template.replace(/\{([^{}]+)\}/g, (_, as: string) => {
    const place = places.find(each => each.in === 'path' && each.as === as)
    const value = place && values.get(place.name)
    if (!place || value === undefined)
      throw new InvalidInput(`The argument for {${as}} of the path is missing.`)
    const text = place.style === 'json' ? JSON.stringify(value) : joinValues(value, ',', place.explode)
    // Dots alone would climb in the path, also when they are percent-encoded.
    if (text === '' || text === '.' || text === '..')
      throw new InvalidInput(
        `The argument "${place.name}" cannot be ${JSON.stringify(text)}: it is part of a path.`,
      )
    return encodeURIComponent(text)
  })
}

const noNames: ReadonlySet<string> = new Set()

/**
 * The pairs that a parameter adds to a query, or to the cookies. Names may come from the keys of an object. `taken`: the
 * names that are not this parameter's, such as those of credentials.
 */
export function encodePairs(
  { name, as, style, explode }: Placement,
  value: Json,
  taken: ReadonlySet<string> = noNames,
): [string, string][] {
  if (style === 'json') return [[as, JSON.stringify(value)]]
  if (style === 'deepObject' && isJsonObject(value))
    return Object.entries(value).map(([key, item]) => {
      if (/[[\]]/.test(key)) throw wrongKey(name, key, 'it has brackets, which would make another name of it')
      return [`${as}[${key}]`, valueText(item)]
    })
  if (Array.isArray(value)) {
    if (style === 'form' && explode) return value.map(item => [as, valueText(item)])
    const separator = style === 'spaceDelimited' ? ' ' : style === 'pipeDelimited' ? '|' : ','
    return [[as, value.map(valueText).join(separator)]]
  }
  if (isJsonObject(value) && style === 'form' && explode)
    return Object.entries(value).map(([key, item]) => {
      if (taken.has(key))
        throw wrongKey(name, key, 'another parameter or credential of this call has that name')
      return [key, valueText(item)]
    })
  return [[as, joinValues(value, ',', false)]]
}

function wrongKey(name: string, key: string, why: string): InvalidInput {
  return new InvalidInput(`The argument "${name}" cannot have the key ${quote(key)}: ${why}.`)
}

/** Encodes names and values, so that no character in them ends them early. */
export function cookieHeader(pairs: readonly (readonly [string, string])[]): string {
  return pairs.map(([name, value]) => `${cookieName(name)}=${encodeURIComponent(value)}`).join('; ')
}

/** Characters that the standard allows in a name stay as they are. */
function cookieName(name: string): string {
  return name.toWellFormed().replace(/[^\w!#$&'*+.^`|~-]/gu, encodeURIComponent)
}

export function encodeHeader({ name, style, explode }: Placement, value: Json): string {
  const text = style === 'json' ? JSON.stringify(value) : joinValues(value, ',', explode)
  if (/[\r\n\0]/.test(text))
    throw new InvalidInput(`The argument "${name}" cannot have a line break: it is a header.`)
  return text
}

function joinValues(value: Json, separator: string, explode: boolean): string {
  if (Array.isArray(value)) return value.map(valueText).join(separator)
  if (!isJsonObject(value)) return valueText(value)
  const pairs = Object.entries(value).map(([key, item]) => [key, valueText(item)])
  return pairs.map(pair => pair.join(explode ? '=' : separator)).join(separator)
}

function valueText(value: Json): string {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value)
}
