// How many tokens a request may be, as an estimate: no vendor's tokenizer is here, and the model behind may be anyone's.
// Four characters of text count as one token, an image or a document as what the vendor's own guide says of a large one.
import type { Asked } from '../stateless/index.ts'

const charsPerToken = 4
const tokensPerMedium = 1600
/** What each message and each tool costs beside its words. */
const overhead = 6

export function estimateTokens({ seed, settings, target }: Asked): number {
  let chars = (target.agent.system ?? '').length + (settings.system ?? '').length
  let media = 0
  let items = settings.clientTools.length + seed.length
  for (const { name, description, input } of settings.clientTools) {
    chars += name.length + description.length
    if (input.form === 'json') chars += JSON.stringify(input.schema).length
  }
  const count = (part: { type: string; text?: string; name?: string }): void => {
    if (part.type === 'image' || part.type === 'file') media += 1
    else chars += (part.text ?? '').length + (part.name ?? '').length
  }
  for (const entry of seed) {
    if (entry.role === 'system') chars += entry.text.length
    else if (entry.role !== 'tool') entry.parts.forEach(count)
    else
      for (const { outcome } of entry.results) {
        items += 1
        outcome.parts.forEach(count)
      }
  }
  return Math.ceil(chars / charsPerToken) + media * tokensPerMedium + items * overhead
}
