// Checks a configuration before anything runs. Every mistake is reported with its key and what to do. The table in
// settings.ts checks single settings; this file checks settings that depend on one another. The types are in config.ts.
import { TurnwireError } from '../language/errors.ts'
import { type Fields, isRecord, type Wrong } from '../lib/checks/fields.ts'
import { checkPayments } from '../payments/config.ts'
import { defaultCodeName } from '../tools/index.ts'
import { checkBesideSearch } from './agent-search.ts'
import type { TurnwireConfig } from './config.ts'
import { checkAgentServers, checkMcp } from './mcp-config.ts'
import { checkModels, isModel } from './named-models.ts'
import { checkAgent, checkOption, checkPrograms, checkSettings } from './settings.ts'

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
  checkSettings({
    agents: agents => checkAgents(agents, config, wrong),
    payments: payments => checkPayments(payments, config['agents'], wrong),
  })(config, '', wrong)
}

function checkAgents(agents: unknown, { models, mcp, relay }: Fields, wrong: Wrong): void {
  const named = checkModels(models, wrong)
  const servers = checkMcp(mcp, wrong)
  // A server may be a relay and nothing else.
  const isRelay = Array.isArray(agents) && relay !== undefined
  if (!Array.isArray(agents) || (agents.length === 0 && !isRelay)) {
    wrong('agents', 'must list at least one agent.')
    return
  }
  const checkName = notTaken('taken by an agent before it', wrong)
  agents.forEach((agent: unknown, index) => {
    const key = `agents[${index}]`
    checkAgent((model, at) => checkModel(model, named, at, wrong))(agent, key, wrong)
    if (isRecord(agent)) checkTogether(agent, key, servers, wrong)
    checkName(agent, key)
  })
}

function checkModel(model: unknown, models: readonly string[], key: string, wrong: Wrong): void {
  if (typeof model === 'string' && !models.includes(model))
    wrong(
      key,
      `there is no model named "${model}" in models${models.length > 0 ? ` (there are: ${models.join(', ')})` : ''}. A vendor's model is made by its provider, such as anthropic({ model }).`,
    )
  else if (typeof model !== 'string' && !isModel(model))
    wrong(key, 'must be a model or the name of one: try rehearsal(), which needs no key.')
}

/** Settings of an agent that are right only with others of it. */
function checkTogether(agent: Fields, key: string, servers: readonly string[], wrong: Wrong): void {
  checkBesideSearch(agent, key, wrong)
  checkAgentOptions(agent['options'], `${key}.options`, wrong)
  checkCode(agent['code'], agent['tools'], `${key}.code`, wrong)
  checkAgentServers(agent, key, servers, wrong)
  for (const [list, field] of [
    ['resources', 'uri'],
    ['prompts', 'name'],
  ] as const) {
    const offered = agent[list]
    const names = Array.isArray(offered)
      ? offered.map(each => (isRecord(each) ? each[field] : undefined))
      : []
    const twice = names.find((each, index) => names.indexOf(each) !== index)
    if (typeof twice === 'string') wrong(`${key}.${list}`, `"${twice}" is there twice.`)
  }
}

/** Checks entries one after the other: none has the name of one before it. */
function notTaken(is: string, wrong: Wrong): (entry: unknown, key: string) => void {
  const seen = new Set<unknown>()
  return (entry, key) => {
    const name = isRecord(entry) ? entry['name'] : undefined
    if (typeof name === 'string' && seen.has(name)) wrong(`${key}.name`, `"${name}" is ${is}.`)
    seen.add(name)
  }
}

function checkAgentOptions(options: unknown, key: string, wrong: Wrong): void {
  if (options === undefined) return
  if (!Array.isArray(options)) {
    wrong(key, 'must be a list.')
    return
  }
  const checkName = notTaken('the name of an option before it', wrong)
  options.forEach((option: unknown, index) => {
    const at = `${key}[${index}]`
    checkOption(option, at, wrong)
    const { type, options: choices, default: value } = isRecord(option) ? option : {}
    if (type === 'select' && !(Array.isArray(choices) && choices.includes(value)))
      wrong(`${at}.options`, 'must list the choices, the default among them.')
    checkName(option, at)
  })
}

/** `tools`: the agent's, whose names a program's tool must not have. */
function checkCode(code: unknown, tools: unknown, key: string, wrong: Wrong): void {
  if (code === undefined || code === false) return
  if (code !== true) checkPrograms(code, key, wrong)
  const isNamed = isRecord(code) && code['name'] !== undefined
  const name = isNamed ? code['name'] : defaultCodeName
  const isTaken = Array.isArray(tools) && tools.some(tool => isRecord(tool) && tool['name'] === name)
  if (isTaken)
    wrong(
      code === true ? key : `${key}.name`,
      `"${String(name)}" is the name of a tool. Give programs another: code: { name }.`,
    )
}
