// An estimate of a request's tokens. No vendor's tokenizer is here. Four characters count as one token, an image or a
// document as the vendor's guide says of a large one.
import type { Entry } from './history.ts'
import type { ToolDeclaration } from './tools.ts'

const charsPerToken = 4
const tokensPerMedium = 1600
/** For each message, result and tool, beside its text. */
const tokensPerItem = 6

export type EstimatedRequest = {
  system?: string
  history: readonly Entry[]
  tools: readonly Pick<ToolDeclaration, 'name' | 'description' | 'input'>[]
}

export function estimateTokens({ system = '', history, tools }: EstimatedRequest): number {
  let chars = system.length
  let media = 0
  let items = tools.length + history.length
  for (const { name, description, input } of tools) {
    chars += name.length + description.length
    if (input.form === 'json') chars += JSON.stringify(input.schema).length
  }
  const count = (part: { type: string; text?: string; name?: string }): void => {
    if (part.type === 'image' || part.type === 'file') media += 1
    else chars += (part.text ?? '').length + (part.name ?? '').length
  }
  for (const entry of history) {
    if (entry.role === 'system') chars += entry.text.length
    else if (entry.role !== 'tool') entry.parts.forEach(count)
    else
      for (const { outcome } of entry.results) {
        items += 1
        outcome.parts.forEach(count)
      }
  }
  return charsToTokens(chars) + media * tokensPerMedium + items * tokensPerItem
}

/** Of so many characters. */
export function charsToTokens(chars: number): number {
  return Math.ceil(chars / charsPerToken)
}
