// Seals data that only the vendor of an answer understands (signatures, encrypted reasoning, ids of its own), for a
// client to carry, since a stateless response keeps nothing. It travels as the `encrypted_content` of one reasoning
// item per answer. It is sealed, so that it can be neither read nor forged, and it is valid for its owner only.
import type { Native, Origin } from '../../language/content.ts'
import type { AnswerPart } from '../../language/history.ts'
import type { SealUse } from '../../language/seals.ts'
import type { WireHost } from '../host.ts'
import type { ResponseAnswer } from './encode.ts'

/** The owner that the data is valid for. */
export type SealOwner = { owner: string; host: Pick<WireHost, 'seal' | 'unseal'> }

/** How one kind of data travels: as text that begins with `mark`. */
function sealedText<Data extends object>(mark: string, use: SealUse) {
  const isOurs = (text: string): boolean => text.startsWith(mark)
  return {
    isOurs,
    seal: (data: Data, { owner, host }: SealOwner): string =>
      mark + host.seal(JSON.stringify({ owner, ...data }), use),
    /** Undefined for text that this server did not seal for this owner. */
    open(text: string, { owner, host }: SealOwner): Data | undefined {
      if (!isOurs(text)) return undefined
      try {
        // It opens, so it was made by `seal`.
        const sealed = JSON.parse(host.unseal(text.slice(mark.length), use)) as Data & { owner: string }
        return sealed.owner === owner ? sealed : undefined
      } catch {
        return undefined
      }
    },
  }
}

export const sealedAnswers = sealedText<Sealed>('tw1.', 'responses answer')
/** Summaries for the client to carry in place of the conversation. */
export const sealedSummaries = sealedText<{ summary: string }>('tws1.', 'responses summary')

/** In the order of the answer. The client sends texts and calls itself: only the other data is here. */
type SealedPart =
  | { type: 'kept'; part: Exclude<AnswerPart, { type: 'text' | 'call' }> }
  | { type: 'text'; native?: Native }
  | { type: 'call'; id: string; nativeId?: string; native?: Native }

export type Sealed = { parts: SealedPart[]; origin?: Origin; continuity?: Native }

/** Undefined when there is nothing that a client would have to carry. */
export function sealAnswer(answer: ResponseAnswer, owner: SealOwner): string | undefined {
  const { parts, origin, continuity } = answer
  if (!continuity && parts.every(part => part.native === undefined)) return undefined
  const kept = { ...(origin && { origin }), ...(continuity && { continuity }) }
  return sealedAnswers.seal({ parts: parts.map(sealedPart), ...kept }, owner)
}

function sealedPart(part: AnswerPart): SealedPart {
  if (part.type === 'text') return { type: 'text', ...(part.native && { native: part.native }) }
  if (part.type !== 'call') return { type: 'kept', part }
  const { id, nativeId, native } = part
  return { type: 'call', id, ...(nativeId !== undefined && { nativeId }), ...(native && { native }) }
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
