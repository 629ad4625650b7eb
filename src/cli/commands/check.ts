// Looks at everything that `serve` would need, and says for each part whether it is right, and if not, what to do. Nothing is served, no
// model is asked, and no session is touched.
import { createServer } from 'node:net'
import { environmentKeys } from '../../callers/environment-keys.ts'
import { Keys } from '../../callers/keys.ts'
import type { ServerConfig, TurnwireConfig } from '../../config/config.ts'
import { reportFlow } from '../../config/flow-report.ts'
import { idleRules } from '../../config/idle-rules.ts'
import { unheldRoles } from '../../config/unheld-roles.ts'
import { unsetModels } from '../../config/unset-models.ts'
import { isPostgresUrl } from '../../data/data-place.ts'
import { wordsOf } from '../../language/errors.ts'
import type { AgentFlowReport } from '../../language/flow.ts'
import type { ToolServerInfo } from '../../language/servers.ts'
import { printable } from '../../lib/text/index.ts'
import { plural } from '../../lib/text/plural.ts'
import type { Log } from '../../log.ts'
import { Runtime } from '../../runtime.ts'
import { checkSignInAddress, isGuarded, isLoopback, namelessProblem } from '../../server/access.ts'
import { type CliCommand, hintsAsStarted, readPort, textValue, type Values } from '../command.ts'
import { withProgress } from '../progress.ts'
import { configOption, databaseName, dataOption, type Setup, setUp, unusedDatabase } from '../setup.ts'
import { styles, wantsColour } from '../style.ts'

/** `wrong`: it would not work. `look`: it works, but may not be what was meant. */
type Finding = { state: 'ok' | 'look' | 'wrong'; part: string; words: string }

export const command: CliCommand = {
  name: 'check',
  usage: '[--config <file>] [--data <folder>] [--port <n>] [--json]',
  about: `Checks the configuration, models and their keys, tools and schemas, rules, what tools can do together, data, MCP servers,
access and the port, and says what to do about each mistake. Exits with 1 if something would not work.`,
  options: {
    config: configOption,
    data: dataOption,
    port: { type: 'string', short: 'p', value: '<n>', help: 'The port that serve would be given' },
    json: { type: 'boolean', help: 'One JSON object a line, for programs' },
  },
  words: 0,
  async run({ values }) {
    const findings = await findAll(values)
    const line = values['json'] === true ? (each: Finding) => JSON.stringify(each) : shown()
    for (const { words, ...finding } of findings)
      process.stdout.write(`${line({ ...finding, words: hintsAsStarted(words) })}\n`)
    return findings.some(({ state }) => state === 'wrong') ? 1 : 0
  },
}

function shown(): (finding: Finding) => string {
  const { green, yellow, red, bold } = styles(wantsColour(process.stdout))
  const marks = { ok: green('ok   '), look: yellow('look '), wrong: red('wrong') }
  return ({ state, part, words }) =>
    `${marks[state]}  ${bold(part.padEnd(6))}  ${printable(words, { multiline: true, maxChars: 4_000 })}`
}

async function findAll(values: Values): Promise<Finding[]> {
  let setup: Setup
  try {
    setup = await setUp(values)
  } catch (error) {
    return [{ state: 'wrong', part: 'config', words: wordsOf(error) }]
  }
  return [
    {
      state: setup.demo ? 'look' : 'ok',
      part: 'config',
      words: setup.demo
        ? 'There is no turnwire.config.ts here, so the demonstration would be served. Make one: turnwire init'
        : setup.source,
    },
    ...agentFindings(setup.config),
    ...(await openFindings(setup)),
    ...(await portFindings(setup.config, readPort(textValue(values, 'port'), '--port'))),
  ]
}

function agentFindings(config: TurnwireConfig): Finding[] {
  return [
    ...config.agents.map(({ name, tools = [] }): Finding => {
      return { state: 'ok', part: 'agent', words: `${name}: ${plural(tools.length, 'tool')} of its own` }
    }),
    ...unsetModels(config).map(({ where, problem }): Finding => {
      return { state: 'wrong', part: 'model', words: `${where}: ${problem}` }
    }),
    ...idleRules(config).map(({ rule, tool }): Finding => {
      const words = `${rule} names "${tool}", which no agent has: it applies to no tool of theirs. Look for a typing error.`
      return { state: 'look', part: 'rule', words }
    }),
    ...reportFlow(config).map(flowFinding),
  ]
}

/** Of the agent's own tools. Those of MCP servers are labelled when they are connected. */
function flowFinding({ agent, mode, paths, pathCount, closedBy }: AgentFlowReport): Finding {
  const [path] = paths
  if (path === undefined)
    return { state: 'ok', part: 'flow', words: `${agent}: ${mode}, no path with nobody asked` }
  const more = pathCount === 1 ? '' : `, one of ${pathCount} paths`
  const words = `${agent}: ${path.join(' → ')} can send private data where a text of outsiders wants it, with nobody asked${more}. Set ${closedBy}. Or label the tools; see: turnwire flow ${agent}`
  return { state: 'look', part: 'flow', words }
}

