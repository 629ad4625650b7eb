// Talks to an agent in the terminal: to one that is served somewhere, or to the configured one in a server of its own,
// which nobody else can reach because its key never leaves this process.
import { AapClient, AapError, type AgentInfo, type SessionInfo } from '../../client/index.ts'
import { unsetModels } from '../../config/unset-models.ts'
import { isPostgresUrl } from '../../data/data-place.ts'
import type { ForeseenVerdict } from '../../language/policy.ts'
import { printable } from '../../lib/text/index.ts'
import { Chat } from '../chat/chat.ts'
import { Flow } from '../chat/flow.ts'
import { Terminal } from '../chat/terminal.ts'
import {
  type CliCommand,
  self,
  shellWord,
  suggestWord,
  textValue,
  UsageError,
  type Values,
} from '../command.ts'
import { configOption, dataOption, setUp } from '../setup.ts'
import { styles, wantsColour } from '../style.ts'

export const command: CliCommand = {
  name: 'chat',
  usage:
    '[-p <message>] [--json] [--url <address>] [--key <key>] [--agent <name>] [--session <id>] [--trust <names>]',
  about: `Talks to an agent. Without --url it serves the configuration of this folder (or the demonstration) itself, for this
conversation only. Ctrl-C cancels what the agent does; at the prompt it leaves.
With -p it says one message, prints the answer and ends. Exit codes: 0 answered, 1 failed, 2 a mistake on the command
line, 3 the model refused, 4 a call waits for a permission, 130 cancelled.`,
  options: {
    prompt: {
      type: 'string',
      short: 'p',
      value: '<message>',
      help: 'Say this, print the answer and end; "-" reads it from standard input',
    },
    json: { type: 'boolean', help: 'With -p, or with a message on standard input: print one JSON object' },
    url: { type: 'string', short: 'u', value: '<address>', help: 'The address of a running server' },
    key: { type: 'string', short: 'k', value: '<key>', help: 'The key for it. Default: $TURNWIRE_KEY' },
    agent: { type: 'string', short: 'a', value: '<name>', help: 'Which agent. Default: the first' },
    session: { type: 'string', short: 's', value: '<id>', help: 'Go on with this session' },
    trust: {
      type: 'string',
      value: '<names>',
      help: 'Tools that run without a question, with commas between. Rules of the server may still ask',
    },
    config: configOption,
    data: dataOption,
  },
  words: 0,
  async run({ values }) {
    const message = await givenMessage(values)
    const server = await reach(values)
    return message === undefined ? converse(values, server) : sayOnce(values, server, message)
  },
}

/** The agent and the session that the options name, at a server. */
async function openChat(values: Values, server: ChatServer) {
  const client = new AapClient(server)
  const agents = await agentsAt(client, server)
  const session = await findChatSession(client, textValue(values, 'session'), server.where)
  const agent = choose(agents, textValue(values, 'agent') ?? session?.agent.name)
  const given = givenTrust(values, agent)
  const { again, troubles } = server
  const trusted = (name: string): ReadonlySet<string> =>
    new Set([...server.trusted(name), ...(name === agent.name ? given : [])])
  const { verdicts } = server
  return {
    client,
    agents,
    agent,
    trusted,
    verdicts,
    again,
    troubles,
    ...(session && { session: session.sessionId }),
  }
}

async function converse(values: Values, server: ChatServer): Promise<number> {
  const terminal = new Terminal()
  try {
    const chat = await openChat(values, server)
    const { agent } = chat
    const style = styles(wantsColour(process.stdout))
    const greeting = new Flow(text => terminal.write(text), { indent: '', width: () => terminal.width })
    greeting.add(printable(agent.title ?? agent.name, 80), style.bold)
    greeting.end()
    greeting.add(printable(agent.description ?? '', 400), text => text)
    greeting.end()
    greeting.add(`${server.words} /help lists commands, Ctrl-C leaves.`, style.dim)
    greeting.end()
    for (const words of server.notices) greeting.add(printable(words, 2000), style.yellow)
    greeting.end()
    await new Chat({ ...chat, terminal, styles: style }).run()
    return 0
  } finally {
    terminal.close()
    await server.stop()
    for (const words of server.troubles()) process.stderr.write(`${printable(words, 2000)}\n`)
  }
}

/** Undefined: a conversation. With --json and no -p, what stands on standard input is the message. */
async function givenMessage(values: Values): Promise<string | undefined> {
  const given = textValue(values, 'prompt')
  const json = values['json'] === true
  if (given === undefined && !json) return undefined
  if (given === undefined && process.stdin.isTTY)
    throw new UsageError('--json needs a message: turnwire chat -p "<message>" --json')
  const text = given === undefined || given === '-' ? await readInput() : given
  if (text.trim() === '') throw new UsageError('The message is empty.')
  return text.trim()
}

async function readInput(): Promise<string> {
  return (await process.stdin.setEncoding('utf8').toArray()).join('')
}

