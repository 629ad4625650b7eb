// The MCP servers of a configuration: their types, their checks, and what is made of them. An entry has the shape that
// other tools use: a command with its arguments, or a URL.
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ownServer } from '../language/servers.ts'
import { isRecord, noSuchSetting, type Wrong } from '../lib/checks/fields.ts'
import { errorMessage } from '../lib/text/error-message.ts'
import {
  checkSpec,
  type KeptServer,
  type McpHttpServer,
  type McpOptions,
  type McpServerSpec,
  type McpStdioServer,
} from '../tools/mcp/index.ts'
import type { TurnwireConfig } from './config.ts'

type ServerOptions = Pick<
  McpOptions,
  | 'trust'
  | 'trustAnnotations'
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

const commonKeys = [
  'type',
  'protocolVersion',
  'trust',
  'trustAnnotations',
  'exposed',
  'timeoutMs',
  'connectTimeoutMs',
  'outputLimit',
  'roots',
  'sampling',
  'logLevel',
  'pay',
]
const stdioKeys = ['command', 'args', 'env', 'cwd', 'allowEnv']
const httpKeys = ['url', 'headers', 'auth']
const allKeys = [...stdioKeys, ...httpKeys, ...commonKeys, 'maxTools']

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
  checkPlaces(server, isRemote, key, wrong)
  const { type, trust } = server
  const wanted = isRemote ? 'http' : 'stdio'
  if (type !== undefined && type !== wanted)
    wrong(
      `${key}.type`,
      `must be "${wanted}" for a server with a ${isRemote ? 'url' : 'command'}, or be left out.`,
    )
  if (trust !== undefined && trust !== 'trusted' && trust !== 'ask' && trust !== 'deny')
    wrong(`${key}.trust`, 'must be "trusted", "ask" or "deny".')
  for (const each of ['trustAnnotations', 'exposed'])
    if (server[each] !== undefined && typeof server[each] !== 'boolean')
      wrong(`${key}.${each}`, 'must be true or false.')
  for (const each of ['timeoutMs', 'connectTimeoutMs', 'outputLimit', 'maxTools'])
    if (server[each] !== undefined && !(Number.isSafeInteger(server[each]) && Number(server[each]) > 0))
      wrong(`${key}.${each}`, 'must be a whole number above 0.')
  checkAbilities(server, key, wrong)
  checkPayer(server['pay'], `${key}.pay`, wrong)
  try {
    // The operator gave the values. `checkSpec` refuses those that do not fit.
    checkSpec(toServerSpec(name, server as McpServerConfig), stringList(server['allowEnv']))
  } catch (error) {
    wrong(key, errorMessage(error))
  }
}

function checkPayer(pay: unknown, key: string, wrong: Wrong): void {
  if (pay === undefined) return
  const isPayer = (typeof pay === 'object' || typeof pay === 'function') && pay !== null && 'pay' in pay
  if (!isPayer || typeof pay.pay !== 'function')
    wrong(key, 'must be something that pays, such as payingFetch({ … }) of turnwire/payments.')
}

const logLevels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']

/** Checks the settings for requests that a server may make to us. */
function checkAbilities(
  { roots, sampling, logLevel }: Record<string, unknown>,
  key: string,
  wrong: Wrong,
): void {
  if (
    roots !== undefined &&
    !(Array.isArray(roots) && roots.every(root => typeof root === 'string' && root !== ''))
  )
    wrong(`${key}.roots`, 'must be a list of folders.')
  if (logLevel !== undefined && !logLevels.some(level => level === logLevel))
    wrong(`${key}.logLevel`, `must be one of ${logLevels.join(', ')}.`)
  if (sampling === undefined) return
  if (!isRecord(sampling)) {
    wrong(`${key}.sampling`, 'must be an object, such as {}, or be left out.')
    return
  }
  for (const [name, value] of Object.entries(sampling))
    if (name !== 'maxTokens' && name !== 'perCall')
      wrong(`${key}.sampling.${name}`, noSuchSetting(name, ['maxTokens', 'perCall']))
    else if (!Number.isSafeInteger(value) || Number(value) <= 0)
      wrong(`${key}.sampling.${name}`, 'must be a whole number above 0.')
}

/** Refuses settings of the other kind of server: those of a command at a URL, and the other way round. */
function checkPlaces(server: Record<string, unknown>, isRemote: boolean, key: string, wrong: Wrong): void {
  const foreign = isRemote
    ? stdioKeys.filter(each => each !== 'command')
    : httpKeys.filter(each => each !== 'url')
  for (const each of Object.keys(server)) {
    if (!allKeys.includes(each)) wrong(`${key}.${each}`, noSuchSetting(each, allKeys))
    else if (foreign.includes(each))
      wrong(
        `${key}.${each}`,
        isRemote
          ? 'is for a server with a command; this one has a url.'
          : 'is for a server with a url; this one has a command.',
      )
  }
}

/** `connect`: the parts of the runtime that a server needs. */
export function keptServers(
  { mcp = {}, agents }: TurnwireConfig,
  connect: (spec: McpServerSpec) => Pick<McpOptions, 'auth' | 'fetchOther' | 'definitions'> = () => ({}),
): KeptServer[] {
  const taken = agents.flatMap(({ tools = [] }) => tools.map(tool => tool.name))
  return Object.entries(mcp).map(([name, server]) => {
    const { trust, trustAnnotations, exposed, timeoutMs, connectTimeoutMs, outputLimit, maxTools, allowEnv } =
      server
    const { roots, sampling, logLevel, pay } = server
    const spec = toServerSpec(name, server)
    return {
      spec,
      options: {
        taken,
        ...connect(spec),
        ...(roots && { roots: roots.map(root => ({ uri: pathToFileURL(resolve(root)).href })) }),
        ...(sampling && { sampling }),
        ...(logLevel !== undefined && { logLevel }),
        ...(pay && { pay }),
        ...(trust !== undefined && { trust }),
        ...(trustAnnotations !== undefined && { trustAnnotations }),
        ...(exposed !== undefined && { exposed }),
        ...(timeoutMs !== undefined && { timeoutMs }),
        ...(connectTimeoutMs !== undefined && { connectTimeoutMs }),
        ...(outputLimit !== undefined && { outputLimit }),
        ...(maxTools !== undefined && { maxTools }),
        ...(allowEnv !== undefined && { allowEnv }),
      },
    }
  })
}

function toServerSpec(name: string, server: McpServerConfig): McpServerSpec {
  const { protocolVersion } = server
  const pinned = protocolVersion !== undefined && { protocolVersion }
  if ('url' in server && server.url !== undefined)
    return {
      name,
      url: server.url,
      ...pinned,
      ...(server.headers && { headers: server.headers }),
      ...(server.auth && { auth: server.auth }),
    }
  const { command, args, env, cwd } = server as McpStdioConfig // it has no url
  return {
    name,
    command,
    ...pinned,
    ...(args && { args }),
    ...(env && { env }),
    ...(typeof cwd === 'string' && { cwd: resolve(cwd) }),
  }
}

function stringList(value: unknown): string[] {
  return Array.isArray(value) ? value.filter(each => typeof each === 'string') : []
}
