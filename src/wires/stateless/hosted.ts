// Tools that a model's vendor runs, declared by a client in the words of its own API. A model of that API gets the
// declaration as it is; a model of another vendor gets that vendor's own tool for the same purpose, if it has one. Tools
// that a vendor defines and the client runs are declared in the same way.
import type { Ask } from '../../language/events.ts'
import type { JsonObject } from '../../lib/json/index.ts'
import type { ModelTarget } from './target.ts'

/**
 * `tools`: finding tools among many. Where a vendor has no such thing, all tools are loaded from the start. `screen` and
 * `own`: the client runs them.
 */
export type HostedPurpose = 'search' | 'fetch' | 'tools' | 'code' | 'mcp' | 'screen' | 'own'

const hostedTools: Readonly<Record<HostedPurpose, Readonly<Record<string, JsonObject>>>> = {
  search: {
    anthropic: { type: 'web_search_20250305', name: 'web_search' },
    gemini: { googleSearch: {} },
    'gemini-interactions': { type: 'google_search' },
    'openai-responses': { type: 'web_search' },
  },
  tools: {},
  code: {
    anthropic: { type: 'code_execution_20250825', name: 'code_execution' },
    gemini: { codeExecution: {} },
    'gemini-interactions': { type: 'code_execution' },
    'openai-responses': { type: 'code_interpreter', container: { type: 'auto' } },
  },
  mcp: {},
  screen: {},
  own: {},
  fetch: {
    anthropic: { type: 'web_fetch_20250910', name: 'web_fetch' },
    gemini: { urlContext: {} },
    'gemini-interactions': { type: 'url_context' },
  },
}

/** By purpose: the words for a tool that the model's vendor lacks. */
const missing: Readonly<Record<Exclude<HostedPurpose, 'tools'>, string>> = {
  search: 'web search of its own',
  fetch: 'way to fetch pages of its own',
  code: 'place of its own to run code',
  mcp: 'connection of its own to MCP servers',
  screen: 'such tool for a screen or a browser',
  own: 'such tool',
}

/** A hosted tool as a client declares it: what it is for, and the declaration in the words of `protocol`. */
export type ClientHosted = { purpose: HostedPurpose; protocol: string; declaration: JsonObject }

/**
 * `refuse` is called with the reason if the tool cannot be had: the model's vendor has none for this purpose, or the
 * operator lets clients bring no tools.
 */
export function askHosted(
  wanted: readonly ClientHosted[],
  { name, agent, model }: ModelTarget,
  refuse: (at: number, reason: string) => never,
): Pick<Ask, 'hosted'> {
  if (wanted.length === 0) return {}
  const own = model.origin?.protocol ?? ''
  const tools = wanted.flatMap(({ purpose, protocol, declaration }, at): JsonObject[] => {
    if (!agent.clientTools) refuse(at, `"${name}" takes no tools from its clients`)
    const tool = protocol === own ? declaration : hostedTools[purpose][own]
    if (tool) return [tool]
    if (purpose === 'tools') return []
    return refuse(at, `the model behind "${name}" has no ${missing[purpose]}`)
  })
  return tools.length > 0 ? { hosted: { [own]: tools } } : {}
}
