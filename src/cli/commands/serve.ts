// Serves the configured agents until a signal stops it. Text for people goes to standard output, the log to standard error.

import { relative } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { serverDefaults, type TurnwireConfig } from '../../config/config.ts'
import { reportFlow } from '../../config/flow-report.ts'
import { idleRules } from '../../config/idle-rules.ts'
import { unsetModels } from '../../config/unset-models.ts'
import { isPostgresUrl, isShared } from '../../data/data-place.ts'
import { clusterSettings } from '../../engines/cluster/settings.ts'
import { present } from '../../lib/json/present.ts'
import { printable } from '../../lib/text/index.ts'
import { createLog, type Log } from '../../log.ts'
import type { AgentInfo } from '../../runtime.ts'
import { namelessProblem } from '../../server/access.ts'
import { consoleFolder } from '../../server/console-files.ts'
import { type Running, serveRuntime } from '../../server/server.ts'
import { type CliCommand, hintsAsStarted, readPort, self, textValue } from '../command.ts'
import { guardProcess, type ProcessGuard, untilSignalled } from '../guard-process.ts'
import { openRuntime } from '../open-runtime.ts'
import { configOption, databaseName, dataOption, type Setup, setUp, unusedDatabase } from '../setup.ts'
import { styles, wantsColour } from '../style.ts'

export const command: CliCommand = {
  name: 'serve',
  usage: '[--config <file>] [--port <n>] [--host <name>] [--data <folder>]',
  about: `Serves the agents of the configuration over HTTP. Without a configuration it serves a demonstration agent that
needs no key. Open to this machine only until there is a key: turnwire keys add <name>.`,
  options: {
    config: configOption,
    port: {
      type: 'string',
      short: 'p',
      value: '<n>',
      help: 'The port; 0 for any free one. Default: $PORT, the config, else 4117',
    },
    host: {
      type: 'string',
      value: '<name>',
      help: 'The address to listen on. Default: the config, else 127.0.0.1',
    },
    data: dataOption,
  },
  words: 0,
  async run({ values }) {
    const host = textValue(values, 'host')
    const asked = readPort(textValue(values, 'port'), '--port')
    const setup = await setUp(values)
    const port = asked ?? readPort(process.env['PORT'], 'PORT')
    const log = createLog({ level: setup.config.server?.log ?? 'info', secrets })
    const guard = guardProcess(log, setup.config.server?.graceMs ?? serverDefaults.graceMs)
    for (const idle of idleRules(setup.config))
      log('warn', 'A rule names a tool that no agent has: it never applies to their tools.', idle)
    warnOfPaths(setup.config, log)
    for (const unset of unsetModels(setup.config)) log('warn', 'A model cannot be asked yet.', unset)
    warnIfAlone(setup.config, log)
    const runtime = await openRuntime(setup.config, { log, source: setup.source, recover: false })
    let running: Running
    try {
      running = await serveRuntime(runtime, present({ port, host }))
    } catch (error) {
      await runtime.close()
      throw error
    }
    // The command held it while modules were loaded. This is V8's own value.
    setFlagsFromString('--semi-space-growth-factor=2')
    const { agents } = await runtime.engine.describe()
    log('info', 'Listening.', { url: running.url, agents: agents.map(agent => agent.name) })
    // Listen for signals first: a program that reads the greeting may stop the server at once.
    const signalled = untilSignalled()
    const { server = {} } = setup.config
    const nameless = namelessProblem(server, host ?? server.host)
    const where = { sessions: placeOfSessions(setup, runtime.folder), nameless }
    process.stdout.write(greeting(setup, agents, where, running))
    return untilStopped(signalled, guard, running, log)
  },
}

function* secrets(): Iterable<string> {
  const key = process.env['TURNWIRE_VAULT_KEY']
  if (key !== undefined) yield key
  const url = process.env['DATABASE_URL']
  const password = url !== undefined && URL.canParse(url) ? new URL(url).password : ''
  if (password !== '') yield password
}

// ---- text for people ------------------------------------------------------------------------------------------

function placeOfSessions({ config: { data } }: Setup, folder: string | undefined): string {
  if (typeof data === 'string' && isPostgresUrl(data)) return `in ${databaseName(data)}`
  const unused = unusedDatabase(data)
  const why = unused === undefined ? '' : ` (DATABASE_URL is not used: ${unused})`
  if (folder !== undefined) return `${relative(process.cwd(), folder) || '.'}${why}`
  return `${data === 'memory' ? 'in memory, gone when it stops' : "in the configuration's own store"}${why}`
}

