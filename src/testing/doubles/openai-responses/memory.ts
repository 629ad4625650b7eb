// The memory of a Responses server: stored responses, the items it has issued, and the tokens of its
// own encrypted reasoning. Facts only. `history.ts` has the rules that read them.
import { createHmac, randomUUID } from 'node:crypto'
import type { MemoryOptions } from '../double.ts'
import type { Frame } from '../script.ts'
import { asRecords, isRecord, type JsonRecord, shownText } from '../shape.ts'

export type StoredResponse = {
  /** The response in its final state. */
  response: JsonRecord
  input: JsonRecord[]
  previous: string | null
  background: boolean
  frames: Frame[]
  /** How often a background response was retrieved: the first time it runs, the second time it is done. */
  polls: number
  cancelled: boolean
}

type IssuedItem = {
  item: JsonRecord
  stored: boolean
  response: string
  position: number
  /** The reasoning item that must precede this one, and whether it stood directly before. */
  reasoning: string | null
  adjacent: boolean
}

export type ResponsesMemory = {
  answered: number
  /** Makes the ids of two doubles differ, so that a history may span both. */
  salt: string
  responses: Map<string, StoredResponse>
  issued: Map<string, IssuedItem>
  /** Tokens that a script wrote itself, with the item they belong to. */
  scriptedTokens: Map<string, string>
  trustForeign: boolean
}

export const newResponsesMemory = ({ trustForeign = false }: MemoryOptions = {}): ResponsesMemory => ({
  answered: 0,
  salt: randomUUID(),
  responses: new Map(),
  issued: new Map(),
  scriptedTokens: new Map(),
  trustForeign,
})

/** Records the items of one response. With `stored` false they are issued but cannot be looked up. */
export function rememberItems(memory: ResponsesMemory, response: JsonRecord, stored: boolean): void {
  let reasoning: string | null = null
  let adjacent = false
  for (const [position, item] of asRecords(response['output']).entries()) {
    const id = item['id']
    const isReasoning = item['type'] === 'reasoning'
    if (typeof id === 'string') {
      const needs = isReasoning ? null : reasoning
      const owner = shownText(response['id'])
      memory.issued.set(id, { item, stored, response: owner, position, reasoning: needs, adjacent })
      if (isReasoning) reasoning = id
    }
    adjacent = isReasoning
  }
}

export function forgetResponse(memory: ResponsesMemory, id: string): void {
  memory.responses.delete(id)
  for (const issued of memory.issued.values()) if (issued.response === id) issued.stored = false
}

/** All items up to and including a stored response, oldest first. */
export function chainItems(memory: ResponsesMemory, id: unknown): JsonRecord[] {
  const links: StoredResponse[] = []
  let next = typeof id === 'string' ? memory.responses.get(id) : undefined
  while (next !== undefined) {
    links.push(next)
    next = next.previous === null ? undefined : memory.responses.get(next.previous)
  }
  return links.reverse().flatMap(({ input, response }) => [...input, ...asRecords(response['output'])])
}

export type OpenedReasoning = { item: string; organisation: string | null }

const TOKEN_PREFIX = 'gAAAAAB'
const MAC_BYTES = 16

/** Encrypted reasoning as far as a caller can see: opaque text, bound to one item and one organisation. */
export function sealReasoning(item: string, organisation: string | null): string {
  const payload = Buffer.from(JSON.stringify({ item, organisation }), 'utf8')
  return TOKEN_PREFIX + Buffer.concat([reasoningMac(payload), payload]).toString('base64url')
}

/** `null` when `sealReasoning` did not make this token, or when it was changed or cut since. */
export function openReasoning(token: string): OpenedReasoning | null {
  if (!token.startsWith(TOKEN_PREFIX)) return null
  const bytes = Buffer.from(token.slice(TOKEN_PREFIX.length), 'base64url')
  const payload = bytes.subarray(MAC_BYTES)
  if (bytes.length <= MAC_BYTES || !reasoningMac(payload).equals(bytes.subarray(0, MAC_BYTES))) return null
  const opened: unknown = JSON.parse(payload.toString('utf8'))
  if (!isRecord(opened) || typeof opened['item'] !== 'string') return null
  const organisation = opened['organisation']
  return { item: opened['item'], organisation: typeof organisation === 'string' ? organisation : null }
}

function reasoningMac(payload: Uint8Array): Buffer {
  return createHmac('sha256', 'turnwire-testing-reasoning').update(payload).digest().subarray(0, MAC_BYTES)
}
