// The tools of a large catalogue as a program reads them: modules, names with one line each, and the signature of one tool.
// So a model learns of the few tools that it needs, and none of the others costs it context.

import type { JsonObject } from '../../lib/json/index.ts'
import { Bm25 } from '../../lib/text/bm25.ts'
import type { SandboxTool } from './messages.ts'
import { moduleName, writeSignature } from './signatures.ts'

const mostListed = 200
const mostFound = 50

type Found = { name: string; description: string }

export class Catalogue {
  readonly #tools: readonly SandboxTool[]
  #ranking: Bm25 | undefined

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
    for (const { name } of this.#tools) counts.set(moduleName(name), (counts.get(moduleName(name)) ?? 0) + 1)
    return [...counts].map(([module, tools]) => ({ module, tools }))
  }

  #list(module: string): Found[] {
    return this.#tools
      .filter(({ name }) => moduleName(name) === module)
      .slice(0, mostListed)
      .map(found)
  }

  #read(name: string): string {
    const tool = this.#tools.find(each => each.name === name)
    return tool
      ? writeSignature(tool.name, tool.description, tool.form, tool.schemas as { input?: JsonObject })
      : `There is no tool named ${JSON.stringify(name)}.`
  }

  /** Words of the name count more than those of the description. */
  #search(query: string, limit: number): Found[] {
    this.#ranking ??= new Bm25(
      this.#tools.map(({ name, description }) => [
        { text: name, weight: 3 },
        { text: description, weight: 1 },
      ]),
    )
    const most = Math.min(Math.max(Math.trunc(limit) || 10, 1), mostFound)
    return this.#ranking
      .rank(query, most)
      .flatMap(({ index }) => this.#tools.slice(index, index + 1).map(found))
  }
}

function found({ name, description }: SandboxTool): Found {
  return { name, description: (description.split('\n', 1)[0] ?? '').slice(0, 200) }
}
