// The table of settings: what each one has to be, and what to do if it is not. A table has the settings of one type, so that the
// compiler finds a setting without a check, and the names that a mistake is told come from the table too. Settings that are
// right only together are checked in check-config.ts.
import { isKeyEntry } from '../callers/keys.ts'
import { checkOidc, checkSignInPrefix } from '../callers/oidc/settings.ts'
import { defaultOwnerLimits, defaultWalletLimits } from '../callers/owner-limits.ts'
import { checkTokenIssuers } from '../callers/tokens/settings.ts'
import { isPostgresUrl } from '../data/data-place.ts'
import { checkRetention } from '../data/retention.ts'
import type { AgentOption, Compaction, Store, Tool } from '../engine/ports/index.ts'
import { checkCluster } from '../engines/cluster/settings.ts'
import { hookNames } from '../language/events.ts'
import {
  anything,
  type Check,
  count,
  each,
  group,
  isRecord,
  kind,
  matches,
  must,
  onOff,
  passes,
  type SettingChecks,
  text,
  texts,
} from '../lib/checks/fields.ts'
import { type EgressRules, isHostPattern } from '../lib/net/egress.ts'
import { checkDeclaredSchema } from '../lib/schema/declared.ts'
import { describeSchema } from '../lib/schema/standard.ts'
import { logLevels } from '../log.ts'
import { checkBudgets, checkLimits, createGate, type GateOptions } from '../policy/index.ts'
import { checkRelay } from '../relay/config.ts'
import type { TelemetryConfig } from '../telemetry/index.ts'
import { type CodeOptions, checkCodeLimits } from '../tools/index.ts'
import { checkWebhooks } from '../webhooks/index.ts'
import type { McpServing } from '../wires/mcp/index.ts'
import { checkSearch } from './agent-search.ts'
import {
  type AgentConfig,
  type PolicyConfig,
  type ServerConfig,
  serverDefaults,
  type TurnwireConfig,
  wireNames,
} from './config.ts'
import { checkFlow } from './flow.ts'
import { RulesFile } from './rules-file.ts'

type HookSettings = Required<NonNullable<TurnwireConfig['hooks']>>

const from0 = (words: string): Check =>
  must(value => Number.isSafeInteger(value) && Number(value) >= 0, words)
const names = (words: string): Check => texts(/^[\s\S]*$/, words)
const instances = (isOne: (value: unknown) => boolean, words: string): Check =>
  must(value => Array.isArray(value) && value.every(isOne), words)

// ---- of an agent -----------------------------------------------------------------------------------------------

const compaction: SettingChecks<Compaction> = {
  afterTokens: { needed: count },
  keepEntries: count,
  instructions: matches(/\S/, 'must be text that says what to write.'),
}

const option: SettingChecks<AgentOption> = {
  name: { needed: matches(/./s, 'is missing.') },
  type: {
    needed: matches(/^(?:text|select|secret)$/, 'must be "text", "select" or "secret".'),
  },
  title: anything,
  description: anything,
  default: {
    needed: must(value => typeof value === 'string', 'must be a string (all options are strings).'),
  },
  options: anything,
  category: anything,
  required: anything,
}
export const checkOption = group(option, 'must be an object.')

const serving: SettingChecks<McpServing> = {
  tools: onOff,
  ask: onOff,
  resources: onOff,
  prompts: onOff,
  tasks: group<NonNullable<McpServing['tasks']>>(
    {
      afterMs: from0('must be a whole number of milliseconds.'),
      required: texts(/^[\s\S]+$/, 'must be a list of names of tools.'),
    },
    'must be an object such as { afterMs: 5000 }.',
  ),
}

type ProgramSettings = CodeOptions & { only?: true | readonly string[] }

const programs: SettingChecks<ProgramSettings> = {
  name: text,
  tools: names('must be a list of names of tools.'),
  limits: passes(limits => checkCodeLimits(isRecord(limits) ? limits : {})),
  trust: anything,
  exposed: onOff,
  only: (only, key, wrong) => {
    if (only !== true) names('must be true, or a list of names of tools.')(only, key, wrong)
  },
}
export const checkPrograms = group(
  programs,
  'must be true, or an object such as { only: true, limits: { timeMs: 10000 } }.',
)

const isChoice = (choice: unknown): boolean =>
  isRecord(choice) || choice === 'auto' || choice === 'none' || choice === 'required'