async function sayOnce(values: Values, server: ChatServer, text: string): Promise<number> {
  try {
    for (const words of server.notices) process.stderr.write(`${printable(words, 2000)}\n`)
    const chat = await openChat(values, server)
    const trusted = chat.trusted(chat.agent.name)
    const { runOneShot } = await import('../chat/one-shot.ts')
    return await runOneShot({ ...chat, trusted, text, json: values['json'] === true })
  } finally {
    await server.stop()
  }
}

/** The server's own words name a header, which nobody types here. */
async function agentsAt(client: AapClient, { apiKey }: ChatServer): Promise<readonly AgentInfo[]> {
  try {
    return (await client.getMeta()).agents
  } catch (error) {
    if (!(error instanceof AapError && error.status === 401)) throw error
    const words =
      apiKey === undefined
        ? 'The server needs a key: give it with --key <key>, or in the environment as TURNWIRE_KEY.'
        : 'The server does not know this key. Give another with --key <key>, or in the environment as TURNWIRE_KEY.'
    throw new AapError(error.status, error.code, words, { cause: error })
  }
}

function givenTrust(values: Values, { name, tools = [] }: AgentInfo): string[] {
  const names = (textValue(values, 'trust') ?? '').split(',').flatMap(each => each.trim() || [])
  const known = tools.map(tool => tool.name)
  const unknown = names.find(each => !known.includes(each))
  if (unknown === undefined) return names
  throw new UsageError(
    `The agent "${printable(name, 80)}" has no tool "${printable(unknown, 80)}" to trust. It has: ${printable(known.join(', '), 500) || 'none'}.`,
  )
}

type ChatServer = {
  baseUrl: string
  apiKey?: string
  words: string
  /** Where its sessions are, for the message about one that does not exist. */
  where: string
  again: string
  trusted: (agent: string) => ReadonlySet<string>
  /** What rules say about the tools of an agent, where that is known. */
  verdicts: (agent: string) => ReadonlyMap<string, ForeseenVerdict>
  /** Warnings and errors of its start. */
  notices: readonly string[]
  /** Warnings and errors since the last call. */
  troubles: () => string[]
  stop(): Promise<void>
}

async function findChatSession(
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
    verdicts: () => new Map(),
    notices: [],
    troubles: () => [],
    stop: () => Promise.resolve(),
  }
}

async function ownServer(values: Values): Promise<ChatServer> {
  const [{ config, source, demo }, { openRuntime }, { serveRuntime }, { newKey, localOwner }, { createLog }] =
    await Promise.all([
      setUp(values, { delayMs: process.stdout.isTTY ? 25 : 0 }),
      import('../open-runtime.ts'),
      import('../../server/server.ts'),
      import('../../callers/keys.ts'),
      import('../../log.ts'),
    ])
  const { key, entry } = newKey(localOwner)
  const guarded = { ...config, server: { ...config.server, keys: [...(config.server?.keys ?? []), entry] } }
  let troubles: string[] = []
  const taken = (): string[] => {
    const written = troubles
    troubles = []
    return written
  }
  const log = createLog({ level: 'error', write: line => void troubles.push(readTrouble(line)) })
  // Unfinished sessions are for a server to resume: their agents may need its environment.
  const runtime = await openRuntime(guarded, { log, source, recover: false })
  try {
    const { agents } = await runtime.engine.describe()
    const running = await serveRuntime(runtime, { host: '127.0.0.1', port: 0, shared: true })
    return {
      baseUrl: running.url,
      apiKey: key,
      where: `here. See them with: ${self} sessions list`,
      again: `${self} chat${givenPlace(values)}`,
      notices: [
        ...unsetModels(config).map(({ where, problem }) => `The model of ${where}: ${problem}`),
        ...taken(),
      ],
      troubles: taken,
      words: demo ? 'The demonstration: no key, no network.' : `From ${source}.`,
      trusted: name => {
        const tools = agents.find(agent => agent.name === name)?.tools ?? []
        return new Set(tools.filter(tool => tool.trust === 'trusted').map(tool => tool.name))
      },
      verdicts: name => {
        const tools = agents.find(agent => agent.name === name)?.tools ?? []
        return new Map(tools.flatMap(tool => (tool.verdict ? [[tool.name, tool.verdict] as const] : [])))
      },
      stop: () => running.stop(),
    }
  } catch (error) {
    await runtime.close()
    throw error
  }
}

/** The options that say where the sessions are. A database's address may hold a password. */
function givenPlace(values: Values): string {
  return ['config', 'data']
    .flatMap(name => {
      const value = textValue(values, name)
      if (value === undefined) return []
      return ` --${name} ${isPostgresUrl(value) ? '<the database>' : shellWord(value)}`
    })
    .join('')
}

/** A line of the log as people read it. */
function readTrouble(line: string): string {
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
  throw new UsageError(`There is no agent "${printable(name, 80)}" here. ${suggestWord(name, names)}`)
}
