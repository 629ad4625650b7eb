/**
 * What Anthropic refuses about tools as they are declared: names, kinds, schemas, the tool choice, deferred
 * loading, programmatic callers and MCP toolsets. It looks at no message; those are in `anthropic-history.ts`.
 */

import type { Rejection } from '../script.ts'
import { extraKeys, isRecord, type JsonRecord, listOf, recordsOf, stringOf } from '../shape.ts'
import { checkInputSchema, checkStrictTools } from './schema.ts'

const NAME = /^[a-zA-Z0-9_-]{1,128}$/
const CUSTOM_KEYS = [
  'type',
  'name',
  'description',
  'input_schema',
  'strict',
  'eager_input_streaming',
  'defer_loading',
  'allowed_callers',
  'input_examples',
  'cache_control',
]
const COMMON = ['type', 'name', 'cache_control', 'defer_loading', 'allowed_callers', 'strict']
const WEB = [...COMMON, 'max_uses', 'allowed_domains', 'blocked_domains', 'response_inclusion']

type Kind = { pattern: RegExp; name: string | null; keys: readonly string[] }

/** Tools that Anthropic itself defines. `name: null`: a set of tools, which carries no name. */
const KINDS: readonly Kind[] = [
  { pattern: /^bash_(20241022|20250124)$/, name: 'bash', keys: [...COMMON, 'input_examples'] },
  {
    pattern: /^text_editor_(20250429|20250728)$/,
    name: 'str_replace_based_edit_tool',
    keys: [...COMMON, 'input_examples', 'max_characters'],
  },
  {
    pattern: /^text_editor_(20241022|20250124)$/,
    name: 'str_replace_editor',
    keys: [...COMMON, 'input_examples'],
  },
  { pattern: /^memory_20250818$/, name: 'memory', keys: [...COMMON, 'input_examples'] },
  {
    pattern: /^computer_(20241022|20250124|20251124)$/,
    name: 'computer',
    keys: [
      ...COMMON,
      'input_examples',
      'display_width_px',
      'display_height_px',
      'display_number',
      'enable_zoom',
    ],
  },
  {
    pattern: /^(computer|browser)_toolset_20260801$/,
    name: null,
    keys: ['type', 'cache_control', 'configs'],
  },
  {
    pattern: /^web_search_(20250305|20260209|20260318)$/,
    name: 'web_search',
    keys: [...WEB, 'user_location'],
  },
  {
    pattern: /^web_fetch_(20250910|20260209|20260309|20260318)$/,
    name: 'web_fetch',
    keys: [...WEB, 'max_content_tokens', 'citations', 'url_sources', 'use_cache'],
  },
  { pattern: /^code_execution_(20250522|20250825|20260120|20260521)$/, name: 'code_execution', keys: COMMON },
  { pattern: /^tool_search_tool_regex(_20251119)?$/, name: 'tool_search_tool_regex', keys: COMMON },
  { pattern: /^tool_search_tool_bm25(_20251119)?$/, name: 'tool_search_tool_bm25', keys: COMMON },
  { pattern: /^advisor_20260301$/, name: 'advisor', keys: [...COMMON, 'model', 'max_uses', 'caching'] },
  {
    pattern: /^mcp_toolset$/,
    name: null,
    keys: ['type', 'mcp_server_name', 'cache_control', 'configs', 'default_config', 'tools'],
  },
]

export const invalid = (rule: string, message: string): Rejection => ({
  rule,
  status: 400,
  type: 'invalid_request_error',
  message,
})

export const isCustom = (tool: JsonRecord): boolean =>
  tool['type'] === undefined || tool['type'] === null || tool['type'] === 'custom'

const kindOf = (tool: JsonRecord): Kind | undefined =>
  KINDS.find(kind => kind.pattern.test(stringOf(tool['type'])))

/** Whether a server tool of this block name (`web_search`, `bash_code_execution`, …) is declared. */
export function declaresServerTool(tools: unknown, name: string): boolean {
  const family = name.endsWith('code_execution') ? 'code_execution' : name
  return recordsOf(tools).some(tool => kindOf(tool)?.name === family)
}

export function checkTools(body: JsonRecord): Rejection[] {
  const tools = body['tools']
  if (tools === undefined) return []
  if (!Array.isArray(tools)) return [invalid('A-00', 'tools: Input should be a valid list')]
  return [
    ...tools.flatMap((tool, at) => checkTool(tool, at)),
    ...checkNamesUnique(tools),
    ...checkStrict(tools),
    ...checkDeferral(tools),
    ...checkCallers(tools, body['tool_choice']),
  ]
}

