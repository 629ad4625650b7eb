// A list of a server, read page by page within limits.
import type { Client } from '@modelcontextprotocol/client'
import { z } from 'zod'
import { readTtl } from './kept-answers.ts'

type ListMethod = 'tools/list' | 'resources/list' | 'resources/templates/list' | 'prompts/list'

/** `key`: the member of an answer that has the items. `ttlMs`: how long the whole list holds; 0: the server does not say. */
export async function listPages(
  client: Client,
  method: ListMethod,
  key: string,
  limits: { pages: number; items: number; timeoutMs: number },
): Promise<{ found: unknown[]; ttlMs: number }> {
  const page = z.looseObject({ [key]: z.array(z.unknown()), nextCursor: z.string().optional() })
  const found: unknown[] = []
  const seen = new Set<string>()
  let params: { cursor?: string } = {}
  let ttlMs = Number.POSITIVE_INFINITY
  for (let count = 0; count < limits.pages && found.length < limits.items; count += 1) {
    const answer: Record<string, unknown> = await client.request({ method, params }, page, {
      timeout: limits.timeoutMs,
    })
    ttlMs = Math.min(ttlMs, readTtl(answer))
    const items = answer[key] as unknown[] // The schema of the page says so.
    found.push(...items.slice(0, limits.items - found.length))
    const { nextCursor: cursor } = answer
    if (typeof cursor !== 'string' || seen.has(cursor)) break
    seen.add(cursor)
    params = { cursor }
  }
  return { found, ttlMs: Number.isFinite(ttlMs) ? ttlMs : 0 }
}
