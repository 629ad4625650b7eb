// Checks a configuration before anything runs. Every mistake is reported with its key and what to do. The types are in
// config.ts.

import { isKeyEntry } from '../callers/keys.ts'
import { defaultOwnerLimits, defaultWalletLimits } from '../callers/owner-limits.ts'
import { isPostgresUrl } from '../data/data-place.ts'
import { checkRetention } from '../data/retention.ts'
import type { Store, Tool } from '../engine/ports/index.ts'
import { checkCluster } from '../engines/cluster/check-settings.ts'
import { TurnwireError } from '../language/errors.ts'
import {
  checkCount,
  checkKinds,
  checkKnown,
  checkSwitches,
  checkTexts,
  type Fields,
  isRecord,
  type Wrong,
} from '../lib/checks/fields.ts'
import { logLevels } from '../log.ts'
import { checkPayments } from '../payments/check-settings.ts'
import { checkLimits, createGate } from '../policy/index.ts'
import { checkRelay } from '../relay/check-settings.ts'
import { checkSearch } from './agent-search.ts'
import { checkEgress, checkHooks, checkTelemetry } from './check-hooks.ts'
import { checkOffers, checkServing } from './check-offers.ts'
import { checkAnswer, checkCode } from './check-values.ts'
import { serverDefaults, type TurnwireConfig } from './config.ts'
import { checkAgentServers, checkMcp } from './mcp-config.ts'
import { checkModels, isModel } from './named-models.ts'

/** Throws with every mistake, each with its key and what to do. `source` is the file, or how it was given. */
export function checkConfig(config: unknown, source: string): asserts config is TurnwireConfig {
  const mistakes: string[] = []
  const wrong = (key: string, words: string): void => void mistakes.push(`${key}: ${words}`)
  if (!isRecord(config)) wrong('(config)', 'export default defineConfig({ … }) is missing or not an object.')
  else if (typeof config['then'] === 'function')
    wrong('(config)', 'is a promise. Export the object itself: the file may use await at its top level.')
  else checkAll(config, wrong)
  if (mistakes.length === 0) return
  throw new TurnwireError(
    'config_invalid',
    `${source} cannot be used:\n${mistakes.map(line => `  ${line}`).join('\n')}`,
  )
}

function checkAll(config: Fields, wrong: Wrong): void {
  checkKnown(
    config,
    [
      'agents',
      'models',
      'mcp',
      'policy',
      'limits',
      'callsAtOnce',
      'egress',
      'hooks',
      'context',
      'server',
      'relay',
      'payments',
      'telemetry',
      'data',
    ],
    '',
    wrong,
  )
  checkCount(config['callsAtOnce'], 'callsAtOnce', wrong)
  const names = checkModels(config['models'], wrong)
  const servers = checkMcp(config['mcp'], wrong)
  const agents = config['agents']
  // A server may be a relay and nothing else.
  const isRelay = Array.isArray(agents) && config['relay'] !== undefined
  if (!Array.isArray(agents) || (agents.length === 0 && !isRelay))
    wrong('agents', 'must list at least one agent.')
  else {
    const seen = new Set<unknown>()
    agents.forEach((agent: unknown, index) => {
      checkAgent(agent, `agents[${index}]`, names, wrong)
      checkAgentServers(agent, `agents[${index}]`, servers, wrong)
      const name = isRecord(agent) ? agent['name'] : undefined
      if (seen.has(name)) wrong(`agents[${index}].name`, `"${String(name)}" is taken by an agent before it.`)
      seen.add(name)
    })
  }
  checkPolicy(config['policy'], wrong)
  checkLimitValues(config['limits'], 'limits', wrong)
  checkEgress(config['egress'], wrong)
  checkHooks(config['hooks'], wrong)
  checkTelemetry(config['telemetry'], wrong)
  checkServer(config['server'], wrong)
  checkRelay(config['relay'], wrong)
  checkPayments(config['payments'], agents, wrong)
  checkData(config['data'], wrong)
}

const dataHelp = 'must be a folder, "memory", a postgres:// address, or a store.'

