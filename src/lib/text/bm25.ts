// Ranks documents by the words that they share with a question (Okapi BM25). The contribution of a term to a document's
// score is computed when the index is made, so a question only adds up numbers. An index is never changed.
import { readTerms } from './words.ts'

/** `weight`: how many times the words of this field count. */
export type DocumentField = { text: string; weight: number }
export type Ranked = { index: number; score: number }

/** How soon repeating a word stops counting, and how much a long document is held back. */
const saturation = 1.2
const lengthEffect = 0.6

const termsPerDocument = 600
const termsPerQuestion = 64

/** A word that no document has counts, less, for the words that begin with it: `repo` for `repository`. */
const shortestPrefix = 3
const prefixWeight = 0.4
const prefixWords = 24

type Postings = { documents: Uint32Array; scores: Float32Array }

export class Bm25 {
  readonly size: number
  readonly #postings: ReadonlyMap<string, Postings>
  readonly #sums: Float64Array
  /** In order, made when a prefix is first looked for. */
  #vocabulary: readonly string[] | undefined

  constructor(documents: readonly (readonly DocumentField[])[]) {
    this.size = documents.length
    this.#postings = indexPostings(documents)
    this.#sums = new Float64Array(documents.length)
  }

  /** The best first. Documents that share no word with the question are left out. */
  rank(question: string, most = this.size): Ranked[] {
    const sums = this.#sums
    const touched: number[] = []
    for (const term of new Set(readTerms(question, termsPerQuestion)))
      for (const [{ documents, scores }, weight] of this.#matching(term))
        for (let at = 0; at < documents.length; at++) {
          const document = documents[at]!
          if (sums[document] === 0) touched.push(document)
          sums[document]! += scores[at]! * weight
        }
    // Few of many: only what may be among the best is sorted.
    const least = touched.length > 4 * most ? scoreOfRank(touched, sums, most) : 0
    const ranked: Ranked[] = []
    for (const index of touched) {
      if (sums[index]! >= least) ranked.push({ index, score: sums[index]! })
      sums[index] = 0
    }
    ranked.sort((one, other) => other.score - one.score || one.index - other.index)
    return ranked.length > most ? ranked.slice(0, most) : ranked
  }

  #matching(term: string): [Postings, number][] {
    const exact = this.#postings.get(term)
    if (exact) return [[exact, 1]]
    if (term.length < shortestPrefix) return []
    return this.#beginningWith(term).map(word => [this.#postings.get(word)!, prefixWeight])
  }

  #beginningWith(prefix: string): string[] {
    this.#vocabulary ??= [...this.#postings.keys()].sort()
    const words = this.#vocabulary
    let low = 0
    let high = words.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (words[middle]! < prefix) low = middle + 1
      else high = middle
    }
    const found: string[] = []
    for (let at = low; found.length < prefixWords && words[at]?.startsWith(prefix) === true; at++)
      found.push(words[at]!)
    return found
  }
}

/** The score of the document at this rank. */
function scoreOfRank(touched: readonly number[], sums: Float64Array, rank: number): number {
  const scores = Float64Array.from(touched, index => sums[index]!)
  return scores.sort()[scores.length - rank]!
}

type Counted = { documents: number[]; counts: number[] }

function indexPostings(documents: readonly (readonly DocumentField[])[]): Map<string, Postings> {
  const counted = new Map<string, Counted>()
  const lengths = new Float64Array(documents.length)
  for (const [document, fields] of documents.entries()) {
    for (const [term, count] of countTerms(fields)) {
      lengths[document]! += count
      const entry = counted.get(term)
      if (!entry) counted.set(term, { documents: [document], counts: [count] })
      else {
        entry.documents.push(document)
        entry.counts.push(count)
      }
    }
  }
  const average = lengths.reduce((sum, length) => sum + length, 0) / Math.max(documents.length, 1) || 1
  const postings = new Map<string, Postings>()
  for (const [term, { documents: having, counts }] of counted) {
    const rarity = Math.log(1 + (documents.length - having.length + 0.5) / (having.length + 0.5))
    const scores = counts.map((count, at) => {
      const held = 1 - lengthEffect + (lengthEffect * lengths[having[at]!]!) / average
      return (rarity * count * (saturation + 1)) / (count + saturation * held)
    })
    postings.set(term, { documents: Uint32Array.from(having), scores: Float32Array.from(scores) })
  }
  return postings
}

function countTerms(fields: readonly DocumentField[]): Map<string, number> {
  const counts = new Map<string, number>()
  let left = termsPerDocument
  for (const { text, weight } of fields) {
    const terms = readTerms(text, left)
    left -= terms.length
    for (const term of terms) counts.set(term, (counts.get(term) ?? 0) + weight)
  }
  return counts
}
