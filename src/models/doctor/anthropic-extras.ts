// Repairs of Anthropic's features beside the conversation: MCP servers, deferred tools, tools that code calls, cache
// marks, unknown fields and blocks.

import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'
import {
  asText,
  blocksIn,
  dropFields,
  type Finding,
  messagesIn,
  objectsOf,
  quoted,
  type Repair,
  type Report,
} from './repair.ts'
import { dropTools, emptySchema } from './tools.ts'

const MOST_MARKS = 4

export const unavailableTool = (name: string): JsonObject => ({
  name,
  description: 'No longer available.',
  input_schema: emptySchema(),
})

/** Every server has exactly one toolset, and every toolset a server. */
function fixServers(body: JsonObject, report: Report): void {
  const toolsets = objectsOf(body['tools']).filter(tool => tool['type'] === 'mcp_toolset')
  const used = new Set(toolsets.map(tool => asText(tool['mcp_server_name'])))
  const seen = new Set<string>()
  const servers = objectsOf(body['mcp_servers']).filter(server => {
    const name = asText(server['name'])
    const whole = ['type', 'name', 'url'].every(key => typeof server[key] === 'string')
    if (whole && used.has(name) && !seen.has(name)) return seen.add(name)
    report(`Dropped the MCP server ${quoted(name)}: it is incomplete, or not used by exactly one toolset.`)
    return false
  })
  if (servers.length > 0) body['mcp_servers'] = servers
  else delete body['mcp_servers']
  const taken = new Set<string>()
  body['tools'] = objectsOf(body['tools']).filter(tool => {
    if (tool['type'] !== 'mcp_toolset') return true
    const name = asText(tool['mcp_server_name'])
    if (seen.has(name) && !taken.has(name)) return taken.add(name)
    report(
      `Dropped a toolset of the MCP server ${quoted(name)}: the server is not listed, or has a toolset already.`,
    )
    return false
  })
  if (objectsOf(body['tools']).length === 0) delete body['tools']
}

/** The search tool and one more tool must not be deferred, and tools that a search found must be declared. */
function fixDeferral(body: JsonObject, report: Report, findings: readonly Finding[]): void {
  const tools = objectsOf(body['tools'])
  for (const { message } of findings) {
    const gone = /^Tool reference '(.+)' has no/.exec(message)?.[1]
    if (gone !== undefined && !tools.some(tool => tool['name'] === gone)) {
      tools.push(unavailableTool(gone))
      report(`Declared the tool ${quoted(gone)}, which a search found, as no longer available.`)
    }
  }
  for (const tool of tools.filter(each => each['defer_loading'] === true)) {
    const isSearch = asText(tool['type']).startsWith('tool_search_tool')
    if (isSearch) {
      delete tool['defer_loading']
      report('Turned off deferred loading of the search tool.')
    } else if (tool['cache_control'] !== undefined) {
      delete tool['cache_control']
      report(`Dropped the cache mark of ${quoted(asText(tool['name']))}, which is deferred.`)
    }
  }
  const [first] = tools
  if (first !== undefined && tools.every(tool => tool['defer_loading'] === true)) {
    delete first['defer_loading']
    report(`Turned off deferred loading of ${quoted(asText(first['name']))}: one tool must be loaded.`)
  }
  body['tools'] = tools
}

const callsFromCode = (callers: Json | undefined): boolean =>
  Array.isArray(callers) && callers.some(caller => asText(caller).startsWith('code_execution_'))

/** Tools that code calls. Without the container of the code, its calls become the model's own. */
function fixCallers(body: JsonObject, report: Report, findings: readonly Finding[]): void {
  const tools = objectsOf(body['tools'])
  const runsCode = tools.some(tool => asText(tool['type']).startsWith('code_execution_'))
  const fromCode = tools.filter(tool => callsFromCode(tool['allowed_callers']))
  for (const tool of fromCode) {
    const name = quoted(asText(tool['name']))
    if (tool['strict'] === true) {
      delete tool['strict']
      report(`Turned off strict mode of ${name}: code calls it.`)
    }
    if (runsCode) continue
    delete tool['allowed_callers']
    report(`Dropped the callers of ${name}: no code execution tool is declared.`)
  }
  fixForced(body, fromCode, report)
  const adrift = findings.some(({ message }) => /container|only `tool_result` blocks/.test(message))
  if (adrift) dropCode(body, report)
}

