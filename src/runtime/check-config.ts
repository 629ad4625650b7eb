// Checks a configuration before anything runs. Every mistake is reported with its key and what to do. The types are in
// config.ts.
import type { Model, Store, Tool } from '../engine/ports.ts'
import { TurnwireError } from '../language/errors.ts'
import { checkLimits, createGate } from '../policy/index.ts'
import type { TurnwireConfig } from './config.ts'
import { isKeyEntry } from './keys.ts'
import { logLevels } from './log.ts'

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

type Wrong = (key: string, words: string) => void
type Fields = Record<string, unknown>

function checkAll(config: Fields, wrong: Wrong): void {
  checkKnown(config, ['agents', 'models', 'policy', 'limits', 'server', 'data'], '', wrong)
  const models = config['models']
  if (models !== undefined && !isRecord(models)) wrong('models', 'must be an object of models by name.')
  const names = isRecord(models) ? Object.keys(models) : []
  for (const name of names) {
    if (!isModel(isRecord(models) ? models[name] : undefined))
      wrong(`models.${name}`, 'is not a model: use scripted(…), rehearsal(), or a provider.')
  }
  const agents = config['agents']
  if (!Array.isArray(agents) || agents.length === 0) wrong('agents', 'must list at least one agent.')
  else {
    const seen = new Set<unknown>()
    agents.forEach((agent: unknown, index) => {
      checkAgent(agent, `agents[${index}]`, names, wrong)
      const name = isRecord(agent) ? agent['name'] : undefined
      if (seen.has(name)) wrong(`agents[${index}].name`, `"${String(name)}" is taken by an agent before it.`)
      seen.add(name)
    })
  }
  checkPolicy(config['policy'], wrong)
  checkLimitValues(config['limits'], 'limits', wrong)
  checkServer(config['server'], wrong)
  checkData(config['data'], wrong)
}

function checkData(data: unknown, wrong: Wrong): void {
  if (data === undefined || isStore(data)) return
  if (typeof data !== 'string' || data.trim() === '') wrong('data', 'must be a folder, "memory", or a store.')
  else if (isAddress(data))
    wrong('data', 'must be a folder, "memory", or a store; a database is not reached by its address.')
}

const agentKeys = [
  'name',
  'title',
  'version',
  'description',
  'system',
  'model',
  'tools',
  'options',
  'rules',
  'limits',
  'choice',
  'parallel',
  'maxTokens',
  'compaction',
  'clientTools',
  'images',
  'responses',
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
  checkSwitches(agent['responses'], ['serverTools'], `${key}.responses`, wrong)
  checkSwitches(agent['images'], ['http', 'data'], `${key}.images`, wrong)
  const texts = { title: 'string', version: 'string', description: 'string', system: 'string' } as const
  checkKinds(
    agent,
    { ...texts, parallel: 'boolean', clientTools: 'boolean', maxTokens: 'number' },
    `${key}.`,
    wrong,
  )
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

type FieldKind = 'string' | 'boolean' | 'number'

function checkKinds(fields: Fields, kinds: Record<string, FieldKind>, prefix: string, wrong: Wrong): void {
  for (const [name, kind] of Object.entries(kinds)) {
    const value = fields[name]
    if (value !== undefined && typeof value !== kind)
      wrong(`${prefix}${name}`, `must be a ${kind}, not ${typeof value}.`)
  }
}

function checkSwitches(value: unknown, known: readonly string[], key: string, wrong: Wrong): void {
  if (value === undefined) return
  if (!isRecord(value)) {
    wrong(key, `must be an object such as { ${known[0]}: true }.`)
    return
  }
  checkKnown(value, known, `${key}.`, wrong)
  checkKinds(value, Object.fromEntries(known.map(name => [name, 'boolean'])), `${key}.`, wrong)
}

/** Hosts and origins are compared exactly, so an entry in another form would never match. */
function checkTexts(value: unknown, form: RegExp, words: string, key: string, wrong: Wrong): void {
  if (value === undefined) return
  if (!Array.isArray(value) || !value.every(each => typeof each === 'string' && form.test(each)))
    wrong(key, words)
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
  'origins',
  'keys',
  'bodyBytes',
  'heartbeatMs',
  'unsentBytes',
  'stallMs',
  'graceMs',
  'acp',
  'log',
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
  const { log, keys } = server
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
  for (const name of ['bodyBytes', 'heartbeatMs', 'unsentBytes', 'stallMs', 'graceMs']) {
    const value = server[name]
    if (value !== undefined && !(Number.isInteger(value) && Number(value) > 0))
      wrong(`server.${name}`, 'must be a whole number above 0.')
  }
}

function checkKnown(fields: Fields, known: readonly string[], prefix: string, wrong: Wrong): void {
  for (const key of Object.keys(fields)) {
    if (known.includes(key)) continue
    const near = known.find(
      each => each.toLowerCase() === key.toLowerCase() || each.startsWith(key) || key.startsWith(each),
    )
    wrong(
      `${prefix}${key}`,
      `there is no such setting.${near ? ` Did you mean "${near}"?` : ` Known are: ${known.join(', ')}.`}`,
    )
  }
}

function isRecord(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isModel(value: unknown): value is Model {
  return isRecord(value) && typeof value['respond'] === 'function' && typeof value['id'] === 'string'
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
