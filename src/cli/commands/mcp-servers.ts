// The MCP servers that a configuration uses: how they are, and the logins that some of them want.
import { resolve } from 'node:path'
import { loginOwner, loginToServer } from '../../config/mcp-login.ts'
import { forgetTokens, remoteServers, tokenStore } from '../../data/mcp-tokens.ts'
import { makePrivateFolder } from '../../data/private-folder.ts'
import { createVault, vaultKey } from '../../data/vault.ts'
import type { ToolServerInfo } from '../../language/servers.ts'
import { Egress } from '../../lib/net/egress.ts'
import { printable } from '../../lib/text/index.ts'
import { Runtime } from '../../runtime.ts'
import type { OwnerConnections } from '../../tools/mcp/index.ts'
import { textValue, UsageError, type Values } from '../command.ts'
import { untilSignalled } from '../guard-process.ts'
import { openRuntime } from '../open-runtime.ts'
import { dataFolder, type Setup, setUp } from '../setup.ts'

type Remote = ReturnType<typeof remoteServers>[number]

function named({ config }: Setup, name: string | undefined): Remote {
  const servers = remoteServers(config)
  const known = servers.map(server => server.name).join(', ') || 'none'
  if (name === undefined)
    throw new UsageError(`Say which server: turnwire mcp login <server>. There are: ${known}.`)
  const found = servers.find(server => server.name === name)
  if (!found)
    throw new UsageError(
      `The configuration has no MCP server "${printable(name, 80)}" with a url. There are: ${known}.`,
    )
  return found
}

async function login(values: Values, name: string | undefined): Promise<number> {
  const setup = await setUp(values)
  const spec = named(setup, name)
  if (spec.auth?.grant === 'client_credentials')
    throw new UsageError(`"${spec.name}" uses client credentials: nobody has to log in.`)
  if (spec.auth?.per === 'owner') return loginForOwner(setup, spec, values)
  refuseOwner(spec, values)
  const folder = resolve(await dataFolder(values))
  makePrivateFolder(folder)
  const egress = new Egress(setup.config.egress)
  const stop = new AbortController()
  void untilSignalled().then(() => stop.abort())
  try {
    const info = await loginToServer(spec, {
      store: tokenStore(folder, spec, () => createVault(vaultKey(folder))),
      fetchOther: (url, init) => egress.fetch(url, { ...init, mayChange: false }),
      show: showAddress,
      signal: stop.signal,
    })
    process.stdout.write(
      `Logged in to "${spec.name}": ${info.tools} tools, protocol ${printable(info.protocolVersion ?? 'unknown', 40)}. A server that is running uses it within a minute.\n`,
    )
    return 0
  } finally {
    egress.close()
  }
}

function neededOwner({ name }: Remote, values: Values): string {
  const owner = textValue(values, 'owner')
  if (owner === undefined)
    throw new UsageError(`Each owner has an account of its own at "${name}": say whose, with --owner <name>.`)
  return owner
}

function refuseOwner({ name }: Remote, values: Values): void {
  if (textValue(values, 'owner') !== undefined)
    throw new UsageError(`"${name}" has one login for all: leave out --owner, or set auth: { per: 'owner' }.`)
}

/** Without interrupted sessions: a server may work on them. */
async function withConnections<Result>(
  { config, source }: Setup,
  act: (connections: OwnerConnections) => Promise<Result>,
): Promise<Result> {
  const runtime = await Runtime.open(config, { log: () => {}, source, recover: false })
  try {
    // The server is one of those that have accounts of owners.
    return await act(runtime.accounts.connections!)
  } finally {
    await runtime.close()
  }
}

async function loginForOwner(setup: Setup, spec: Remote, values: Values): Promise<number> {
  const owner = neededOwner(spec, values)
  const stop = new AbortController()
  void untilSignalled().then(() => stop.abort())
  await withConnections(setup, connections =>
    loginOwner(connections, { server: spec.name, owner, show: showAddress, signal: stop.signal }),
  )
  process.stdout.write(`"${spec.name}" is connected for "${printable(owner, 100)}".\n`)
  return 0
}

async function logoutOwner(setup: Setup, spec: Remote, values: Values): Promise<number> {
  const owner = neededOwner(spec, values)
  const was = await withConnections(setup, connections => connections.forget(spec.name, owner))
  const shown = `"${printable(owner, 100)}"`
  process.stdout.write(
    was
      ? `"${spec.name}" is not connected for ${shown} any more.\n`
      : `"${spec.name}" was not connected for ${shown}.\n`,
  )
  return 0
}

function showAddress(url: URL): void {
  process.stdout.write(
    `Open this address in a browser on this machine, and agree there:\n\n${url.href}\n\nThis command waits for it.\n`,
  )
}

async function logout(values: Values, name: string | undefined): Promise<number> {
  const setup = await setUp(values)
  const spec = named(setup, name)
  if (spec.auth?.per === 'owner') return logoutOwner(setup, spec, values)
  refuseOwner(spec, values)
  const was = forgetTokens(resolve(await dataFolder(values)), spec)
  process.stdout.write(
    was
      ? `The tokens of "${spec.name}" are deleted here.\n`
      : `There are no tokens of "${spec.name}" here.\n`,
  )
  return 0
}

async function list(values: Values): Promise<number> {
  const setup = await setUp(values)
  const runtime = await openRuntime(setup.config, { log: () => {}, source: setup.source, recover: false })
  try {
    const { servers = [] } = await runtime.engine.describe()
    process.stdout.write(
      servers.length === 0 ? 'The configuration names no MCP servers.\n' : servers.map(serverLine).join(''),
    )
  } finally {
    await runtime.close()
  }
  return 0
}

export const serverActions = { list, login, logout }

function serverLine({
  name,
  state,
  transport,
  protocolVersion,
  software,
  tools,
  changedTools,
  problem,
  ...more
}: ToolServerInfo): string {
  const facts = [
    transport,
    ...(protocolVersion === undefined ? [] : [`protocol ${printable(protocolVersion, 40)}`]),
    ...(software ? [printable(`${software.name} ${software.version}`, 120)] : []),
    `${tools} tools${changedTools > 0 ? ` (${changedTools} changed)` : ''}`,
    ...(more.resources ? ['resources'] : []),
    ...(more.prompts ? ['prompts'] : []),
  ]
  const why = problem === undefined ? '' : `\n    ${printable(problem, 500)}`
  return `${name}  ${state}  ${facts.join(', ')}${why}\n`
}
