// The tool by which a model finds other tools. Found tools are declared to the model from the next request on. It names
// only tools that the session could call; finding a tool permits nothing.
import type { Tool, ToolContext, ToolOutput } from '../../engine/ports/index.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import { errorMessage } from '../../lib/text/error-message.ts'
import { printable } from '../../lib/text/index.ts'
import { tool } from '../functions/tool.ts'
import { Catalogue } from './catalogue.ts'
import { Embedder, type EmbedderOptions } from './embedder.ts'

export const findToolsName = 'find_tools'

export type FindToolsOptions = {
  /** How many tools one search finds, unless the model asks for fewer or more. Default 5. */
  results?: number
  embedder?: EmbedderOptions
  lookup?: ToolLookup
  /** Told when the embedder or the lookup fails. Words alone rank then. */
  onFailure?: (message: string) => void
}

/**
 * A search of the program's own. Gives names of tools, the best first; names of tools that the session cannot call are left
 * out. If it throws, words rank.
 */
export type ToolLookup = (
  query: string,
  search: {
    /** All tools of the agent: the same list until they change. */
    tools: readonly ToolDeclaration[]
    limit: number
    session: string
    owner: string
    signal: AbortSignal
  },
) => readonly string[] | Promise<readonly string[]>

export type FindTools = Tool & {
  /** Makes the index of this list, so that the first search does not wait for it. */
  readonly warm: (tools: readonly ToolDeclaration[]) => void
}

const mostResults = 20
const shownChars = 300
/** How much the first ranks of a list count over later ones, when two lists become one. */
const rankOffset = 20

export function findTools(options: FindToolsOptions = {}): FindTools {
  const { results = 5, onFailure } = options
  const embedder = options.embedder && new Embedder(options.embedder)
  let catalogue: Catalogue | undefined
  const makeCatalogue = (tools: readonly ToolDeclaration[]): Catalogue => {
    if (catalogue?.tools !== tools) catalogue = new Catalogue(tools)
    return catalogue
  }
  const search = tool({
    name: findToolsName,
    title: 'Find tools',
    description:
      'Searches the tools that can be used here and loads those that fit, so that they can be called next. Most tools ' +
      'are not shown before they are found. Say in a few words what is to be done, such as "create a calendar event".',
    input: {
      type: 'object',
      properties: {
        query: {
          type: 'string',
          description: 'What is to be done, or the name of a tool.',
        },
        limit: { type: 'integer', minimum: 1, maximum: mostResults, description: `Default ${results}.` },
      },
      required: ['query'],
      additionalProperties: false,
    },
    kind: 'search',
    readOnly: true,
    flow: { output: 'trusted' },
    trust: 'trusted',
    exposed: false,
    async run(input, context) {
      // The gate has checked it against the schema.
      const { query, limit = results } = input as { query: string; limit?: number }
      const { tools } = context
      const own = options.lookup && (await lookedUp(options.lookup, query, limit, context, onFailure))
      const found = own ?? (await rank(makeCatalogue(tools.shared), query, embedder, context, onFailure))
      return outputFor(pick(found, tools, limit))
    },
  })
  return Object.freeze({
    ...search,
    finds: true as const,
    run: withLoads((input, context) => search.run(input, context)),
    warm: (tools: readonly ToolDeclaration[]) => void makeCatalogue(tools),
  })
}

/** Undefined: the lookup failed. */
async function lookedUp(
  lookup: ToolLookup,
  query: string,
  limit: number,
  { tools, session, owner, signal }: ToolContext,
  onFailure: FindToolsOptions['onFailure'],
): Promise<{ name: string }[] | undefined> {
  try {
    const names: unknown = await lookup(query, { tools: tools.shared, limit, session, owner, signal })
    if (!Array.isArray(names) || !names.every(name => typeof name === 'string'))
      throw new TypeError('The lookup must give a list of names.')
    return [...new Set(names)].map(name => ({ name }))
  } catch (error) {
    onFailure?.(errorMessage(error))
    return undefined
  }
}

async function rank(
  catalogue: Catalogue,
  query: string,
  embedder: Embedder | undefined,
  context: ToolContext,
  onFailure: FindToolsOptions['onFailure'],
): Promise<ToolDeclaration[]> {
  const byWords = catalogue.rank(query).map(({ index }) => index)
  let order = byWords
  if (embedder) {
    try {
      order = joinTexts(byWords, await embedder.rank(query, catalogue.tools, byWords.slice(0, 200), context))
    } catch (error) {
      onFailure?.(errorMessage(error))
    }
  }
  return order.map(index => catalogue.tools[index]!)
}

/** Two orders as one: each place counts by its rank, not by scores that cannot be compared. */
function joinTexts(one: readonly number[], other: readonly number[]): number[] {
  const scores = new Map<number, number>()
  for (const list of [one, other])
    for (const [rank, index] of list.entries())
      scores.set(index, (scores.get(index) ?? 0) + 1 / (rankOffset + rank))
  return [...scores].sort(([, first], [, second]) => second - first).map(([index]) => index)
}

/** Of the ranked tools, those that this session can call. The search itself is not among them. */
function pick(
  ranked: readonly { name: string }[],
  tools: ToolContext['tools'],
  limit: number,
): ToolDeclaration[] {
  const found: ToolDeclaration[] = []
  for (const { name } of ranked) {
    if (found.length >= limit) break
    const callable = tools.find(name)
    if (callable && !callable.finds) found.push(callable)
  }
  return found
}

/** The model reads a list; people are shown the same as a table. */
function outputFor(
  found: readonly ToolDeclaration[],
): Pick<ToolOutput, 'parts' | 'report'> & { structured: unknown } {
  const rows = found.map(({ name, description }) => [name, printable(description, shownChars)])
  const lines = rows.map(([name, description]) => `- ${name}: ${description}`)
  const text =
    found.length === 0
      ? 'No tool fits. Search again with other words, or for a part of the task.'
      : `These tools are loaded now and can be called:\n${lines.join('\n')}`
  return {
    parts: [{ type: 'text', text }],
    structured: { tools: found.map(({ name }) => name) },
    ...(found.length > 0 && { report: { rows: { columns: ['tool', 'description'], rows } } }),
  }
}

/** The names in the structured result are what the model is offered from here on. */
function withLoads(run: Tool['run']): Tool['run'] {
  return async (input, context) => {
    const output = await run(input, context)
    // `outputFor` made it.
    const { tools } = output.structured as { tools: string[] }
    return { ...output, loads: tools }
  }
}
