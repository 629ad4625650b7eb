// The tools of a large catalogue as a program reads them: modules, names with one line each, and the signature of one tool.
// So a model learns of the few tools that it needs, and none of the others costs it context.
import type { JsonObject } from '../../lib/json.ts'
import type { SandboxTool } from './messages.ts'
import { moduleOf, signatureOf } from './signatures.ts'

const mostListed = 200
const mostFound = 50

type Found = { name: string; description: string }

export class Catalogue {
  readonly #tools: readonly SandboxTool[]
  #words: Map<string, readonly string[]> | undefined

  constructor(tools: readonly SandboxTool[]) {
    this.#tools = tools
  }

  answer(kind: string, about: string, limit: number): unknown {
    if (kind === 'search') return this.#search(about, limit)
    if (kind === 'read') return this.#read(about)
    return about === '' ? this.#modules() : this.#list(about)
  }

  #modules(): { module: string; tools: number }[] {
    const counts = new Map<string, number>()
    for (const { name } of this.#tools) counts.set(moduleOf(name), (counts.get(moduleOf(name)) ?? 0) + 1)
    return [...counts].map(([module, tools]) => ({ module, tools }))
  }

  #list(module: string): Found[] {
    return this.#tools
      .filter(({ name }) => moduleOf(name) === module)
      .slice(0, mostListed)
      .map(found)
  }

  #read(name: string): string {
    const tool = this.#tools.find(each => each.name === name)
    return tool
      ? signatureOf(tool.name, tool.description, tool.form, tool.schemas as { input?: JsonObject })
      : `There is no tool named ${JSON.stringify(name)}.`
  }

  /** Tools that share rare words with the query come first; words of the name count more. */
  #search(query: string, limit: number): Found[] {
    const wanted = new Set(wordsOf(query))
    const words = this.#indexed()
    const frequency = new Map<string, number>()
    for (const each of words.values())
      for (const word of new Set(each))
        if (wanted.has(word)) frequency.set(word, (frequency.get(word) ?? 0) + 1)
    const weight = (word: string): number => Math.log(1 + this.#tools.length / (frequency.get(word) ?? 1))
    const scored = this.#tools.map(tool => {
      const inName = new Set(wordsOf(tool.name))
      const shared = new Set((words.get(tool.name) ?? []).filter(word => wanted.has(word)))
      let score = 0
      for (const word of shared) score += weight(word) * (inName.has(word) ? 3 : 1)
      return { tool, score }
    })
    return scored
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score || (a.tool.name < b.tool.name ? -1 : 1))
      .slice(0, Math.min(Math.max(Math.trunc(limit) || 10, 1), mostFound))
      .map(({ tool }) => found(tool))
  }

  #indexed(): Map<string, readonly string[]> {
    this.#words ??= new Map(
      this.#tools.map(({ name, description }) => [name, wordsOf(`${name} ${description}`)]),
    )
    return this.#words
  }
}

function found({ name, description }: SandboxTool): Found {
  return { name, description: (description.split('\n', 1)[0] ?? '').slice(0, 200) }
}

/** Lower-case words; `getUser` and `get_user` are two. */
function wordsOf(text: string): string[] {
  const spaced = text.slice(0, 4_000).replace(/([a-z0-9])([A-Z])/g, '$1 $2')
  return spaced.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
}
