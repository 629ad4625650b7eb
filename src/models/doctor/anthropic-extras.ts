// Repairs of what stands beside a conversation in an Anthropic request: MCP servers, tools that load later, tools that
// code calls, cache marks, and fields and blocks that the API does not know.

import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'
import { dropTools } from './foreign.ts'
import {
  atPath,
  type Did,
  type Finding,
  objectsOf,
  removeAt,
  shown,
  stringOf,
  type Treatment,
} from './treatment.ts'

const MOST_MARKS = 4

const messagesOf = (body: JsonObject): JsonObject[] => objectsOf(body['messages'])
const blocksOf = (message: JsonObject): JsonObject[] => objectsOf(message['content'])

/** Each server is used by one toolset, and each toolset uses a server. */
function fixServers(body: JsonObject, did: Did): void {
  const toolsets = objectsOf(body['tools']).filter(tool => tool['type'] === 'mcp_toolset')
  const used = new Set(toolsets.map(tool => stringOf(tool['mcp_server_name'])))
  const seen = new Set<string>()
  const servers = objectsOf(body['mcp_servers']).filter(server => {
    const name = stringOf(server['name'])
    const whole = ['type', 'name', 'url'].every(key => typeof server[key] === 'string')
    if (whole && used.has(name) && !seen.has(name)) return seen.add(name)
    did(`Dropped the MCP server ${shown(name)}: it is not whole, or not used by exactly one toolset.`)
    return false
  })
  if (servers.length > 0) body['mcp_servers'] = servers
  else delete body['mcp_servers']
  const taken = new Set<string>()
  body['tools'] = objectsOf(body['tools']).filter(tool => {
    if (tool['type'] !== 'mcp_toolset') return true
    const name = stringOf(tool['mcp_server_name'])
    if (seen.has(name) && !taken.has(name)) return taken.add(name)
    did(
      `Dropped a toolset of the MCP server ${shown(name)}: it is not among the servers, or has one already.`,
    )
    return false
  })
  if (objectsOf(body['tools']).length === 0) delete body['tools']
}

/** Tools that load later: the search is there from the start, one tool is too, and what was found is declared. */
function fixDeferral(body: JsonObject, did: Did, findings: readonly Finding[]): void {
  const tools = objectsOf(body['tools'])
  for (const { message } of findings) {
    const gone = /^Tool reference '(.+)' has no/.exec(message)?.[1]
    if (gone !== undefined && !tools.some(tool => tool['name'] === gone)) {
      tools.push({
        name: gone,
        description: 'No longer available.',
        input_schema: { type: 'object', properties: {} },
      })
      did(`Declared the tool ${shown(gone)}, which a search has found, as no longer available.`)
    }
  }
  for (const tool of tools.filter(each => each['defer_loading'] === true)) {
    const isSearch = stringOf(tool['type']).startsWith('tool_search_tool')
    if (isSearch) {
      delete tool['defer_loading']
      did('Loaded the search tool from the start.')
    } else if (tool['cache_control'] !== undefined) {
      delete tool['cache_control']
      did(`Dropped the cache mark of ${shown(stringOf(tool['name']))}, which loads later.`)
    }
  }
  const [first] = tools
  if (first !== undefined && tools.every(tool => tool['defer_loading'] === true)) {
    delete first['defer_loading']
    did(`Loaded ${shown(stringOf(first['name']))} from the start: one tool must be.`)
  }
  body['tools'] = tools
}

const callsFromCode = (callers: Json | undefined): boolean =>
  Array.isArray(callers) && callers.some(caller => stringOf(caller).startsWith('code_execution_'))

/** Tools that code calls. Without the container in which the code waits, its calls are the model's own. */
function fixCallers(body: JsonObject, did: Did, findings: readonly Finding[]): void {
  const tools = objectsOf(body['tools'])
  const runsCode = tools.some(tool => stringOf(tool['type']).startsWith('code_execution_'))
  const fromCode = tools.filter(tool => callsFromCode(tool['allowed_callers']))
  for (const tool of fromCode) {
    const name = shown(stringOf(tool['name']))
    if (tool['strict'] === true) {
      delete tool['strict']
      did(`Took strictness from ${name}: code calls it.`)
    }
    if (runsCode) continue
    delete tool['allowed_callers']
    did(`Dropped the callers of ${name}: no code can run.`)
  }
  fixForced(body, fromCode, did)
  const adrift = findings.some(({ message }) => /container|only `tool_result` blocks/.test(message))
  if (adrift) dropCode(body, did)
}

