// Talks to an agent in the terminal: to one that is served somewhere, or to the configured one in a server of its own,
// which nobody else can reach because its key never leaves this process.
import { AapClient, AapError, type AgentInfo, type SessionInfo } from '../../client/index.ts'
import { printable } from '../../lib/text.ts'
import { Chat } from '../chat/chat.ts'
import { Flow } from '../chat/flow.ts'
import { Terminal } from '../chat/terminal.ts'
import { type CliCommand, self, textValue, UsageError, type Values } from '../command.ts'
import { nearest } from '../nearest.ts'
import { configOption, dataOption, setUp } from '../setup.ts'
import { styles, wantsColour } from '../style.ts'

export const chat: CliCommand = {
  name: 'chat',
  usage: '[--url <address>] [--key <key>] [--agent <name>] [--session <id>]',
  about: `Talks to an agent. Without --url it serves the configuration of this folder (or the demonstration) itself, for this
conversation only. Ctrl-C cancels what the agent does; at the prompt it leaves.`,
  options: {
    url: { type: 'string', short: 'u', value: '<address>', help: 'The address of a running server' },
    key: { type: 'string', short: 'k', value: '<key>', help: 'The key for it. Default: $TURNWIRE_KEY' },
    agent: { type: 'string', short: 'a', value: '<name>', help: 'Which agent. Default: the first' },
    session: { type: 'string', short: 's', value: '<id>', help: 'Go on with this session' },
    config: configOption,
    data: dataOption,
  },
  words: 0,
  async run({ values }) {
    const server = await reach(values)
    const terminal = new Terminal()
    try {
      const client = new AapClient(server)
      const { agents } = await client.getMeta()
      const session = await sessionOf(client, textValue(values, 'session'), server.where)
      const agent = choose(agents, textValue(values, 'agent') ?? session?.agent.name)
      const style = styles(wantsColour(process.stdout))
      const greeting = new Flow(text => terminal.write(text), { indent: '', width: () => terminal.width })
      greeting.add(printable(agent.title ?? agent.name, 80), style.bold)
      greeting.end()
      greeting.add(printable(agent.description ?? '', 400), text => text)
      greeting.end()
      greeting.add(`${server.words} /help lists commands, Ctrl-C leaves.`, style.dim)
      greeting.end()
      const { trusted, again, troubles } = server
      const begun = session && { session: session.sessionId }
      await new Chat({
        client,
        terminal,
        styles: style,
        agents,
        agent,
        trusted,
        again,
        troubles,
        ...begun,
      }).run()
      return 0
    } finally {
      terminal.close()
      await server.stop()
      for (const words of server.troubles()) process.stderr.write(`${printable(words, 2000)}\n`)
    }
  },
}

type ChatServer = {
  baseUrl: string
  apiKey?: string
  words: string
  /** Where its sessions are, for the message about one that does not exist. */
  where: string
  again: string
  trusted: (agent: string) => ReadonlySet<string>
  troubles: () => string[]
  stop(): Promise<void>
}

async function sessionOf(
  client: AapClient,
  id: string | undefined,
  where: string,
): Promise<SessionInfo | undefined> {
  if (id === undefined) return undefined
  try {
    return await client.getSession(id)
  } catch (error) {
    if (!(error instanceof AapError && error.code === 'session_not_found')) throw error
    throw new UsageError(`There is no session ${printable(id, 80)} ${where}`)
  }
}

async function reach(values: Values): Promise<ChatServer> {
  const url = textValue(values, 'url')
  if (url === undefined) return ownServer(values)
  if (!/^https?:\/\//.test(url) || !URL.canParse(url))
    throw new UsageError(
      `--url must be a whole address such as http://127.0.0.1:4117, not "${printable(url, 200)}".`,
    )
  const key = textValue(values, 'key') ?? process.env['TURNWIRE_KEY']
  return {
    baseUrl: url,
    ...(key && { apiKey: key }),
    words: `Connected to ${printable(url, 200)}.`,
    where: 'at that server, or it is another key’s. /sessions in a chat lists yours.',
    again: `${self} chat --url ${url}`,
    // A server does not say what its operator trusts: the person is asked about each tool, and may say "always".
    trusted: () => new Set(),
    troubles: () => [],
    stop: () => Promise.resolve(),
  }
}

async function ownServer(values: Values): Promise<ChatServer> {
  const [{ config, source, demo }, { Runtime }, { serveRuntime }, { newKey, localOwner }, { createLog }] =
    await Promise.all([
      setUp(values, { delayMs: process.stdout.isTTY ? 25 : 0 }),
      import('../../runtime/runtime.ts'),
      import('../../runtime/server.ts'),
      import('../../runtime/keys.ts'),
      import('../../runtime/log.ts'),
    ])
  const { key, entry } = newKey(localOwner)
  const guarded = { ...config, server: { ...config.server, keys: [...(config.server?.keys ?? []), entry] } }
  let troubles: string[] = []
  const log = createLog({ level: 'error', write: line => void troubles.push(troubleOf(line)) })
  // Unfinished sessions are for a server to resume: their agents may need its environment.
  const runtime = await Runtime.open(guarded, { log, source, recover: false })
  try {
    const { agents } = await runtime.engine.describe()
    const running = await serveRuntime(runtime, { host: '127.0.0.1', port: 0, shared: true })
    return {
      baseUrl: running.url,
      apiKey: key,
      where: `here. See them with: ${self} sessions list`,
      again: `${self} chat`,
      troubles: () => {
        const written = troubles
        troubles = []
        return written
      },
      words: demo ? 'The demonstration: no key, no network.' : `From ${source}.`,
      trusted: name => {
        const tools = agents.find(agent => agent.name === name)?.tools ?? []
        return new Set(tools.filter(tool => tool.trust === 'trusted').map(tool => tool.name))
      },
      stop: () => running.stop(),
    }
  } catch (error) {
    await runtime.close()
    throw error
  }
}

/** A line of the log as people read it. */
function troubleOf(line: string): string {
  const { message, error } = JSON.parse(line) as { message: string; error?: string } // Our own log wrote it.
  return error === undefined ? message : `${message.replace(/\.$/, '')}: ${error}`
}

function choose(agents: readonly AgentInfo[], name: string | undefined): AgentInfo {
  const [first] = agents
  if (!first) throw new UsageError('The server has no agents.')
  if (name === undefined) return first
  const found = agents.find(agent => agent.name === name)
  if (found) return found
  const names = agents.map(agent => agent.name)
  const near = nearest(name, names)
  throw new UsageError(
    `There is no agent "${printable(name, 80)}" here. ${near === undefined ? `There are: ${printable(names.join(', '), 500)}.` : `Did you mean "${printable(near, 80)}"?`}`,
  )
}
