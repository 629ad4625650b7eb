/**
 * What a Responses server remembers between requests: stored responses, the items it has issued, and the
 * seal by which it knows its own encrypted reasoning again. Facts only; the rules that read them are in
 * `responses-input.ts`, and the endpoints that show them in `responses.ts`.
 */
import { createHmac, randomUUID } from 'node:crypto'
import { isObject, type Json } from '../openai/refusals.ts'
import type { Frame } from '../script.ts'

export type StoredResponse = {
  /** The response in its final state. */
  response: Json
  input: Json[]
  previous: string | null
  background: boolean
  frames: Frame[]
  /** How often a background response was asked for since its creation: it runs, then it is done. */
  polls: number
  cancelled: boolean
}

export type IssuedItem = {
  item: Json
  stored: boolean
  response: string
  position: number
  /** The reasoning item that this one needs before it, and whether it stood directly before. */
  reasoning: string | null
  adjacent: boolean
}

export type ResponsesMemory = {
  answered: number
  /** Keeps the ids of two doubles apart, so that a history may span both. */
  salt: string
  responses: Map<string, StoredResponse>
  issued: Map<string, IssuedItem>
  /** Tokens that a script wrote itself, with the item they belong to. */
  scriptedTokens: Map<string, string>
  /** Ids and tokens of unknown origin count as genuine: for bodies that a real API has answered. */
  trustForeign: boolean
}

export function createResponsesMemory({ trustForeign = false } = {}): ResponsesMemory {
  return {
    answered: 0,
    salt: randomUUID(),
    responses: new Map(),
    issued: new Map(),
    scriptedTokens: new Map(),
    trustForeign,
  }
}

/** Records the items of one response. With `stored` false they count as issued but cannot be looked up. */
export function rememberItems(
  memory: ResponsesMemory,
  response: string,
  output: Json[],
  stored: boolean,
): void {
  let reasoning: string | null = null
  let adjacent = false
  for (const [position, item] of output.entries()) {
    const id = item['id']
    const isReasoning = item['type'] === 'reasoning'
    if (typeof id === 'string') {
      const needs = isReasoning ? null : reasoning
      memory.issued.set(id, { item, stored, response, position, reasoning: needs, adjacent })
    }
    if (isReasoning && typeof id === 'string') reasoning = id
    adjacent = isReasoning
  }
}

export function forgetResponse(memory: ResponsesMemory, id: string): void {
  memory.responses.delete(id)
  for (const issued of memory.issued.values()) if (issued.response === id) issued.stored = false
}

/** Everything said up to and including a stored response, oldest first. */
export function chainItems(memory: ResponsesMemory, id: unknown): Json[] {
  const links: StoredResponse[] = []
  let next = typeof id === 'string' ? memory.responses.get(id) : undefined
  while (next !== undefined) {
    links.push(next)
    next = next.previous === null ? undefined : memory.responses.get(next.previous)
  }
  return links.reverse().flatMap(({ input, response }) => [...input, ...outputOf(response)])
}

export function outputOf(response: Json): Json[] {
  return Array.isArray(response['output']) ? response['output'].filter(isObject) : []
}

const TOKEN_PREFIX = 'gAAAAAB'
const MAC_BYTES = 16

type Sealed = { item: string; organisation: string | null }

/** Encrypted reasoning as far as a caller can see: opaque text, bound to one item and one organisation. */
export function sealReasoning(item: string, organisation: string | null): string {
  const payload = Buffer.from(JSON.stringify({ item, organisation }), 'utf8')
  return TOKEN_PREFIX + Buffer.concat([macOf(payload), payload]).toString('base64url')
}

/** Null when this token was not made by `sealReasoning`, or was changed or cut since. */
export function openReasoning(token: string): Sealed | null {
  if (!token.startsWith(TOKEN_PREFIX)) return null
  const bytes = Buffer.from(token.slice(TOKEN_PREFIX.length), 'base64url')
  const payload = bytes.subarray(MAC_BYTES)
  if (bytes.length <= MAC_BYTES || !macOf(payload).equals(bytes.subarray(0, MAC_BYTES))) return null
  const opened: unknown = JSON.parse(payload.toString('utf8'))
  if (!isObject(opened) || typeof opened['item'] !== 'string') return null
  const organisation = opened['organisation']
  return { item: opened['item'], organisation: typeof organisation === 'string' ? organisation : null }
}

function macOf(payload: Uint8Array): Buffer {
  return createHmac('sha256', 'turnwire-testing-reasoning').update(payload).digest().subarray(0, MAC_BYTES)
}