function checkTool(tool: unknown, index: number): Rejection[] {
  if (!isRecord(tool)) return [invalid('A-00', `tools.${index}: Input should be an object`)]
  if (isCustom(tool)) return checkCustomTool(tool, `tools.${index}.custom`)
  const kind = kindOf(tool)
  const type = stringOf(tool['type'])
  if (kind === undefined) {
    return [
      invalid(
        'A-07',
        `tools.${index}: Input tag '${type}' found using 'type' does not match any of the expected tags: 'bash_20250124', 'custom', 'memory_20250818', 'text_editor_20250728', 'web_search_20260318'`,
      ),
    ]
  }
  const at = `tools.${index}.${type}`
  const found = extraKeys(tool, kind.keys).map(key => extra(`${at}.${key}`))
  if (kind.name !== null && tool['name'] !== kind.name) {
    found.push(invalid('A-07', `${at}.name: Input should be '${kind.name}'`))
  }
  return found
}

export const extra = (path: string): Rejection => invalid('A-28', `${path}: Extra inputs are not permitted`)

function checkCustomTool(tool: JsonRecord, at: string): Rejection[] {
  const found: Rejection[] = []
  if (tool['name'] === undefined) found.push(invalid('A-07', `${at}.name: Field required`))
  else if (!NAME.test(stringOf(tool['name']))) {
    found.push(invalid('A-07', `${at}.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`))
  }
  for (const complaint of checkInputSchema(tool['input_schema'], at)) {
    found.push(invalid(complaint.rule, complaint.message))
  }
  if (tool['description'] !== undefined && typeof tool['description'] !== 'string') {
    found.push(invalid('A-00', `${at}.description: Input should be a valid string`))
  }
  return [...found, ...extraKeys(tool, CUSTOM_KEYS).map(key => extra(`${at}.${key}`))]
}

function checkNamesUnique(tools: unknown[]): Rejection[] {
  const names = recordsOf(tools).flatMap(tool => (typeof tool['name'] === 'string' ? [tool['name']] : []))
  return new Set(names).size === names.length ? [] : [invalid('A-08', 'tools: Tool names must be unique.')]
}

function checkStrict(tools: unknown[]): Rejection[] {
  const strict = tools.flatMap((tool, at) =>
    isRecord(tool) && isCustom(tool) && tool['strict'] === true && isRecord(tool['input_schema'])
      ? [{ schema: tool['input_schema'], at: `tools.${at}.custom` }]
      : [],
  )
  return checkStrictTools(strict).map(complaint => invalid(complaint.rule, complaint.message))
}

const isSearch = (tool: JsonRecord): boolean => stringOf(tool['type']).startsWith('tool_search_tool_')

function checkDeferral(tools: unknown[]): Rejection[] {
  const found: Rejection[] = []
  const named = recordsOf(tools)
  const deferred = named.filter(tool => tool['defer_loading'] === true)
  for (const tool of deferred) {
    const name = stringOf(tool['name'])
    if (isSearch(tool)) {
      found.push(
        invalid('A-TS', `Tool '${name}' cannot be deferred: a tool search tool must always be loaded.`),
      )
    }
    if (isRecord(tool['cache_control'])) {
      found.push(
        invalid(
          'A-TS',
          `Tool '${name}' cannot have both defer_loading=true and cache_control set. Tools with defer_loading cannot use prompt caching.`,
        ),
      )
    }
  }
  if (named.length > 0 && deferred.length === named.length) {
    found.push(invalid('A-TS', 'All tools have defer_loading set. At least one tool must be non-deferred.'))
  }
  return found
}

/** Programmatic tool calling: what a tool called from code may not also be. */
function checkCallers(tools: unknown[], choice: unknown): Rejection[] {
  const fromCode = recordsOf(tools).filter(tool =>
    listOf(tool['allowed_callers']).some(caller => stringOf(caller).startsWith('code_execution_')),
  )
  if (fromCode.length === 0) return []
  const found: Rejection[] = []
  if (!recordsOf(tools).some(tool => /^code_execution_(20250825|2026)/.test(stringOf(tool['type'])))) {
    found.push(
      invalid(
        'A-PTC',
        'tools: `allowed_callers` names code execution, but no code execution tool was provided.',
      ),
    )
  }
  for (const tool of fromCode) {
    const name = stringOf(tool['name'])
    if (tool['strict'] === true) {
      found.push(
        invalid(
          'A-PTC',
          `tools: \`strict\` is not supported with programmatic tool calling (tool '${name}').`,
        ),
      )
    }
    if (isRecord(choice) && choice['type'] === 'tool' && choice['name'] === name) {
      found.push(invalid('A-PTC', `tool_choice: tool '${name}' is called from code and cannot be forced.`))
    }
  }
  if (isRecord(choice) && choice['disable_parallel_tool_use'] === true) {
    found.push(
      invalid(
        'A-PTC',
        'tool_choice: `disable_parallel_tool_use` is not supported with programmatic tool calling.',
      ),
    )
  }
  return found
}