function checkData(data: unknown, wrong: Wrong): void {
  if (data === undefined || isStore(data)) return
  if (typeof data !== 'string' || data.trim() === '') wrong('data', dataHelp)
  else if (isAddress(data) && !isPostgresUrl(data)) wrong('data', dataHelp)
}

const agentKeys = [
  'name',
  'title',
  'version',
  'description',
  'system',
  'model',
  'tools',
  'code',
  'search',
  'always',
  'options',
  'rules',
  'limits',
  'choice',
  'parallel',
  'callsAtOnce',
  'maxTokens',
  'answer',
  'compaction',
  'clientTools',
  'agentGrants',
  'mcpServers',
  'images',
  'retention',
  'responses',
  'serveMcp',
  'price',
  'resources',
  'prompts',
]

function checkAgent(agent: unknown, key: string, models: readonly string[], wrong: Wrong): void {
  if (!isRecord(agent)) {
    wrong(key, 'must be an object.')
    return
  }
  checkKnown(agent, agentKeys, `${key}.`, wrong)
  const { name, model, tools, options } = agent
  if (typeof name !== 'string' || !/^[\w.-]{1,64}$/.test(name))
    wrong(`${key}.name`, 'must be 1 to 64 letters, digits, ".", "_" or "-".')
  if (typeof model === 'string' && !models.includes(model))
    wrong(
      `${key}.model`,
      `there is no model named "${model}" in models${models.length > 0 ? ` (there are: ${models.join(', ')})` : ''}. A vendor's model is made by its provider, such as anthropic({ model }).`,
    )
  else if (typeof model !== 'string' && !isModel(model))
    wrong(`${key}.model`, 'must be a model or the name of one: try rehearsal(), which needs no key.')
  checkRetention(agent['retention'], `${key}.retention`, wrong)
  checkSwitches(agent['responses'], ['serverTools'], `${key}.responses`, wrong)
  checkServing(agent['serveMcp'], `${key}.serveMcp`, wrong)
  checkOffers(agent, key, wrong)
  checkSwitches(agent['images'], ['http', 'data'], `${key}.images`, wrong)
  const texts = { title: 'string', version: 'string', description: 'string', system: 'string' } as const
  checkKinds(
    agent,
    { ...texts, parallel: 'boolean', clientTools: 'boolean', agentGrants: 'boolean', maxTokens: 'number' },
    `${key}.`,
    wrong,
  )
  checkSearch(agent, key, wrong)
  checkRules(agent['rules'], `${key}.rules`, wrong)
  checkLimitValues(agent['limits'], `${key}.limits`, wrong)
  const { choice } = agent
  if (
    choice !== undefined &&
    !isRecord(choice) &&
    choice !== 'auto' &&
    choice !== 'none' &&
    choice !== 'required'
  )
    wrong(`${key}.choice`, 'must be "auto", "none", "required", { tool } or { allowed, mode }.')
  checkToolList(tools, `${key}.tools`, wrong)
  checkCompaction(agent['compaction'], `${key}.compaction`, wrong)
  checkOptions(options, `${key}.options`, wrong)
  checkAnswer(agent['answer'], `${key}.answer`, wrong)
  checkCount(agent['callsAtOnce'], `${key}.callsAtOnce`, wrong)
  checkCode(agent['code'], tools, `${key}.code`, wrong)
}

function checkToolList(tools: unknown, key: string, wrong: Wrong): void {
  if (tools === undefined) return
  if (!Array.isArray(tools)) {
    wrong(key, 'must be a list.')
    return
  }
  const seen = new Set<string>()
  for (let index = 0; index < tools.length; index += 1) {
    const tool: unknown = tools[index]
    if (!isTool(tool))
      wrong(`${key}[${index}]`, 'is not a tool: make it with tool({ name, description, input, run }).')
    else if (seen.has(tool.name)) wrong(`${key}[${index}]`, `"${tool.name}" is the name of a tool before it.`)
    else seen.add(tool.name)
  }
}

