// Deferred tools as the Responses API has them. A tool that was found is declared inside the input, at the place where it was
// found, and nowhere else: so the beginning of a request never changes, and the prompt cache stays valid. The vendor's own
// search is asked for with a tool `tool_search` and takes the tools of a namespace together.
import type { ModelRequest } from '../../../engine/ports/index.ts'
import type { ToolDeclaration } from '../../../language/tools.ts'
import type { JsonObject } from '../../../lib/json/index.ts'
import { printable } from '../../../lib/text/index.ts'
import { introductions, loadedNames, loadsVariant } from '../../common/deferred.ts'
import { asList, asObject, asString } from '../../common/json-read.ts'
import type { SessionCache } from '../../common/session-cache.ts'
import type { ModelTarget } from '../../protocol.ts'
import { noDeferredTools } from './failure.ts'

/** The first models that have it. Others are given found tools in `tools`. */
const WITH_DEFERRED = /^gpt-(?:5\.(?:[4-9]|\d\d)|[6-9]|\d\d)/

export function takesDeferred({ model, quirks }: ModelTarget): boolean {
  return WITH_DEFERRED.test(model) && !quirks.has(noDeferredTools)
}

/** The declaration of a tool as the vendor takes it; undefined if it cannot be declared. */
export type Declare = (tool: ToolDeclaration) => JsonObject | undefined

export type Introduced = {
  /** The tools that the input declares, by our names. */
  names: ReadonlySet<string>
  /** The item that declares the tools which the entry at `index` loads. */
  itemsAt(index: number): JsonObject[]
  /** Names everything that this item depends on besides the entry. */
  variant(index: number): string
}

/** Nothing was found. */
export const nothing: Introduced = { names: new Set(), itemsAt: () => [], variant: () => '' }

export function introducedIn(
  cache: SessionCache,
  { history, tools }: ModelRequest,
  declare: Declare,
): Introduced {
  const deferred = tools.filter(tool => tool.deferred)
  const first = introductions(cache, history)
  const byName = new Map(deferred.filter(({ name }) => first.has(name)).map(tool => [tool.name, tool]))
  const loadedAt = (index: number): ToolDeclaration[] =>
    loadedNames(history[index]).flatMap(name => {
      const tool = first.get(name) === index ? byName.get(name) : undefined
      return tool ? [tool] : []
    })
  return {
    names: new Set(byName.keys()),
    itemsAt: index =>
      additionalTools(
        loadedAt(index)
          .map(declare)
          .filter(json => json !== undefined),
      ),
    variant: index => loadsVariant(history[index], byName),
  }
}

function additionalTools(tools: JsonObject[]): JsonObject[] {
  return tools.length === 0 ? [] : [{ type: 'additional_tools', role: 'developer', tools }]
}

// ---- the vendor's own search -------------------------------------------------------------------------------

const NAMESPACE = /^([a-zA-Z0-9_-]{1,64}?)__([a-zA-Z0-9_-]+)$/
const DESCRIPTION_CHARS = 400

/**
 * Tools for the vendor's search. Of a deferred tool the model is shown name and description, of a namespace only its own:
 * so the tools of one server, which are named `server__tool`, are declared as a namespace.
 */
export function searchable(tools: readonly JsonObject[]): JsonObject[] {
  const spaces = new Map<string, JsonObject[]>()
  const alone: JsonObject[] = []
  for (const tool of tools) {
    const [, space, name] = NAMESPACE.exec(asString(tool['name'])) ?? []
    const inner = { ...tool, defer_loading: true }
    if (space === undefined || name === undefined) alone.push(inner)
    else spaces.set(space, [...(spaces.get(space) ?? []), { ...inner, name }])
  }
  const namespaces = [...spaces].map(([name, inner]) => ({
    type: 'namespace',
    name,
    description: describeSpace(name, inner),
    tools: inner,
  }))
  return [...namespaces, ...alone, { type: 'tool_search' }]
}

function describeSpace(space: string, tools: readonly JsonObject[]): string {
  const names = tools.map(tool => asString(tool['name'])).join(', ')
  return printable(`Tools of ${space}: ${names}`, DESCRIPTION_CHARS)
}

/** The name under which a tool of a namespace was declared to us. */
export function wireName({ name, namespace }: JsonObject): string {
  return typeof namespace === 'string' ? `${namespace}__${asString(name)}` : asString(name)
}

/** Our names of the tools that the vendor's search found. */
export function foundTools(items: readonly JsonObject[], names: ReadonlyMap<string, string>): string[] {
  return items.flatMap(({ type, execution, tools }) =>
    type === 'tool_search_output' && execution !== 'client'
      ? asList(tools).flatMap(tool => namesIn(asObject(tool), names))
      : [],
  )
}

function namesIn(tool: JsonObject, names: ReadonlyMap<string, string>): string[] {
  if (tool['type'] === 'namespace')
    return asList(tool['tools']).flatMap(inner =>
      namesIn({ ...asObject(inner), namespace: asString(tool['name']) }, names),
    )
  const name = wireName(tool)
  return name === '' ? [] : [names.get(name) ?? name]
}
