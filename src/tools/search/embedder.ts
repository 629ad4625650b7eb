// Ranks tools by meaning: an embedder over HTTP turns texts into vectors, in the form that most serve (`POST` of
// `{ model, input }`). It is asked within the egress rule. Vectors are kept in memory, up to a limit; a failure only means
// that words alone rank.
import type { ToolContext } from '../../engine/ports/index.ts'
import { type ToolDeclaration, toolHash } from '../../language/tools.ts'
import { isJsonObject } from '../../lib/json/index.ts'
import { searchText } from './catalogue.ts'

export type EmbedderOptions = {
  /** Such as `https://api.openai.com/v1/embeddings`. */
  url: string
  model: string
  /** A key, or a function that is called for one with each request. */
  apiKey?: string | (() => string | Promise<string>)
  /** How many numbers a vector has, where the embedder lets that be chosen. Fewer take less memory. */
  dimensions?: number
  /** A search waits so long for the embedder. Default 3,000. */
  timeoutMs?: number
}

type Vector = Float32Array

const inOneRequest = 128
/** Of tools that have no vector yet, so many get one with each search. */
const inOneSearch = 1_024
/** All vectors together. */
const mostBytes = 64 * 1024 * 1024

export class Embedder {
  readonly #options: EmbedderOptions
  /** By the hash of the declaration; what was used last is at the end. */
  readonly #vectors = new Map<string, Vector>()
  #bytes = 0

  constructor(options: EmbedderOptions) {
    this.#options = options
  }

  /** Indexes by similarity, the best first. `first`: tools that get their vectors before others. */
  async rank(
    question: string,
    tools: readonly ToolDeclaration[],
    first: readonly number[],
    { fetch, signal }: Pick<ToolContext, 'fetch' | 'signal'>,
  ): Promise<number[]> {
    const late = AbortSignal.any([signal, AbortSignal.timeout(this.#options.timeoutMs ?? 3_000)])
    const missing = [...new Set([...first, ...tools.keys()])].filter(
      index => !this.#vectors.has(toolHash(tools[index]!)),
    )
    const [asked] = await this.#embed([question], fetch, late)
    const batches: number[][] = []
    for (let at = 0; at < Math.min(missing.length, inOneSearch); at += inOneRequest)
      batches.push(missing.slice(at, Math.min(at + inOneRequest, inOneSearch)))
    // Vectors that come too late are used by the next search.
    await Promise.allSettled(
      batches.map(async batch => {
        const vectors = await this.#embed(
          batch.map(index => searchText(tools[index]!)),
          fetch,
          late,
        )
        for (const [at, index] of batch.entries()) this.#keep(toolHash(tools[index]!), vectors[at]!)
      }),
    )
    return [...tools.keys()]
      .flatMap(index => {
        const vector = this.#vectors.get(toolHash(tools[index]!))
        return vector ? [{ index, score: product(asked!, vector) }] : []
      })
      .sort((one, other) => other.score - one.score)
      .map(({ index }) => index)
  }

  #keep(hash: string, vector: Vector): void {
    this.#vectors.set(hash, vector)
    this.#bytes += vector.byteLength
    for (const [oldest, { byteLength }] of this.#vectors) {
      if (this.#bytes <= mostBytes) break
      this.#vectors.delete(oldest)
      this.#bytes -= byteLength
    }
  }

  async #embed(
    texts: readonly string[],
    fetch: ToolContext['fetch'],
    signal: AbortSignal,
  ): Promise<Vector[]> {
    const { url, model, apiKey, dimensions } = this.#options
    const key = typeof apiKey === 'function' ? await apiKey() : apiKey
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
      },
      body: JSON.stringify({ model, input: texts, ...(dimensions !== undefined && { dimensions }) }),
      signal,
    })
    if (!response.ok) throw new Error(`The embedder answered ${response.status}.`)
    return vectorsIn(await response.json(), texts.length)
  }
}

/** Of length 1, so that their product is the cosine. */
function vectorsIn(answer: unknown, count: number): Vector[] {
  const data = isJsonObject(answer) && Array.isArray(answer['data']) ? answer['data'] : []
  const vectors: Vector[] = []
  for (const [at, item] of data.entries()) {
    const { embedding, index = at } = isJsonObject(item) ? item : {}
    if (!Array.isArray(embedding) || typeof index !== 'number') continue
    const vector = Float32Array.from(embedding, Number)
    const length = Math.hypot(...vector) || 1
    vectors[index] = vector.map(value => value / length)
  }
  if (vectors.length !== count || vectors.includes(undefined as never))
    throw new Error('The embedder gave another number of vectors than it was asked for.')
  return vectors
}

function product(one: Vector, other: Vector): number {
  let sum = 0
  for (let at = 0; at < one.length; at++) sum += one[at]! * (other[at] ?? 0)
  return sum
}
