// Arguments that a client mirrors into headers, for tools whose schema says so with `x-mcp-header` (2026-07-28). Something
// between client and server may have decided by a header, so a header that differs from the body refuses the request.
import { isUtf8 } from 'node:buffer'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json/index.ts'

const annotation = 'x-mcp-header'

/** The fault in the headers of a tools/call; undefined if there is none. */
export function paramHeaderFault(
  schema: JsonObject,
  given: Json | undefined,
  headers: Headers,
): string | undefined {
  const values = isJsonObject(given) ? given : {}
  const { properties } = schema
  if (!isJsonObject(properties)) return undefined
  for (const [name, property] of Object.entries(properties)) {
    if (!isJsonObject(property)) continue
    const value = Object.hasOwn(values, name) ? values[name] : undefined
    const header = property[annotation]
    const fault =
      typeof header === 'string'
        ? valueFault(header, value, headers.get(`mcp-param-${header}`))
        : paramHeaderFault(property, value, headers)
    if (fault) return fault
  }
  return undefined
}

function valueFault(header: string, value: Json | undefined, sent: string | null): string | undefined {
  const name = `Mcp-Param-${header}`
  if (value === undefined || value === null)
    return sent === null ? undefined : `The header ${name} is sent, but its argument is not.`
  if (sent === null) return `The header ${name} is missing.`
  const decoded = decodedHeader(sent)
  if (decoded === undefined) return `The header ${name} is not well-formed.`
  const isSame =
    typeof value === 'number'
      ? Number(decoded) === value
      : decoded === (typeof value === 'boolean' ? String(value) : value)
  return isSame ? undefined : `The header ${name} and its argument differ.`
}

const encoded = /^=\?base64\?(.*)\?=$/s

function decodedHeader(sent: string): string | undefined {
  const base64 = encoded.exec(sent)?.[1]
  if (base64 === undefined) return /^[\x20-\x7e\t]*$/.test(sent) ? sent : undefined
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(base64)) return undefined
  const bytes = Buffer.from(base64, 'base64')
  return isUtf8(bytes) ? bytes.toString('utf8') : undefined
}
