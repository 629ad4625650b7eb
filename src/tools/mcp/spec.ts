// How an MCP server is reached, and the checks before anything is started: a command runs without a shell, and a variable
// that can make a program load foreign code is passed on only if the operator allows it.
import { existsSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import { TurnwireError } from '../../language/errors.ts'
import { sha256 } from '../../lib/json/hash.ts'
import { quote } from '../../lib/text/index.ts'
import type { McpOptions } from './index.ts'

type AnyServer = {
  name: string
  /** The only revision of the protocol that is spoken, such as `2025-11-25`. Default: what the server speaks. */
  protocolVersion?: string
}
export type McpStdioServer = AnyServer & {
  command: string
  args?: readonly string[]
  /** Added to the few variables that are inherited (PATH, HOME, USER, SHELL, TERM, LOGNAME). */
  env?: Readonly<Record<string, string>>
  cwd?: string
}
export type McpHttpServer = AnyServer & {
  url: string
  /** Sent to the origin of `url` only. */
  headers?: Readonly<Record<string, string>>
  /** How a token is got when the server wants one. Default: a person logs in, with `turnwire mcp login`. */
  auth?: McpAuth
}
export type McpAuth = {
  /**
   * `owner`: the owner of each session connects an account of its own, and calls of its sessions use that one alone. Default: all
   * sessions use the same login, or client.
   */
  per?: 'owner'
  /** `client_credentials`: no person takes part. Default: `authorization_code`. */
  grant?: 'authorization_code' | 'client_credentials'
  /** Of a client that was registered beforehand. Absent: one is registered, or `clientMetadataUrl` is its id. */
  clientId?: string
  clientSecret?: string
  /** PEM, PKCS 8: for an authorization server that wants a signed assertion in place of a secret. */
  privateKey?: string
  /** Of `privateKey`. Default ES256. */
  algorithm?: string
  /** The https address of a client id metadata document. */
  clientMetadataUrl?: string
  /** Scopes with blanks between them. Default: those that the server names. */
  scope?: string
  /**
   * The only authorization server that may get these credentials. It may stand at a private address. Needed with
   * `clientSecret` and `privateKey`: otherwise the MCP server would decide who gets them.
   */
  issuer?: string
}
export type McpServerSpec = McpStdioServer | McpHttpServer

/** Each owner connects an account of its own. */
export function isPerOwner(spec: McpServerSpec): spec is McpHttpServer {
  return 'url' in spec && spec.auth?.per === 'owner'
}

/** Variables that make a process run code which its command line does not name. */
const loaders =
  /^(NODE_OPTIONS|NODE_PATH|LD_\w+|DYLD_\w+|PYTHONPATH|PYTHONSTARTUP|PYTHONHOME|PERL5LIB|PERL5OPT|RUBYLIB|RUBYOPT|BASH_ENV|ENV|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS)$/i

/** The revision without sessions. All others begin with a handshake. */
export const modernRevision = '2026-07-28'
/** The SDK's own list, newest first. It is repeated here because the SDK is loaded with the first connection. */
export const knownRevisions = [
  modernRevision,
  '2025-11-25',
  '2025-06-18',
  '2025-03-26',
  '2024-11-05',
  '2024-10-07',
] as const

const stdioKeys = Object.keys({
  name: true,
  protocolVersion: true,
  command: true,
  args: true,
  env: true,
  cwd: true,
} satisfies Record<keyof McpStdioServer, true>)
const httpKeys = Object.keys({
  name: true,
  protocolVersion: true,
  url: true,
  headers: true,
  auth: true,
} satisfies Record<keyof McpHttpServer, true>)
const optionKeys = Object.keys({
  log: true,
  trust: true,
  trustAnnotations: true,
  flow: true,
  exposed: true,
  timeoutMs: true,
  connectTimeoutMs: true,
  outputLimit: true,
  maxMessageBytes: true,
  maxTools: true,
  allowEnv: true,
  taken: true,
  refreshMs: true,
  elicit: true,
  elicitModes: true,
  roots: true,
  sampling: true,
  logLevel: true,
  auth: true,
  definitions: true,
  fetchOther: true,
  pay: true,
  onTools: true,
} satisfies Record<keyof McpOptions, true>)

/** Refuses an option in the wrong place. It would be ignored, even `trust: 'deny'`. */
export function checkOptions(options: object): void {
  for (const key of Object.keys(options)) {
    if (optionKeys.includes(key)) continue
    const isSpec = stdioKeys.includes(key) || httpKeys.includes(key)
    throw invalidSpec(
      isSpec
        ? `${quote(key)} describes the MCP server: it belongs into the first argument.`
        : `There is no option ${quote(key)} for an MCP server. Known are: ${optionKeys.join(', ')}.`,
    )
  }
}

function checkPlaces(spec: McpServerSpec): void {
  const [known, other] = 'url' in spec ? [httpKeys, stdioKeys] : [stdioKeys, httpKeys]
  for (const key of Object.keys(spec)) {
    if (known.includes(key)) continue
    if (optionKeys.includes(key))
      throw invalidSpec(
        `${quote(key)} of the MCP server "${spec.name}" is an option: it belongs into the second argument.`,
      )
    throw invalidSpec(
      other.includes(key)
        ? `The MCP server "${spec.name}" has a ${'url' in spec ? 'url' : 'command'}, so it cannot have ${quote(key)}.`
        : `There is no setting ${quote(key)} for the MCP server "${spec.name}". Known are: ${known.join(', ')}.`,
    )
  }
}

export function checkSpec(spec: McpServerSpec, allowEnv: readonly string[]): void {
  if (typeof spec.name !== 'string' || !/^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$/.test(spec.name))
    throw invalidSpec(
      `An MCP server's name must be 1 to 32 letters, digits, "_" or "-", not ${quote(spec.name)}.`,
    )
  // `server__tool` must lead back to one server: "a" with the tool "_b" is not "a_" with the tool "b".
  if (spec.name.includes('__') || spec.name.endsWith('_'))
    throw invalidSpec(
      `The name of the MCP server "${spec.name}" must not end in "_" or have "__" in it: that stands between a server and its tool.`,
    )
  checkPlaces(spec)
  const { protocolVersion } = spec
  if (protocolVersion !== undefined && !knownRevisions.some(each => each === protocolVersion))
    throw invalidSpec(
      `The MCP server "${spec.name}" cannot be spoken to in the protocolVersion ${quote(protocolVersion)}. Known are: ${knownRevisions.join(', ')}.`,
    )
  if ('url' in spec) checkHttp(spec)
  else checkStdio(spec, allowEnv)
}

function checkHttp({ name, url, headers = {}, auth }: McpHttpServer): void {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (parsed?.protocol !== 'https:' && parsed?.protocol !== 'http:')
    throw invalidSpec(`The MCP server "${name}" needs an http or https URL, not ${quote(url)}.`)
  if (parsed.username !== '' || parsed.password !== '')
    throw invalidSpec(`The URL of the MCP server "${name}" holds credentials: put them into headers.`)
  try {
    new Headers(headers)
  } catch {
    throw invalidSpec(`A header of the MCP server "${name}" is not one that HTTP allows.`)
  }
  if (auth !== undefined) checkAuth(name, auth)
  if (auth?.per === 'owner' && Object.keys(headers).some(header => header.toLowerCase() === 'authorization'))
    throw invalidSpec(
      `The MCP server "${name}" has auth.per "owner", so it cannot have a header Authorization for all.`,
    )
}

const authKeys = Object.keys({
  per: true,
  grant: true,
  clientId: true,
  clientSecret: true,
  privateKey: true,
  algorithm: true,
  clientMetadataUrl: true,
  scope: true,
  issuer: true,
} satisfies Record<keyof McpAuth, true>)

function checkAuth(name: string, auth: McpAuth): void {
  const wrong = (words: string): TurnwireError => invalidSpec(`auth of the MCP server "${name}" ${words}`)
  if (typeof auth !== 'object' || auth === null) throw wrong('must be an object, such as {}.')
  for (const [key, value] of Object.entries(auth)) {
    if (!authKeys.includes(key))
      throw wrong(`has no setting ${quote(key)}. Known are: ${authKeys.join(', ')}.`)
    if (typeof value !== 'string' || value === '') throw wrong(`needs a text for ${quote(key)}.`)
  }
  const { grant = 'authorization_code', clientId, clientSecret, privateKey, clientMetadataUrl, issuer } = auth
  if (auth.per !== undefined && auth.per !== 'owner') throw wrong('can have per: "owner" only.')
  if (auth.per === 'owner' && grant !== 'authorization_code')
    throw wrong('cannot have per: "owner" with client_credentials: no owner takes part there.')
  if (grant !== 'authorization_code' && grant !== 'client_credentials')
    throw wrong('must have the grant "authorization_code" or "client_credentials".')
  if (grant === 'client_credentials' && (clientId === undefined || !(clientSecret ?? privateKey)))
    throw wrong('needs clientId, and clientSecret or privateKey, for client_credentials.')
  if ((clientSecret ?? privateKey) !== undefined && issuer === undefined)
    throw wrong(
      `needs issuer beside ${clientSecret === undefined ? 'privateKey' : 'clientSecret'}: the URL of the authorization server that knows the client. Without it the MCP server would decide who gets these credentials.`,
    )
  if (clientMetadataUrl !== undefined && URL.parse(clientMetadataUrl)?.protocol !== 'https:')
    throw wrong('needs an https address as clientMetadataUrl.')
  if (issuer !== undefined && !URL.canParse(issuer)) throw wrong('needs a URL as issuer.')
}

function checkStdio(
  { name, command, args = [], env = {}, cwd }: McpStdioServer,
  allowEnv: readonly string[],
): void {
  if (typeof command !== 'string' || command === '' || command.includes('\0'))
    throw invalidSpec(`The MCP server "${name}" needs a command.`)
  if (/\s/.test(command) && !isAbsolute(command))
    throw invalidSpec(
      `The command of the MCP server "${name}" is one program, not a command line: put what follows it into args.`,
    )
  if (!Array.isArray(args) || !args.every(arg => typeof arg === 'string' && !arg.includes('\0')))
    throw invalidSpec(`The args of the MCP server "${name}" must be texts.`)
  if (cwd !== undefined && !isAbsolute(cwd))
    throw invalidSpec(`The cwd of the MCP server "${name}" must be an absolute path.`)
  if (cwd !== undefined && !existsSync(cwd))
    throw invalidSpec(`The folder of the MCP server "${name}" does not exist: ${quote(cwd)}.`)
  for (const [variable, value] of Object.entries(env)) {
    if (!/^[A-Za-z_][A-Za-z0-9_.-]*$/.test(variable) || typeof value !== 'string' || value.includes('\0'))
      throw invalidSpec(
        `The MCP server "${name}" has a variable that no environment can hold: ${quote(variable)}.`,
      )
    if (loaders.test(variable) && !allowEnv.includes(variable))
      throw invalidSpec(
        `The MCP server "${name}" sets ${variable}, which can make any program run foreign code. Leave it out, or name it in allowEnv.`,
      )
  }
}

/** A short hash of the server's address or command. It is part of its tools' identity. */
export function specIdentity(spec: McpServerSpec): string {
  const address = 'url' in spec ? [spec.url] : [spec.command, ...(spec.args ?? [])]
  return sha256(JSON.stringify(address)).slice(0, 8)
}

function invalidSpec(message: string): TurnwireError {
  return new TurnwireError('invalid_tool', message)
}