/** An error of `make` names a rule as `policy[n]`. It is reported under the key that the operator wrote. */
function made(make: (value: unknown) => unknown, rulesAt: (key: string) => string): Check {
  return (value, key, wrong) => {
    const told = (_: string, message: string): void => {
      const [, list, place, words] = /^(policy|shadow|redact)(\[\d+\]\S*) ([\s\S]*)$/.exec(message) ?? []
      if (place === undefined || words === undefined) wrong(rulesAt(key), message)
      else wrong(`${rulesAt(key)}.${list === 'policy' ? 'rules' : list}${place}`, words)
    }
    passes(make)(value, key, told)
  }
}

const limits: Check = (value, key, wrong) => {
  if (isRecord(value)) passes(given => checkLimits(given as object))(value, key, wrong)
  else wrong(key, 'must be an object such as { steps: 20 }.')
}

const budgets: Check = (value, key, wrong) => {
  if (isRecord(value)) passes(given => checkBudgets(given as object))(value, key, wrong)
  else wrong(key, "must be an object such as { session: { money: 5, then: 'ask' } }.")
}

const rules: Check = (value, key, wrong) => {
  const agent = key.slice(0, key.lastIndexOf('.'))
  if (Array.isArray(value))
    made(
      () => createGate({ rules: value }),
      () => agent,
    )(value, key, wrong)
  else wrong(key, 'must be a list of rules.')
}

/** `model`: its check, which depends on the models that there are. */
export function checkAgent(model: Check): Check {
  const settings: SettingChecks<AgentConfig> = {
    name: {
      needed: matches(/^[\w.-]{1,64}$/, 'must be 1 to 64 letters, digits, ".", "_" or "-".'),
    },
    title: text,
    version: text,
    description: text,
    system: text,
    model: { needed: model },
    tools: checkToolList,
    code: anything,
    search: checkSearch,
    always: texts(/^.+$/, 'must list names of tools; * stands for any run of characters.'),
    options: anything,
    images: group({ http: onOff, data: onOff }, 'must be an object such as { http: true }.'),
    rules,
    flow: checkFlow,
    limits,
    budgets,
    choice: must(isChoice, 'must be "auto", "none", "required", { tool } or { allowed, mode }.'),
    parallel: onOff,
    callsAtOnce: count,
    maxTokens: kind('number'),
    answer: passes(answer => checkDeclaredSchema(describeSchema(answer).json)),
    compaction: group(compaction, 'must be an object such as { afterTokens: 150000 }.'),
    clientTools: onOff,
    agentGrants: onOff,
    mcpServers: anything,
    retention: checkRetention,
    responses: group({ serverTools: onOff }, 'must be an object such as { serverTools: true }.'),
    serveMcp: group(serving, 'must be an object such as { tools: true }.'),
    price: anything,
    resources: instances(isResource, 'must be a list of resource({ uri, name, read }).'),
    prompts: instances(isPrompt, 'must be a list of prompt({ name, get }).'),
  }
  return group(settings, 'must be an object.')
}

