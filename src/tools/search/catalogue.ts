// An index over a list of tools, which many sessions share. It ranks; which of the ranked tools a session may be told of is
// decided by the session.
import type { ToolDeclaration } from '../../language/tools.ts'
import { isJsonObject, type Json } from '../../lib/json/index.ts'
import { Bm25, type Ranked } from '../../lib/text/bm25.ts'

/** Longer descriptions are searched up to here. */
const searchedChars = 4_000
const parameterLevels = 3
const weights = { name: 4, title: 3, description: 1, parameters: 0.5 }

export class Catalogue {
  readonly tools: readonly ToolDeclaration[]
  readonly #words: Bm25
  readonly #places: ReadonlyMap<string, number>

  constructor(tools: readonly ToolDeclaration[]) {
    this.tools = tools
    this.#words = new Bm25(
      tools.map(tool => [
        { text: tool.name, weight: weights.name },
        { text: tool.title ?? '', weight: weights.title },
        { text: tool.description.slice(0, searchedChars), weight: weights.description },
        { text: parameterWords(tool), weight: weights.parameters },
      ]),
    )
    this.#places = new Map(tools.map(({ name }, index) => [name, index]))
  }

  /** The best first. A tool whose name is the whole question comes before all others. */
  rank(question: string): Ranked[] {
    const ranked = this.#words.rank(question)
    const named = this.#places.get(question.trim())
    if (named === undefined) return ranked
    return [
      { index: named, score: Number.POSITIVE_INFINITY },
      ...ranked.filter(({ index }) => index !== named),
    ]
  }
}

/** The text from which a tool's vector is made. */
export function searchText({ name, title, description }: ToolDeclaration): string {
  return [name, title ?? '', description.slice(0, searchedChars)].join('\n')
}

/** The names and descriptions of the parameters. */
function parameterWords({ input }: ToolDeclaration): string {
  if (input.form !== 'json') return ''
  const words: string[] = []
  addWords(words, input.schema, parameterLevels)
  return words.join(' ').slice(0, searchedChars)
}

function addWords(words: string[], schema: Json | undefined, levels: number): void {
  if (levels === 0 || !isJsonObject(schema) || !isJsonObject(schema['properties'])) return
  for (const [name, property] of Object.entries(schema['properties'])) {
    words.push(name)
    if (!isJsonObject(property)) continue
    if (typeof property['description'] === 'string') words.push(property['description'])
    addWords(words, property, levels - 1)
    addWords(words, property['items'], levels - 1)
  }
}
