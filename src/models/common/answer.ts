// The answer that a decoder ends with, its calls and its token counts, built with empty fields left out.

import type { ModelAnswer, ModelCall } from '../../engine/ports/index.ts'
import type { CallForm } from '../../language/calls.ts'
import type { Native, Origin } from '../../language/content.ts'
import type { Usage, VendorAnswer } from '../../language/events.ts'
import { isJsonObject, type Json } from '../../lib/json/index.ts'
import { printable } from '../../lib/text/index.ts'

export type AnswerStop = ModelAnswer['stop']
export type ModelPart = ModelAnswer['parts'][number]

export function wholeAnswer(answer: {
  parts: ModelPart[]
  stop: AnswerStop
  origin: Origin
  usage: Usage | undefined
  continuity?: Native | undefined
  warnings?: string[]
  vendor?: VendorAnswer | undefined
}): ModelAnswer {
  const { parts, stop, origin, usage, continuity, warnings = [], vendor } = answer
  return {
    parts,
    stop,
    origin,
    ...(usage && { usage }),
    ...(continuity && { continuity }),
    ...(warnings.length > 0 && { warnings }),
    ...(vendor && { vendor }),
  }
}

/** What the vendor calls its answer, and which model it says that it used. Undefined: it says neither. */
export function vendorAnswer(id: Json | undefined, model: Json | undefined): VendorAnswer | undefined {
  const has = { id: typeof id === 'string' && id !== '', model: typeof model === 'string' && model !== '' }
  if (!has.id && !has.model) return undefined
  return {
    ...(has.id && { id: printable(id as string, 200) }), // Both were found to be texts.
    ...(has.model && { model: printable(model as string, 200) }),
  }
}

/** `nativeId`: '' for none. */
export function wholeCall(
  call: { name: string; form: CallForm; text: string },
  cut: boolean,
  nativeId: string,
  native?: Native,
): ModelCall {
  const { name, form, text } = call
  const caller = native && programOf(native)
  return {
    type: 'call',
    name,
    form,
    text,
    ...(cut && { cut }),
    ...(caller !== undefined && { caller }),
    ...(nativeId !== '' && { nativeId }),
    ...(native && { native }),
  }
}

type TokenCounts = {
  /** Includes what was read from the cache and what was written to it. */
  input: number
  /** Includes thinking. */
  output: number
  cacheRead?: number
  cacheWrite?: number
  thinking?: number
}

export function usageOfCounts(counts: TokenCounts): Usage {
  const { input, output, cacheRead = 0, cacheWrite = 0, thinking = 0 } = counts
  return {
    input,
    output,
    ...(cacheRead > 0 && { cacheRead }),
    ...(cacheWrite > 0 && { cacheWrite }),
    ...(thinking > 0 && { thinking }),
  }
}

/** The tokens of several requests together. */
export function sumUsage(usages: readonly (Usage | undefined)[]): Usage | undefined {
  const counted = usages.filter(usage => usage !== undefined)
  if (counted.length < 2) return counted[0]
  const total = (name: keyof Usage): number => counted.reduce((sum, usage) => sum + (usage[name] ?? 0), 0)
  return usageOfCounts({
    input: total('input'),
    output: total('output'),
    cacheRead: total('cacheRead'),
    cacheWrite: total('cacheWrite'),
    thinking: total('thinking'),
  })
}

/** The program at the vendor that made the call, by its id there. Undefined: the model made it itself. */
function programOf({ data }: Native): string | undefined {
  const caller = isJsonObject(data) ? data['caller'] : undefined
  if (!isJsonObject(caller) || caller['type'] === undefined || caller['type'] === 'direct') return undefined
  const id = caller['tool_id'] ?? caller['caller_id']
  return typeof id === 'string' ? id : ''
}