const pathWarning = 'An agent can be told by a text to send private data elsewhere. See: turnwire flow'

/** Agents whose tools together can send private data where a text says, with nobody asked. */
function warnOfPaths(config: TurnwireConfig, log: Log): void {
  for (const report of reportFlow(config))
    if (report.mode === 'off' && report.pathCount > 0)
      log('warn', hintsAsStarted(pathWarning), {
        agent: report.agent,
        path: report.paths[0] ?? [],
        paths: report.pathCount,
        close: report.closedBy ?? '',
      })
}

/** Several servers without a shared store would each do the same work, and each charge for it. */
function warnIfAlone({ data, server }: Setup['config'], log: ReturnType<typeof createLog>): void {
  if (isShared(data)) return
  const { secret, address } = clusterSettings(server?.cluster)
  if (isPostgresUrl(process.env['DATABASE_URL'] ?? ''))
    log(
      'warn',
      'DATABASE_URL names a PostgreSQL database that is not used, because --data, TURNWIRE_DATA or the configuration names another place. This server shares nothing with other nodes. To use the database, leave out the other.',
    )
  else if (secret !== undefined || address !== undefined)
    log(
      'warn',
      'This server has the settings of a node, but its sessions are not in PostgreSQL: it shares nothing with other nodes. Set DATABASE_URL=postgres://….',
    )
}

function greeting(
  { source, demo, config }: Setup,
  agents: readonly AgentInfo[],
  { sessions, nameless }: { sessions: string; nameless: string | undefined },
  { url, open }: Running,
): string {
  const { bold, dim, cyan, yellow } = styles(wantsColour(process.stdout))
  // A relay may have none.
  const names =
    agents.map(agent => printable(agent.name, 80)).join(', ') ||
    `none of its own; attach one: ${self} attach ${config.server?.publicUrl ?? url}`
  const lines = [
    `${bold('Turnwire')} listens on ${cyan(url)}`,
    '',
    ...(consoleFolder() === undefined ? [] : ['  console   open this address in a browser']),
    `  agents    ${names} ${dim(demo ? `(the demonstration: there is no turnwire.config.ts here; make one with: ${self} init)` : `(${source})`)}`,
    `  sessions  ${sessions}`,
    `  access    ${open ? yellow(`open to every program on this machine: no key exists (make one with: ${self} keys add <name>)`) : 'with a key'}`,
    ...(nameless === undefined ? [] : [`  names     ${yellow(nameless)}`]),
    '',
    'Try it:',
    '',
    `  ${tryIt(agents[0], url, open)}`,
    '',
    dim('Ctrl-C stops it.'),
    '',
  ]
  return `${lines.join('\n')}\n`
}

const mostToolsTried = 8

/** A line that works when it is pasted. Version 1 of the protocol creates a session and runs a turn in one request. */
function tryIt(agent: AgentInfo | undefined, url: string, open: boolean): string {
  if (!agent) return `curl -s ${url}/v1/providers`
  const trusted = agent.tools.filter(tool => tool.exposed && tool.trust === 'trusted')
  const tools = trusted.slice(0, mostToolsTried).map(({ name }) => ({ name, trust: true }))
  const weather = trusted.some(tool => tool.name === 'get_weather')
  const body = JSON.stringify({
    agent: {
      name: agent.name,
      ...(tools.length > 0 && { tools: weather ? [{ name: 'get_weather', trust: true }] : tools }),
    },
    messages: [
      { role: 'user', content: weather ? 'What is the weather in Paris?' : 'Hello! What can you do?' },
    ],
  }).replaceAll("'", "'\\''")
  const key = open ? '' : " -H 'Authorization: Bearer <key>'"
  return `curl -s -X PUT ${url}/session${key} -H 'Content-Type: application/json' -d '${body}'`
}

// ---- the end ---------------------------------------------------------------------------------------------------

/** The first signal lets running tools finish; the second one does not. */
async function untilStopped(
  signalled: Promise<void>,
  guard: ProcessGuard,
  running: Running,
  log: ReturnType<typeof createLog>,
): Promise<number> {
  await Promise.race([signalled, guard.faulted])
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, () => {
      log('warn', 'Stopped at once; calls that were running will be settled as unknown at the next start.')
      process.exit(130)
    })
  log('info', 'Stopping: running tools may finish. Once more stops it at once.')
  await running.stop()
  log('info', guard.status === 0 ? 'Stopped.' : 'Stopped, because an error was not caught.')
  return guard.status
}