/** Opens everything as `serve` does, and closes it again. The log's warnings are findings. */
async function openFindings({ config, source }: Setup): Promise<Finding[]> {
  const warned: { finding: Finding; server: unknown }[] = []
  const log: Log = (level, message, fields = {}) => {
    if (level !== 'warn' && level !== 'error') return
    const more = Object.entries(fields).map(([name, value]) => `${name} ${JSON.stringify(value)}`)
    const finding: Finding = { state: 'look', part: 'tools', words: [message, ...more].join(' · ') }
    warned.push({ finding, server: fields['server'] })
  }
  try {
    // An MCP server may be installed first, as `npx -y` does.
    const runtime = await withProgress('Looking at data and MCP servers', '', () =>
      Runtime.open(config, { log, source, recover: false }),
    )
    try {
      const { servers = [] } = await runtime.engine.describe()
      return [
        dataFinding(config, runtime),
        ...servers.map(serverFinding),
        ...accessFindings(config, runtime.folder),
        ...(await signInFindings(config, runtime)),
        // What is wrong with a server was said above.
        ...warned
          .filter(
            ({ server }) => !servers.some(({ name, state }) => name === server && state !== 'connected'),
          )
          .map(({ finding }) => finding),
      ]
    } finally {
      await runtime.close()
    }
  } catch (error) {
    const findings = warned.map(({ finding }) => finding)
    return [...findings, { state: 'wrong', part: 'data', words: wordsOf(error) }]
  }
}

function dataFinding({ data }: TurnwireConfig, { folder }: Runtime): Finding {
  const place =
    typeof data === 'string' && isPostgresUrl(data) ? databaseName(data) : (folder ?? 'nothing is kept')
  const unused = unusedDatabase(data)
  return unused === undefined
    ? { state: 'ok', part: 'data', words: place }
    : { state: 'look', part: 'data', words: `${place}. DATABASE_URL is not used: ${unused}` }
}

function serverFinding({ name, state, tools, problem = '' }: ToolServerInfo): Finding {
  if (state === 'connected') return { state: 'ok', part: 'mcp', words: `${name}: ${plural(tools, 'tool')}` }
  const advice = state === 'login' ? `Log in: turnwire mcp login ${name}` : problem
  return { state: 'wrong', part: 'mcp', words: `${name}: ${state}. ${advice}` }
}

function accessFindings(config: TurnwireConfig, folder: string | undefined): Finding[] {
  const { server = {} } = config
  const fixed = [...(server.keys ?? []), ...environmentKeys()]
  const keys = new Keys(fixed, folder, isGuarded(server))
  const unheld = isGuarded(server) ? [] : unheldRoles(config, keys.list())
  const roles = unheld.map(({ rule, role }): Finding => {
    const words = `${rule} asks people with the role "${role}", which no key has: nobody can allow its calls. Make one: turnwire keys add <name> --roles ${role}`
    return { state: 'look', part: 'rule', words }
  })
  const nameless = namelessProblem(server, server.host)
  const names: Finding[] = nameless === undefined ? [] : [{ state: 'look', part: 'names', words: nameless }]
  return [accessFinding(server, keys), ...names, ...roles]
}

function accessFinding(server: ServerConfig, keys: Keys): Finding {
  if (!keys.open)
    return {
      state: 'ok',
      part: 'access',
      words: 'with a key, a token or a sign-in, or as the application says',
    }
  const isLocal = server.host === undefined || isLoopback(server.host)
  const words = isLocal
    ? 'no key exists: it is open to every program on this machine, and to no other machine'
    : `server.host is ${server.host}, but no key exists: serve will refuse to start. Make one: turnwire keys add <name>, or set TURNWIRE_KEYS`
  return { state: isLocal ? 'look' : 'wrong', part: 'access', words }
}

/** Asks the identity provider what it says of itself. Nobody signs in. */
async function signInFindings({ server = {} }: TurnwireConfig, runtime: Runtime): Promise<Finding[]> {
  const { oidc, publicUrl, host = '127.0.0.1', path = '' } = server
  if (!oidc) return []
  try {
    checkSignInAddress(server, host)
    const { OidcProvider } = await import('../../callers/oidc/provider.ts')
    await new OidcProvider(oidc, runtime.fetchIssuer(), Date.now).addresses()
    const page =
      publicUrl === undefined ? 'the address that serve prints, with /sign-in' : `${publicUrl}${path}/sign-in`
    const words = `${oidc.label} answers. Its client "${oidc.clientId}" must allow this redirect address: ${page}`
    return [{ state: 'ok', part: 'sign-in', words }]
  } catch (error) {
    return [{ state: 'wrong', part: 'sign-in', words: `${oidc.label} (${oidc.issuer}): ${wordsOf(error)}` }]
  }
}

async function portFindings({ server = {} }: TurnwireConfig, asked: number | undefined): Promise<Finding[]> {
  const port = asked ?? readPort(process.env['PORT'], 'PORT') ?? server.port ?? 4117
  if (port === 0) return [{ state: 'ok', part: 'port', words: 'any free one' }]
  const host = server.host ?? '127.0.0.1'
  const failure = await new Promise<string | undefined>(resolve => {
    const probe = createServer()
    probe.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    probe.listen(port, host, () => probe.close(() => resolve(undefined)))
  })
  if (failure === undefined) return [{ state: 'ok', part: 'port', words: `${port} on ${host}` }]
  const words =
    failure === 'EADDRINUSE'
      ? `${port} on ${host} is taken, perhaps by a server of yours that runs. Choose another with --port <n> or PORT=<n>`
      : `${port} on ${host} cannot be used: ${failure}`
  return [{ state: 'wrong', part: 'port', words }]
}
