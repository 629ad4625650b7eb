// An agent that searches its tools: the tool for it, and which tools are declared from the start.
import type { AgentSearch, Tool } from '../engine/ports/index.ts'
import { hostedApproval } from '../language/tools.ts'
import {
  checkCount,
  checkKinds,
  checkKnown,
  checkTexts,
  type Fields,
  isRecord,
  type Wrong,
} from '../lib/checks/fields.ts'
import type { Log } from '../log.ts'
import { matchesName } from '../policy/index.ts'
import { type FindTools, findTools, findToolsName } from '../tools/search/index.ts'
import type { AgentConfig } from './config.ts'

type Search = {
  rule: AgentSearch
  tool: FindTools
  /** Gives the same list. When the list changes, its index is made at once, so that searches do not wait for it. */
  following(tools: () => readonly Tool[]): () => readonly Tool[]
}

export function agentSearch({ name, search, always = [] }: AgentConfig, log: Log): Search | undefined {
  if (!search) return undefined
  const { byVendor = false, results, embedder, lookup } = search === true ? {} : search
  const tool = findTools({
    ...(results !== undefined && { results }),
    ...(embedder && { embedder }),
    ...(lookup && { lookup }),
    onFailure: message =>
      log('warn', 'A search of tools failed: they are ranked by words.', { agent: name, error: message }),
  })
  const isListed = always.length === 0 ? () => false : matchesName(always)
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

export function checkSearch(agent: Fields, key: string, wrong: Wrong): void {
  const { search, always, tools } = agent
  checkTexts(
    always,
    /^.+$/,
    'must list names of tools; * stands for any run of characters.',
    `${key}.always`,
    wrong,
  )
  if (always !== undefined && !search) wrong(`${key}.always`, 'has a meaning only with search: true.')
  if (search && Array.isArray(tools) && tools.some(tool => isRecord(tool) && tool['name'] === findToolsName))
    wrong(`${key}.tools`, `has a tool named "${findToolsName}", which is the name of the search.`)
  if (search === undefined || typeof search === 'boolean') return
  if (!isRecord(search)) {
    wrong(`${key}.search`, 'must be true, false or an object such as { results: 5 }.')
    return
  }
  checkKnown(search, ['results', 'embedder', 'lookup', 'byVendor'], `${key}.search.`, wrong)
  checkCount(search['results'], `${key}.search.results`, wrong)
  checkKinds(search, { byVendor: 'boolean' }, `${key}.search.`, wrong)
  const { embedder, lookup } = search
  checkEmbedder(embedder, `${key}.search.embedder`, wrong)
  if (lookup !== undefined && typeof lookup !== 'function')
    wrong(`${key}.search.lookup`, 'must be a function that gives names of tools for a query.')
  if (lookup !== undefined && embedder !== undefined)
    wrong(`${key}.search.lookup`, 'replaces the embedder: leave one of them out.')
}

function checkEmbedder(embedder: unknown, key: string, wrong: Wrong): void {
  if (embedder === undefined) return
  if (!isRecord(embedder)) {
    wrong(key, 'must be an object such as { url: "https://…/v1/embeddings", model: "…" }.')
    return
  }
  checkKnown(embedder, ['url', 'model', 'apiKey', 'dimensions', 'timeoutMs'], `${key}.`, wrong)
  const { url, model, apiKey } = embedder
  if (typeof url !== 'string' || !/^https?:$/.test(URL.parse(url)?.protocol ?? ''))
    wrong(`${key}.url`, 'must be an http or https address.')
  if (typeof model !== 'string' || model === '') wrong(`${key}.model`, 'must be the name of a model.')
  if (apiKey !== undefined && typeof apiKey !== 'string' && typeof apiKey !== 'function')
    wrong(`${key}.apiKey`, 'must be a key or a function that gives one.')
  for (const name of ['dimensions', 'timeoutMs']) checkCount(embedder[name], `${key}.${name}`, wrong)
}
