// How often a turn has called a tool with the same arguments, however they are spelled. Asked only of a tool that was
// called as often as a turn may repeat itself: most never are, and then nothing is compared.
import type { CallForm } from '../language/calls.ts'
import { canonicalJson, parseJson } from '../lib/json.ts'

type Counted = { upTo: number; counts: Map<string, number> }

const remembered = new WeakMap<readonly string[], Counted>()

/** `texts`: the arguments that one tool was called with so far, a list that only grows. */
export function usesOf(texts: readonly string[], text: string, form: CallForm): number {
  const counted = remembered.get(texts) ?? { upTo: 0, counts: new Map<string, number>() }
  remembered.set(texts, counted)
  const { counts } = counted
  for (; counted.upTo < texts.length; counted.upTo++) {
    const spelled = canonicalOf(texts[counted.upTo]!, form)
    counts.set(spelled, (counts.get(spelled) ?? 0) + 1)
  }
  return counts.get(canonicalOf(text, form)) ?? 0
}

function canonicalOf(text: string, form: CallForm): string {
  if (form === 'text') return text
  try {
    return text.trim() === '' ? '{}' : canonicalJson(parseJson(text))
  } catch {
    // The gate takes more than this reads: then only the same text is the same.
    return text
  }
}