function checkCompaction(compaction: unknown, key: string, wrong: Wrong): void {
  if (compaction === undefined) return
  if (!isRecord(compaction)) {
    wrong(key, 'must be an object such as { afterTokens: 150000 }.')
    return
  }
  checkKnown(compaction, ['afterTokens', 'keepEntries', 'instructions'], `${key}.`, wrong)
  const { afterTokens, keepEntries, instructions } = compaction
  const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) > 0
  if (!isCount(afterTokens)) wrong(`${key}.afterTokens`, 'must be a whole number above 0.')
  if (keepEntries !== undefined && !isCount(keepEntries))
    wrong(`${key}.keepEntries`, 'must be a whole number above 0.')
  if (instructions !== undefined && (typeof instructions !== 'string' || instructions.trim() === ''))
    wrong(`${key}.instructions`, 'must be text that says what to write.')
}

const policyKeys = [
  'rules',
  'redact',
  'maxArgumentBytes',
  'maxDepth',
  'maxOutputBytes',
  'mediaLimit',
  'clientOutputLimit',
  'onRuleFailure',
]

function checkPolicy(policy: unknown, wrong: Wrong): void {
  if (policy === undefined) return
  if (!isRecord(policy)) {
    wrong('policy', 'must be an object such as { rules: [] }.')
    return
  }
  checkKnown(policy, policyKeys, 'policy.', wrong)
  checkMade(() => createGate(policy), 'policy', wrong)
}

function checkRules(rules: unknown, key: string, wrong: Wrong): void {
  if (rules === undefined) return
  if (!Array.isArray(rules)) wrong(key, 'must be a list of rules.')
  else checkMade(() => createGate({ rules }), key.slice(0, key.lastIndexOf('.')), wrong)
}

function checkLimitValues(limits: unknown, key: string, wrong: Wrong): void {
  if (limits === undefined) return
  if (!isRecord(limits)) wrong(key, 'must be an object such as { steps: 20 }.')
  else checkMade(() => checkLimits(limits), key, wrong)
}

/** Reports what `make` throws under the operator's key. `make` itself names a rule `policy[n]`. */
function checkMade(make: () => unknown, key: string, wrong: Wrong): void {
  try {
    make()
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    const [, list, place, words] = /^(policy|redact)(\[\d+\]\S*) ([\s\S]*)$/.exec(message) ?? []
    if (place === undefined || words === undefined) wrong(key, message)
    else wrong(`${key}.${list === 'policy' ? 'rules' : list}${place}`, words)
  }
}

const optionKeys = ['name', 'type', 'title', 'description', 'default', 'options', 'category', 'required']

function checkOptions(options: unknown, key: string, wrong: Wrong): void {
  if (options === undefined) return
  if (!Array.isArray(options)) {
    wrong(key, 'must be a list.')
    return
  }
  const seen = new Set<string>()
  options.forEach((option: unknown, index) => {
    checkOption(option, `${key}[${index}]`, wrong)
    const name = isRecord(option) ? option['name'] : undefined
    if (typeof name !== 'string') return
    if (seen.has(name)) wrong(`${key}[${index}].name`, `"${name}" is the name of an option before it.`)
    seen.add(name)
  })
}

function checkOption(option: unknown, key: string, wrong: Wrong): void {
  if (!isRecord(option)) {
    wrong(key, 'must be an object.')
    return
  }
  checkKnown(option, optionKeys, `${key}.`, wrong)
  const { name, type, default: value, options } = option
  if (typeof name !== 'string' || name === '') wrong(`${key}.name`, 'is missing.')
  if (type !== 'text' && type !== 'select' && type !== 'secret')
    wrong(`${key}.type`, 'must be "text", "select" or "secret".')
  if (typeof value !== 'string') wrong(`${key}.default`, 'must be a string (all options are strings).')
  if (type === 'select' && !(Array.isArray(options) && options.includes(value)))
    wrong(`${key}.options`, 'must list the choices, the default among them.')
}

const serverKeys = [
  'host',
  'port',
  'hosts',
  'publicUrl',
  'origins',
  'keys',
  'bodyBytes',
  'requestMs',
  'heartbeatMs',
  'unsentBytes',
  'stallMs',
  'graceMs',
  'perOwner',
  'allWallets',
  'acp',
  'anyModel',
  'responses',
  'log',
  'cluster',
]