const CHOICE_KEYS: Readonly<Record<string, readonly string[]>> = {
  auto: ['type', 'disable_parallel_tool_use'],
  any: ['type', 'disable_parallel_tool_use'],
  tool: ['type', 'name', 'disable_parallel_tool_use'],
  none: ['type'],
}

export function checkToolChoice(body: JsonRecord): Rejection[] {
  const choice = body['tool_choice']
  if (choice === undefined) return []
  if (!isRecord(choice)) return [invalid('A-16', 'tool_choice: Input should be an object')]
  const type = stringOf(choice['type'])
  const keys = CHOICE_KEYS[type]
  if (keys === undefined) {
    return [
      invalid(
        'A-16',
        `tool_choice: Input tag '${type}' found using 'type' does not match any of the expected tags: 'auto', 'any', 'tool', 'none'`,
      ),
    ]
  }
  const found = extraKeys(choice, keys).map(key => extra(`tool_choice.${type}.${key}`))
  if (listOf(body['tools']).length === 0) {
    found.push(invalid('A-16', 'tool_choice may only be specified while providing tools.'))
  } else if (type === 'tool' && typeof choice['name'] !== 'string') {
    found.push(invalid('A-16', 'tool_choice.tool.name: Field required'))
  } else if (type === 'tool' && !recordsOf(body['tools']).some(tool => tool['name'] === choice['name'])) {
    found.push(invalid('A-16', `Tool '${stringOf(choice['name'])}' not found in provided tools`))
  }
  const thinking = body['thinking']
  const thinks = isRecord(thinking) && (thinking['type'] === 'enabled' || thinking['type'] === 'adaptive')
  if (thinks && (type === 'any' || type === 'tool')) {
    found.push(invalid('A-17', 'Thinking may not be enabled when tool_choice forces tool use.'))
  }
  return found
}

/** Without the beta header neither the field, nor the tool, nor a block of the connector is known. */
function lockedMcp(body: JsonRecord, servers: unknown, toolsets: JsonRecord[]): Rejection[] {
  if (servers !== undefined) return [extra('mcp_servers')]
  if (toolsets.length > 0) return [extra('tools.0.mcp_toolset')]
  return recordsOf(body['messages']).flatMap((message, index) =>
    recordsOf(message['content']).flatMap((block, place) => {
      const type = stringOf(block['type'])
      if (!type.startsWith('mcp_tool_')) return []
      const at = `messages.${index}.content.${place}`
      return [
        invalid(
          'A-MCP',
          `${at}: Input tag '${type}' found using 'type' does not match any of the expected tags`,
        ),
      ]
    }),
  )
}

/** The MCP connector: a beta field, and every server is used by exactly one toolset. */
export function checkMcp(body: JsonRecord, betas: readonly string[] | null): Rejection[] {
  const servers = body['mcp_servers']
  const toolsets = recordsOf(body['tools']).filter(tool => tool['type'] === 'mcp_toolset')
  const isUnlocked = betas === null || betas.some(beta => beta.startsWith('mcp-client-'))
  if (!isUnlocked) return lockedMcp(body, servers, toolsets)
  if (servers === undefined && toolsets.length === 0) return []
  if (servers !== undefined && !Array.isArray(servers)) {
    return [invalid('A-MCP', 'mcp_servers: Input should be a valid list')]
  }
  const found: Rejection[] = []
  const names = recordsOf(servers).map(server => stringOf(server['name']))
  if (new Set(names).size !== names.length) {
    found.push(invalid('A-MCP', 'mcp_servers: MCP server names must be unique'))
  }
  for (const [at, server] of recordsOf(servers).entries()) {
    for (const field of ['type', 'name', 'url']) {
      if (typeof server[field] !== 'string')
        found.push(invalid('A-MCP', `mcp_servers.${at}.${field}: Field required`))
    }
  }
  for (const toolset of toolsets) {
    const name = stringOf(toolset['mcp_server_name'])
    if (!names.includes(name)) {
      found.push(
        invalid('A-MCP', `tools: mcp_toolset names MCP server '${name}', which is not in mcp_servers`),
      )
    }
  }
  for (const name of names) {
    const uses = toolsets.filter(toolset => toolset['mcp_server_name'] === name).length
    if (uses !== 1) {
      found.push(
        invalid(
          'A-MCP',
          `mcp_servers: MCP server '${name}' must be referenced by exactly one mcp_toolset, found ${uses}`,
        ),
      )
    }
  }
  return found
}
