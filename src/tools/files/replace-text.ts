// Replaces a text in another. Pure.
import { countOccurrences, replaceOccurrences } from '../../lib/text/occurrences.ts'

export type Replacement = {
  text: string
  old: string
  fresh: string
  /** Every occurrence. Otherwise nothing is replaced unless there is exactly one. */
  all: boolean
  /** Characters that the new text may have. */
  most: number
}

/** `text` absent: nothing was replaced. `length`: of the new text, if that is too long. */
export type EditedText = { count: number; text?: string; length?: number }

/** `spend` is told the cost in microseconds before it comes, and may throw. */
export function replaceText(
  { text, old, fresh, all, most }: Replacement,
  spend: (micros: number) => void = () => {},
): EditedText {
  spend((text.length + old.length) * 0.01)
  const count = countOccurrences(text, old)
  if (count === 0 || (count > 1 && !all)) return { count }
  const length = text.length + count * (fresh.length - old.length)
  if (length > most) return { count, length }
  spend(length * 0.002)
  return { count, text: replaceOccurrences(text, old, fresh) }
}
