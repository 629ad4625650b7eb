// Tokens for a model that has none: four characters count as one. Enough for budgets, limits and meters to move.
import type { ModelAnswer, ModelRequest } from '../../engine/ports.ts'
import type { Usage } from '../../language/events.ts'
import type { Entry } from '../../language/history.ts'
import type { ToolDeclaration } from '../../language/tools.ts'

const CHARS_PER_TOKEN = 4

type Part = ModelAnswer['parts'][number]

const sizes = new WeakMap<Entry | ToolDeclaration, number>()

export function usageOf(request: ModelRequest, parts: readonly Part[]): Usage {
  let input = 0
  for (const entry of request.history) input += kept(entry, sizeOfEntry)
  for (const tool of request.tools) input += kept(tool, one => JSON.stringify(one).length)
  const thinking = sum(parts.filter(part => part.type === 'thinking'))
  return {
    input: tokens(input),
    output: tokens(sum(parts)),
    ...(thinking === 0 ? {} : { thinking: tokens(thinking) }),
  }
}

/** Entries and declarations never change, so each is measured once. */
function kept<T extends Entry | ToolDeclaration>(one: T, measure: (one: T) => number): number {
  const known = sizes.get(one)
  const size = known ?? measure(one)
  if (known === undefined) sizes.set(one, size)
  return size
}

function sizeOfEntry(entry: Entry): number {
  if (entry.role === 'system') return entry.text.length
  if (entry.role === 'tool')
    return entry.results.reduce((size, result) => size + sum(result.outcome.parts) + result.name.length, 0)
  return sum(entry.parts)
}

function sum(parts: readonly { type: string; text?: string; name?: string }[]): number {
  return parts.reduce(
    (size, part) => size + (part.text?.length ?? 0) + (part.type === 'call' ? (part.name?.length ?? 0) : 0),
    0,
  )
}

function tokens(chars: number): number {
  return Math.ceil(chars / CHARS_PER_TOKEN)
}

/** What fits into `maxTokens`. A call that does not fit whole is cut, and so never run. */
export function bounded(
  parts: readonly Part[],
  maxTokens: number | undefined,
): { parts: Part[]; cut: boolean } {
  let room = (maxTokens ?? Infinity) * CHARS_PER_TOKEN
  const kept: Part[] = []
  for (const part of parts) {
    if (part.type === 'hosted' || part.text.length <= room) {
      kept.push(part)
      room -= part.type === 'hosted' ? 0 : part.text.length
      continue
    }
    const text = part.text.slice(0, room).toWellFormed()
    kept.push(part.type === 'call' ? { ...part, text, cut: true } : { ...part, text })
    return { parts: kept, cut: true }
  }
  return { parts: kept, cut: false }
}