function fixForced(body: JsonObject, fromCode: readonly JsonObject[], report: Report): void {
  const choice = body['tool_choice']
  if (fromCode.length === 0 || !isJsonObject(choice)) return
  const isForced = choice['type'] === 'tool' && fromCode.some(tool => tool['name'] === choice['name'])
  if (isForced) delete body['tool_choice']
  else if (choice['disable_parallel_tool_use'] === true) delete choice['disable_parallel_tool_use']
  else return
  report('Changed `tool_choice`: calls that code makes can be neither forced nor limited to one.')
}

function dropCode(body: JsonObject, report: Report): void {
  const waiting = new Set<string>()
  const asked = messagesIn(body).findLast(message => message['role'] === 'assistant')
  for (const block of asked === undefined ? [] : blocksIn(asked)) {
    const caller = block['caller']
    if (block['type'] !== 'tool_use' || !isJsonObject(caller) || caller['type'] === 'direct') continue
    waiting.add(asText(caller['tool_id']))
    delete block['caller']
  }
  if (waiting.size === 0) return
  for (const message of messagesIn(body))
    if (Array.isArray(message['content']))
      message['content'] = blocksIn(message).filter(
        block => !waiting.has(asText(block['id'])) && !waiting.has(asText(block['tool_use_id'])),
      )
  report('Turned calls of code into calls of the model: the container of the code is missing.')
}

/** Keeps the newest marks. */
function dropMarks(body: JsonObject, report: Report, findings: readonly Finding[]): void {
  if (!findings.some(({ message }) => message.includes('cache_control'))) return
  const marked = [
    ...objectsOf(body['tools']),
    ...objectsOf(body['system']),
    ...messagesIn(body).flatMap(message =>
      blocksIn(message).flatMap(block => [block, ...objectsOf(block['content'])]),
    ),
  ].filter(block => isJsonObject(block['cache_control']))
  const own = isJsonObject(body['cache_control']) ? 1 : 0
  for (const block of marked.slice(0, Math.max(0, marked.length + own - MOST_MARKS))) {
    delete block['cache_control']
    report(`Dropped a cache mark: a request has ${MOST_MARKS} at most.`)
  }
}

/** Blocks of unknown types become text. */
function unknownBlocksToText(body: JsonObject, report: Report, findings: readonly Finding[]): void {
  const places = findings.flatMap(({ message }) => {
    const found = /^messages\.(\d+)\.content\.(\d+)(?:\.tool_result\.content\.(\d+))?: Input tag/.exec(
      message,
    )
    return found === null ? [] : [found.slice(1).map(each => (each === undefined ? -1 : Number(each)))]
  })
  for (const [at = -1, place = -1, inner = -1] of places) {
    const content = messagesIn(body)[at]?.['content']
    const block = Array.isArray(content) ? content[place] : undefined
    const list = inner < 0 ? content : isJsonObject(block) ? block['content'] : undefined
    const index = inner < 0 ? place : inner
    const odd = Array.isArray(list) ? list[index] : undefined
    if (!Array.isArray(list) || !isJsonObject(odd)) continue
    const { text } = odd
    list[index] = { type: 'text', text: typeof text === 'string' ? text : JSON.stringify(odd) }
    report(`Wrote a block of the type ${quoted(asText(odd['type']))} as text.`)
  }
}

function addMessage(body: JsonObject, report: Report): void {
  if (!Array.isArray(body['messages']) || body['messages'].length > 0) return
  body['messages'] = [{ role: 'user', content: '(empty)' }]
  report('Added a message: there was none.')
}

export const anthropicExtras: readonly Repair[] = [
  {
    rules: ['A-28', 'A-00'],
    apply: dropFields(({ message }) => /^(.+): Extra inputs are not permitted/.exec(message)?.slice(1) ?? []),
  },
  { rules: ['A-00'], apply: addMessage },
  { rules: ['A-28'], apply: dropMarks },
  { rules: ['A-28'], apply: unknownBlocksToText },
  { rules: ['A-MCP'], apply: fixServers },
  { rules: ['A-TS'], apply: fixDeferral },
  { rules: ['A-PTC'], apply: fixCallers },
  { rules: ['A-07'], apply: dropTools(/^tools\.(\d+):/) },
]
