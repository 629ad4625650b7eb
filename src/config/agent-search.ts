// An agent that searches its tools: the tool for it, and which tools are declared from the start.
import type { AgentSearch, Tool } from '../engine/ports/index.ts'
import { hostedApproval } from '../language/tools.ts'
import {
  type Check,
  count,
  type Fields,
  group,
  isRecord,
  matches,
  must,
  onOff,
  type SettingChecks,
  type Wrong,
} from '../lib/checks/fields.ts'
import { pickPresent } from '../lib/json/present.ts'
import type { Log } from '../log.ts'
import { namesMatcher } from '../policy/index.ts'
import { type EmbedderOptions, type FindTools, findTools, findToolsName } from '../tools/search/index.ts'
import type { AgentConfig, SearchConfig } from './config.ts'

type Search = {
  rule: AgentSearch
  tool: FindTools
  /** Gives the same list. When the list changes, its index is made at once, so that searches do not wait for it. */
  following(tools: () => readonly Tool[]): () => readonly Tool[]
}

export function agentSearch({ name, search, always = [] }: AgentConfig, log: Log): Search | undefined {
  if (!search) return undefined
  const given: SearchConfig = search === true ? {} : search
  const { byVendor = false } = given
  const tool = findTools({
    ...pickPresent(given, ['results', 'embedder', 'lookup']),
    onFailure: message =>
      log('warn', 'A search of tools failed: they are ranked by words.', { agent: name, error: message }),
  })
  const isListed = always.length === 0 ? () => false : namesMatcher(always)
  return {
    tool,
    rule: { isAlways: called => called === hostedApproval || isListed(called), byVendor },
    following(tools) {
      let last: readonly Tool[] | undefined
      return () => {
        const now = tools()
        if (now !== last) {
          last = now
          setImmediate(() => {
            try {
              if (now === last) tool.warm(now)
            } catch {
              // Its first search fails with the same reason.
            }
          }).unref()
        }
        return now
      }
    },
  }
}

const embedder: SettingChecks<EmbedderOptions> = {
  url: {
    needed: must(
      url => typeof url === 'string' && /^https?:$/.test(URL.parse(url)?.protocol ?? ''),
      'must be an http or https address.',
    ),
  },
  model: { needed: matches(/./s, 'must be the name of a model.') },
  apiKey: must(
    key => typeof key === 'string' || typeof key === 'function',
    'must be a key or a function that gives one.',
  ),
  dimensions: count,
  timeoutMs: count,
}

const settings: SettingChecks<SearchConfig> = {
  results: count,
  byVendor: onOff,
  embedder: group(embedder, 'must be an object such as { url: "https://…/v1/embeddings", model: "…" }.'),
  lookup: must(
    lookup => typeof lookup === 'function',
    'must be a function that gives names of tools for a query.',
  ),
}

export const checkSearch: Check = (search, key, wrong) => {
  if (typeof search === 'boolean') return
  group(settings, 'must be true, false or an object such as { results: 5 }.')(search, key, wrong)
  if (isRecord(search) && search['lookup'] !== undefined && search['embedder'] !== undefined)
    wrong(`${key}.lookup`, 'replaces the embedder: leave one of them out.')
}

/** What an agent with a search may have beside it, and one without it may not. */
export function checkBesideSearch({ search, always, tools }: Fields, key: string, wrong: Wrong): void {
  if (always !== undefined && !search) wrong(`${key}.always`, 'has a meaning only with search: true.')
  if (search && Array.isArray(tools) && tools.some(tool => isRecord(tool) && tool['name'] === findToolsName))
    wrong(`${key}.tools`, `has a tool named "${findToolsName}", which is the name of the search.`)
}
