// Seals data that only the vendor of an answer understands (signatures, encrypted reasoning, ids of its own), for a
// client to carry, since a stateless response keeps nothing. It travels as the `encrypted_content` of one reasoning
// item per answer. It is sealed, so that it can be neither read nor forged, and it is valid for its owner only.
import type { Native, Origin } from '../../language/content.ts'
import type { AnswerPart } from '../../language/history.ts'
import type { SealUse } from '../../language/seals.ts'
import type { ResponseAnswer } from './encode.ts'

/** `seal` or `unseal` of the host. */
export type Seal = (text: string, use: SealUse) => string

/** In the order of the answer. The client sends texts and calls itself: only the other data is here. */
type SealedPart =
  | { type: 'kept'; part: Exclude<AnswerPart, { type: 'text' | 'call' }> }
  | { type: 'text'; native?: Native }
  | { type: 'call'; id: string; nativeId?: string; native?: Native }

export type Sealed = { owner: string; parts: SealedPart[]; origin?: Origin; continuity?: Native }

const mark = 'tw1.'

/** Undefined when there is nothing that a client would have to carry. */
export function sealAnswer(
  { parts, origin, continuity }: ResponseAnswer,
  owner: string,
  seal: Seal,
): string | undefined {
  if (!continuity && parts.every(part => part.native === undefined)) return undefined
  const sealed: Sealed = {
    owner,
    parts: parts.map(sealedPart),
    ...(origin && { origin }),
    ...(continuity && { continuity }),
  }
  return mark + seal(JSON.stringify(sealed), 'responses answer')
}

function sealedPart(part: AnswerPart): SealedPart {
  if (part.type === 'text') return { type: 'text', ...(part.native && { native: part.native }) }
  if (part.type !== 'call') return { type: 'kept', part }
  const { id, nativeId, native } = part
  return { type: 'call', id, ...(nativeId !== undefined && { nativeId }), ...(native && { native }) }
}

export type OpenSealed = (text: string) => Sealed | undefined

/** Gives undefined for text that this server did not seal for this owner. */
export function openerFor(owner: string, unseal: Seal): OpenSealed {
  return text => {
    if (!isSealed(text)) return undefined
    try {
      // It opens, so it was made by `sealAnswer`.
      const sealed = JSON.parse(unseal(text.slice(mark.length), 'responses answer')) as Sealed
      return sealed.owner === owner ? sealed : undefined
    } catch {
      return undefined
    }
  }
}

export function isSealed(text: string): boolean {
  return text.startsWith(mark)
}

/** The answer as it was: the parts that the client sent and those that were sealed, in the order of the answer. */
export function unsealAnswer(parts: readonly AnswerPart[], sealed: Sealed): AnswerPart[] {
  const texts = parts.filter(part => part.type === 'text')
  const calls = new Map(parts.flatMap(part => (part.type === 'call' ? [[part.id, part] as const] : [])))
  const whole: AnswerPart[] = []
  for (const one of sealed.parts) {
    if (one.type === 'kept') whole.push(one.part)
    else if (one.type === 'call') {
      const { id, nativeId, native } = one
      const call = calls.get(id)
      if (!call) continue
      calls.delete(id)
      whole.push({ ...call, ...(nativeId !== undefined && { nativeId }), ...(native && { native }) })
    } else {
      const text = texts.shift()
      if (text) whole.push(one.native ? { ...text, native: one.native } : text)
    }
  }
  return [...whole, ...texts, ...calls.values()]
}

// ---- summaries -------------------------------------------------------------------------------------------------

const summaryMark = 'tws1.'

/** A summary for the client to carry in place of the conversation. */
export function sealSummary(summary: string, owner: string, seal: Seal): string {
  return summaryMark + seal(JSON.stringify({ owner, summary }), 'responses summary')
}

export function isSealedSummary(token: string): boolean {
  return token.startsWith(summaryMark)
}

export function summaryOpenerFor(owner: string, unseal: Seal): (token: string) => string | undefined {
  return token => {
    if (!token.startsWith(summaryMark)) return undefined
    try {
      // It opens, so it was made by `sealSummary`.
      const sealed = JSON.parse(unseal(token.slice(summaryMark.length), 'responses summary')) as {
        owner: string
        summary: string
      }
      return sealed.owner === owner ? sealed.summary : undefined
    } catch {
      return undefined
    }
  }
}