function checkServer(server: unknown, wrong: Wrong): void {
  if (server === undefined) return
  if (!isRecord(server)) {
    wrong('server', 'must be an object.')
    return
  }
  checkKnown(server, serverKeys, 'server.', wrong)
  checkKinds(server, { host: 'string' }, 'server.', wrong)
  const hostWords =
    'must be a list of names such as "app.example" or "app.example:8443", without https:// before them.'
  checkTexts(server['hosts'], /^[^\s/]+$/, hostWords, 'server.hosts', wrong)
  const originWords =
    'must be a list such as ["https://app.example"]: https:// and the name, no slash at the end; or ["*"].'
  checkTexts(
    server['origins'],
    /^(?:\*|[a-z][a-z\d+.-]*:\/\/[^\s/]+)$/i,
    originWords,
    'server.origins',
    wrong,
  )
  const { log, keys, publicUrl } = server
  if (publicUrl !== undefined && !(typeof publicUrl === 'string' && /^https?:\/\/[^\s/]+$/.test(publicUrl)))
    wrong('server.publicUrl', 'must be like "https://agent.example", without a slash at the end.')
  if (log !== undefined && !logLevels.some(level => level === log))
    wrong('server.log', `must be one of: ${logLevels.join(', ')}.`)
  if (keys !== undefined && !(Array.isArray(keys) && keys.every(isKeyEntry)))
    wrong(
      'server.keys',
      'must be a list of { name, sha256 }, the hash in base64url as `turnwire keys add` keeps it.',
    )
  const { port } = server
  if (port !== undefined && !(Number.isInteger(port) && Number(port) >= 0 && Number(port) <= 65535))
    wrong('server.port', 'must be a whole number from 0 (any free port) to 65535.')
  if (server['acp'] !== undefined && typeof server['acp'] !== 'boolean')
    wrong('server.acp', 'must be true or false.')
  checkKinds(server, { anyModel: 'boolean' }, 'server.', wrong)
  checkSwitches(server['responses'], ['store'], 'server.responses', wrong)
  checkCounts(server, Object.keys(serverDefaults), 'server.', wrong)
  checkOwnerLimits(server['perOwner'], defaultOwnerLimits, 'server.perOwner', wrong)
  checkOwnerLimits(server['allWallets'], defaultWalletLimits, 'server.allWallets', wrong)
  checkCluster(server['cluster'], wrong)
}

function checkOwnerLimits(limits: unknown, defaults: object, key: string, wrong: Wrong): void {
  if (limits === undefined) return
  if (!isRecord(limits)) {
    wrong(key, 'must be an object such as { requests: 100 }.')
    return
  }
  const names = Object.keys(defaults)
  checkKnown(limits, names, `${key}.`, wrong)
  checkCounts(limits, names, `${key}.`, wrong)
}

function checkCounts(fields: Fields, names: readonly string[], prefix: string, wrong: Wrong): void {
  for (const name of names) {
    const value = fields[name]
    if (value !== undefined && !(Number.isSafeInteger(value) && Number(value) > 0))
      wrong(`${prefix}${name}`, 'must be a whole number above 0.')
  }
}

/** A tool as `tool()` makes it. The argument of `tool()` alone has no input form and no side. */
function isTool(value: unknown): value is Tool {
  if (!isRecord(value) || typeof value['name'] !== 'string' || typeof value['run'] !== 'function')
    return false
  const { input, side, trust } = value
  const declared = isRecord(input) && (input['form'] === 'json' || input['form'] === 'text')
  return declared && side === 'server' && typeof trust === 'string'
}

function isStore(value: unknown): value is Store {
  return isRecord(value) && typeof value['append'] === 'function' && typeof value['read'] === 'function'
}

/** `postgres://…`, `file:…`. A drive letter of Windows is no scheme. */
function isAddress(text: string): boolean {
  return /^[a-z][a-z\d+.-]+:/i.test(text)
}
