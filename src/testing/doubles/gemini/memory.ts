// The memory of a Gemini double: a counter for ids, and the signatures that it issued.
import type { MemoryOptions } from '../double.ts'

export type GeminiMemory = {
  counter: number
  trustForeign: boolean
  /** Signature → the content of the part it was issued with, see `signedText`. */
  signatures: Map<string, string>
}

export const newGeminiMemory = ({ trustForeign = false }: MemoryOptions = {}): GeminiMemory => ({
  counter: 0,
  trustForeign,
  signatures: new Map(),
})