function checkToolList(tools: unknown, key: string, wrong: (key: string, words: string) => void): void {
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

/** A tool as `tool()` makes it. The argument of `tool()` alone has no input form and no side. */
function isTool(value: unknown): value is Tool {
  if (!isRecord(value) || typeof value['name'] !== 'string' || typeof value['run'] !== 'function')
    return false
  const { input, side, trust } = value
  const declared = isRecord(input) && (input['form'] === 'json' || input['form'] === 'text')
  return declared && side === 'server' && typeof trust === 'string'
}

/** Only the kind is checked: `resource()` and `prompt()` have checked the rest. */
function isResource(value: unknown): boolean {
  return isRecord(value) && typeof value['read'] === 'function' && typeof value['match'] === 'function'
}

function isPrompt(value: unknown): boolean {
  return isRecord(value) && typeof value['get'] === 'function' && typeof value['name'] === 'string'
}

// ---- of the server ---------------------------------------------------------------------------------------------

const server: SettingChecks<ServerConfig> = {
  host: text,
  port: must(
    port => Number.isInteger(port) && Number(port) >= 0 && Number(port) <= 65535,
    'must be a whole number from 0 (any free port) to 65535.',
  ),
  hosts: texts(
    /^[^\s/]+$/,
    'must be a list of names such as "app.example" or "app.example:8443", without https:// before them.',
  ),
  publicUrl: matches(
    /^https?:\/\/[^\s/]+$/,
    'must be like "https://agent.example", without a slash at the end.',
  ),
  origins: texts(
    /^(?:\*|[a-z][a-z\d+.-]*:\/\/[^\s/]+)$/i,
    'must be a list such as ["https://app.example"]: https:// and the name, no slash at the end; or ["*"].',
  ),
  log: must(level => logLevels.some(known => known === level), `must be one of: ${logLevels.join(', ')}.`),
  keys: instances(
    isKeyEntry,
    'must be a list of { name, sha256 }, the hash in base64url as `turnwire keys add` keeps it.',
  ),
  authenticate: must(
    value => typeof value === 'function',
    'must be a function: request => ({ owner }), or undefined for a caller that is not known.',
  ),
  jwt: checkTokenIssuers,
  oidc: checkOidc,
  wires: instances(
    value => wireNames.some(name => name === value),
    `must be a list of: ${wireNames.join(', ')}.`,
  ),
  path: must(
    path => typeof path === 'string' && /^(?:\/[\w.~-]+)+$/.test(path),
    'must be like "/agents", without a slash at the end.',
  ),
  ...each(serverDefaults, count),
  perOwner: group(each(defaultOwnerLimits, count), 'must be an object such as { requests: 100 }.'),
  allWallets: group(each(defaultWalletLimits, count), 'must be an object such as { requests: 100 }.'),
  acp: onOff,
  anyModel: onOff,
  responses: group({ store: onOff }, 'must be an object such as { store: true }.'),
  cluster: checkCluster,
}

// ---- of everything else ----------------------------------------------------------------------------------------

const policy: SettingChecks<PolicyConfig> = {
  file: (file, key, wrong) => {
    if (typeof file !== 'string' || file === '')
      wrong(key, 'must be the name of a file, such as "policy.yaml".')
    else passes(() => new RulesFile(file, () => {}))(file, key, wrong)
  },
  rules: anything,
  shadow: anything,
  redact: anything,
  maxArgumentBytes: anything,
  maxDepth: anything,
  maxOutputBytes: anything,
  mediaLimit: anything,
  clientOutputLimit: anything,
  onRuleFailure: anything,
  onShadowFailure: anything,
}

const hosts = instances(
  host => typeof host === 'string' && isHostPattern(host),
  'must list hosts: "api.example.com", "*.example.com" or "localhost:3000".',
)
const whole = from0('must be a whole number.')

const egress: SettingChecks<EgressRules> = {
  hosts,
  privateHosts: hosts,
  maxBytes: whole,
  timeoutMs: whole,
  maxRedirects: whole,
  perMinute: whole,
}

const isFunction = must(value => typeof value === 'function', 'must be a function.')
const hooks = {
  // One entry for each name of the list.
  ...(Object.fromEntries(hookNames.map(name => [name, isFunction])) as Record<
    (typeof hookNames)[number],
    Check
  >),
  timeoutMs: kind('number'),
} satisfies SettingChecks<HookSettings>

const telemetry: SettingChecks<TelemetryConfig> = { content: onOff }

function checkPolicy(value: unknown, key: string, wrong: (key: string, words: string) => void): void {
  group(policy, 'must be an object such as { rules: [] }.')(value, key, wrong)
  if (isRecord(value))
    made(
      given => createGate(given as GateOptions),
      () => 'policy',
    )(value, key, wrong)
}

const isData = (data: unknown): boolean =>
  isStore(data) ||
  (typeof data === 'string' && data.trim() !== '' && (!isAddress(data) || isPostgresUrl(data)))

function isStore(value: unknown): value is Store {
  return isRecord(value) && typeof value['append'] === 'function' && typeof value['read'] === 'function'
}

/** `postgres://…`, `file:…`. A drive letter of Windows is no scheme. */
function isAddress(given: string): boolean {
  return /^[a-z][a-z\d+.-]+:/i.test(given)
}

/** `agents`: their check, with the models and servers that they name. `payments`: with the prices of agents. */
export function checkSettings({ agents, payments }: { agents: Check; payments: Check }): Check {
  const settings: SettingChecks<TurnwireConfig> = {
    agents: { needed: agents },
    models: anything,
    mcp: anything,
    policy: checkPolicy,
    limits,
    budgets,
    callsAtOnce: count,
    egress: group(egress, 'must be an object.'),
    hooks: group(hooks, 'must be an object of functions.'),
    context: anything,
    server: (value, key, wrong) => {
      group(server, 'must be an object.')(value, key, wrong)
      checkSignInPrefix(value, key, wrong)
    },
    relay: checkRelay,
    payments: { needed: payments },
    telemetry: group(telemetry, 'must be an object.'),
    receipts: onOff,
    webhooks: checkWebhooks,
    data: must(isData, 'must be a folder, "memory", a postgres:// address, or a store.'),
  }
  return group(settings, 'must be an object.')
}