function fixForced(body: JsonObject, fromCode: readonly JsonObject[], did: Did): void {
  const choice = body['tool_choice']
  if (fromCode.length === 0 || !isJsonObject(choice)) return
  const isForced = choice['type'] === 'tool' && fromCode.some(tool => tool['name'] === choice['name'])
  if (isForced) delete body['tool_choice']
  else if (choice['disable_parallel_tool_use'] === true) delete choice['disable_parallel_tool_use']
  else return
  did('Left the calls to the code that makes them: they are neither forced nor limited to one at a time.')
}

function dropCode(body: JsonObject, did: Did): void {
  const waiting = new Set<string>()
  const asked = messagesOf(body).findLast(message => message['role'] === 'assistant')
  for (const block of asked === undefined ? [] : blocksOf(asked)) {
    const caller = block['caller']
    if (block['type'] !== 'tool_use' || !isJsonObject(caller) || caller['type'] === 'direct') continue
    waiting.add(stringOf(caller['tool_id']))
    delete block['caller']
  }
  if (waiting.size === 0) return
  for (const message of messagesOf(body))
    if (Array.isArray(message['content']))
      message['content'] = blocksOf(message).filter(
        block => !waiting.has(stringOf(block['id'])) && !waiting.has(stringOf(block['tool_use_id'])),
      )
  did('Told the calls of code whose container is not at hand as the model\u2019s own.')
}

/** The newest marks are worth the most. */
function dropMarks(body: JsonObject, did: Did, findings: readonly Finding[]): void {
  if (!findings.some(({ message }) => message.includes('cache_control'))) return
  const marked = [
    ...objectsOf(body['tools']),
    ...objectsOf(body['system']),
    ...messagesOf(body).flatMap(message =>
      blocksOf(message).flatMap(block => [block, ...objectsOf(block['content'])]),
    ),
  ].filter(block => isJsonObject(block['cache_control']))
  const own = isJsonObject(body['cache_control']) ? 1 : 0
  for (const block of marked.slice(0, Math.max(0, marked.length + own - MOST_MARKS))) {
    delete block['cache_control']
    did(`Dropped a mark for the cache: a request has ${MOST_MARKS} at most.`)
  }
}

/** Blocks of other vendors: texts stay texts, anything else is told as what it is. */
function retellBlocks(body: JsonObject, did: Did, findings: readonly Finding[]): void {
  const places = findings.flatMap(({ message }) => {
    const found = /^messages\.(\d+)\.content\.(\d+)(?:\.tool_result\.content\.(\d+))?: Input tag/.exec(
      message,
    )
    return found === null ? [] : [found.slice(1).map(each => (each === undefined ? -1 : Number(each)))]
  })
  for (const [at = -1, place = -1, inner = -1] of places) {
    const content = messagesOf(body)[at]?.['content']
    const block = Array.isArray(content) ? content[place] : undefined
    const list = inner < 0 ? content : isJsonObject(block) ? block['content'] : undefined
    const index = inner < 0 ? place : inner
    const odd = Array.isArray(list) ? list[index] : undefined
    if (!Array.isArray(list) || !isJsonObject(odd)) continue
    const { text } = odd
    list[index] = { type: 'text', text: typeof text === 'string' ? text : JSON.stringify(odd) }
    did(`Wrote a block of the type ${shown(stringOf(odd['type']))} as text.`)
  }
}

function dropExtra(body: JsonObject, did: Did, findings: readonly Finding[]): void {
  for (const { message } of findings) {
    const path = /^(.+): Extra inputs are not permitted/.exec(message)?.[1]
    if (path === undefined || atPath(body, path) === undefined) continue
    if (removeAt(body, path)) did(`Dropped \`${path}\`, which is no field of this API.`)
    return
  }
}

function addMessage(body: JsonObject, did: Did): void {
  if (!Array.isArray(body['messages']) || body['messages'].length > 0) return
  body['messages'] = [{ role: 'user', content: '(empty)' }]
  did('Added a message: there was none.')
}

export const anthropicExtras: readonly Treatment[] = [
  { rules: ['A-28', 'A-00'], apply: dropExtra },
  { rules: ['A-00'], apply: addMessage },
  { rules: ['A-28'], apply: dropMarks },
  { rules: ['A-28'], apply: retellBlocks },
  { rules: ['A-MCP'], apply: fixServers },
  { rules: ['A-TS'], apply: fixDeferral },
  { rules: ['A-PTC'], apply: fixCallers },
  { rules: ['A-07'], apply: dropTools(/^tools\.(\d+):/) },
]
