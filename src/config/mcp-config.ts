// The MCP servers of a configuration: their types, their checks, and what is made of them. An entry has the shape that
// other tools use: a command with its arguments, or a URL.
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { labelProblem } from '../language/flow.ts'
import { ownServer } from '../language/servers.ts'
import {
  anything,
  count,
  each,
  group,
  isRecord,
  must,
  passes,
  type SettingChecks,
  texts,
  type Wrong,
} from '../lib/checks/fields.ts'
import { pickPresent } from '../lib/json/present.ts'
import {
  checkSpec,
  type KeptServer,
  type McpHttpServer,
  type McpOptions,
  type McpServerSpec,
  type McpStdioServer,
  type SamplingSettings,
} from '../tools/mcp/index.ts'
import type { TurnwireConfig } from './config.ts'

type ServerOptions = Pick<
  McpOptions,
  | 'trust'
  | 'trustAnnotations'
  | 'flow'
  | 'exposed'
  | 'timeoutMs'
  | 'connectTimeoutMs'
  | 'outputLimit'
  | 'maxTools'
  | 'allowEnv'
  | 'sampling'
  | 'logLevel'
  | 'pay'
> & {
  /** Folders that the server is told it may work in: paths, relative to this folder. */
  roots?: readonly string[]
}

export type McpStdioConfig = Omit<McpStdioServer, 'name'> & ServerOptions & { type?: 'stdio' }
export type McpHttpConfig = Omit<McpHttpServer, 'name'> & ServerOptions & { type?: 'http' }
export type McpServerConfig = McpStdioConfig | McpHttpConfig

type CommandSettings = Omit<McpStdioServer, 'name' | 'protocolVersion' | 'command'>
type UrlSettings = Omit<McpHttpServer, 'name' | 'protocolVersion' | 'url'>

/** `checkSpec` checks the values. */
const ofCommand: SettingChecks<CommandSettings & Pick<ServerOptions, 'allowEnv'>> = {
  args: anything,
  env: anything,
  cwd: anything,
  allowEnv: anything,
}
const ofUrl: SettingChecks<UrlSettings> = { headers: anything, auth: anything }

const trueOrFalse = must(value => typeof value === 'boolean', 'must be true or false.')
const logLevels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']

function checkLabels(flow: unknown, key: string, wrong: Wrong): void {
  if (!isRecord(flow)) wrong(key, 'must be an object of labels by name of a tool.')
  else
    for (const [tool, labels] of Object.entries(flow)) {
      const problem = labelProblem(labels)
      if (problem !== undefined) wrong(`${key}.${tool}`, `${problem}.`)
    }
}

const options: SettingChecks<Omit<ServerOptions, 'allowEnv'>> = {
  trust: must(
    trust => trust === 'trusted' || trust === 'ask' || trust === 'deny',
    'must be "trusted", "ask" or "deny".',
  ),
  trustAnnotations: trueOrFalse,
  flow: checkLabels,
  exposed: trueOrFalse,
  timeoutMs: count,
  connectTimeoutMs: count,
  outputLimit: count,
  maxTools: count,
  roots: texts(/./s, 'must be a list of folders.'),
  logLevel: must(
    level => logLevels.some(known => known === level),
    `must be one of ${logLevels.join(', ')}.`,
  ),
  sampling: group<SamplingSettings>(
    { maxTokens: count, perCall: count },
    'must be an object, such as {}, or be left out.',
  ),
  pay: must(isPayer, 'must be something that pays, such as payingFetch({ … }) of turnwire/payments.'),
}
// The names of the table above.
const optionNames = [...Object.keys(options), 'allowEnv'] as (keyof ServerOptions)[]

/** A setting of the other kind of server is refused: one of a command beside a url, and the other way round. */
function settingsFor(isRemote: boolean): SettingChecks<Omit<McpStdioConfig, 'type'> & McpHttpConfig> {
  const [wanted, has, other] = isRemote ? ['http', 'url', 'command'] : ['stdio', 'command', 'url']
  const foreign = must(() => false, `is for a server with a ${other}; this one has a ${has}.`)
  return {
    command: anything,
    url: anything,
    ...(isRemote ? each(ofCommand, foreign) : ofCommand),
    ...(isRemote ? ofUrl : each(ofUrl, foreign)),
    type: must(type => type === wanted, `must be "${wanted}" for a server with a ${has}, or be left out.`),
    protocolVersion: anything,
    ...options,
  }
}

/** Gives the names of the servers. */
export function checkMcp(mcp: unknown, wrong: Wrong): string[] {
  if (mcp === undefined) return []
  if (!isRecord(mcp)) {
    wrong('mcp', 'must be an object of servers by name, such as { files: { command, args } }.')
    return []
  }
  for (const [name, server] of Object.entries(mcp)) checkServer(name, server, wrong)
  return Object.keys(mcp)
}

export function checkAgentServers(
  agent: unknown,
  key: string,
  servers: readonly string[],
  wrong: Wrong,
): void {
  const named = isRecord(agent) ? agent['mcpServers'] : undefined
  if (named === undefined) return
  if (!Array.isArray(named)) {
    wrong(`${key}.mcpServers`, 'must be a list of names of servers in mcp; [] for none.')
    return
  }
  for (const name of named)
    if (!servers.includes(name))
      wrong(
        `${key}.mcpServers`,
        `there is no server "${String(name)}" in mcp. There are: ${servers.join(', ') || 'none'}.`,
      )
}

function checkServer(name: string, server: unknown, wrong: Wrong): void {
  const key = `mcp.${name}`
  if (!isRecord(server)) {
    wrong(key, 'must be { command, args } for a program, or { url } for a server elsewhere.')
    return
  }
  if (name === ownServer) wrong(key, 'is the name of what agents have themselves. Choose another.')
  const isRemote = server['url'] !== undefined
  if (isRemote && server['command'] !== undefined)
    wrong(key, 'has a command and a url. Leave out one of them.')
  group(settingsFor(isRemote), 'must be an object.')(server, key, wrong)
  // The operator gave the values. `checkSpec` refuses those that do not fit.
  const spec = (): McpServerSpec => toServerSpec(name, server as McpServerConfig)
  passes(() => checkSpec(spec(), stringList(server['allowEnv'])))(server, key, wrong)
}

function isPayer(pay: unknown): boolean {
  const isObject = (typeof pay === 'object' || typeof pay === 'function') && pay !== null
  return isObject && 'pay' in pay && typeof pay.pay === 'function'
}

/** `connect`: the parts of the runtime that a server needs. */
export function keptServers(
  { mcp = {}, agents }: TurnwireConfig,
  connect: (spec: McpServerSpec) => Pick<McpOptions, 'auth' | 'fetchOther' | 'definitions'> = () => ({}),
): KeptServer[] {
  const taken = agents.flatMap(({ tools = [] }) => tools.map(tool => tool.name))
  return Object.entries(mcp).map(([name, server]) => {
    const spec = toServerSpec(name, server)
    const { roots, ...given } = pickPresent(server, optionNames)
    return {
      spec,
      options: {
        taken,
        ...connect(spec),
        ...given,
        ...(roots && { roots: roots.map(root => ({ uri: pathToFileURL(resolve(root)).href })) }),
      },
    }
  })
}

function toServerSpec(name: string, server: McpServerConfig): McpServerSpec {
  if ('url' in server && server.url !== undefined)
    return { name, ...pickPresent(server, ['url', 'protocolVersion', 'headers', 'auth']) }
  const own = server as McpStdioConfig // it has no url
  return {
    name,
    ...pickPresent(own, ['command', 'protocolVersion', 'args', 'env']),
    ...(typeof own.cwd === 'string' && { cwd: resolve(own.cwd) }),
  }
}

function stringList(value: unknown): string[] {
  return Array.isArray(value) ? value.filter(each => typeof each === 'string') : []
}
