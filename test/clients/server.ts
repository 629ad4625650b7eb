// The server that the client programs speak to: every model name is answered, through the strict double of one vendor, by a
// model that runs one shell command and repeats what it says.
import {
  type AgentConfig,
  anthropic,
  gemini,
  geminiInteractions,
  openai,
  openaiChat,
} from '../../src/index.ts'
import { Turnwire } from '../../src/library/turnwire.ts'
import { startServer } from '../../src/server/server.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { type ScriptedTurn, startDouble } from '../../src/testing/index.ts'

const apiKey = 'k'
/** The vendors whose doubles can stand behind the server. */
export const upstreams = {
  anthropic: (url: string) => anthropic({ model: 'claude-opus-4-6', apiKey, baseUrl: url }),
  gemini: (url: string) => gemini({ model: 'gemini-3-pro', apiKey, baseUrl: `${url}/v1beta` }),
  'gemini-interactions': (url: string) =>
    geminiInteractions({ model: 'gemini-3-pro', apiKey, baseUrl: `${url}/v1beta` }),
  'openai-chat': (url: string) => openaiChat({ model: 'gpt-5', apiKey, baseUrl: `${url}/v1` }),
  'openai-responses': (url: string) => openai({ model: 'gpt-5', apiKey, baseUrl: `${url}/v1` }),
}
export type Upstream = keyof typeof upstreams

/** What the shell prints: the request never has it before the command has run. */
export const proof = 'turnwire-loop-7'
const command = "printf 'turnwire-loop-%d' 7"
export const answer = `The shell said ${proof}.`

/** The shell tools of the clients, and how each takes a command. */
const shells: Record<string, object> = {
  exec_command: { cmd: command },
  Bash: { command, description: 'Says something' },
  run_shell_command: { command, description: 'Says something' },
  bash: { command, description: 'Says something' },
  shell: { command },
}

/** The answer of a router that wants to know which model fits a task. */
const routed = JSON.stringify({ complexity_reasoning: 'One command.', complexity_score: 1 })

/** Calls of a whole task: two at once, then a patch. Vendors without tools of free text take it as a member. */
const patch = '*** Begin Patch\n*** Add File: made.txt\n+made\n*** End Patch\n'
export const wholeTask = {
  prompt: 'Play the whole task.',
  resumed: 'Resume the task.',
  shortened: 'Go on after the summary.',
  /** What the client shows of each of its parts. */
  answers: ['Both were said, and the file is made.', 'It is resumed.', 'It goes on from the summary.'],
}

function decideTask(text: string, upstream: Upstream): ScriptedTurn | undefined {
  const [made, resumed, goesOn] = wholeTask.answers
  // Codex asks for a summary with a message of its own, and begins the shortened conversation with it.
  if (/checkpoint compaction/i.test(text) && !text.includes(wholeTask.shortened))
    return { text: 'Summary: it is made.' }
  if (text.includes(wholeTask.shortened))
    return text.includes('Summary: it is made.') ? { text: goesOn! } : undefined
  if (text.includes(wholeTask.resumed)) return { text: resumed! }
  if (!text.includes(wholeTask.prompt)) return undefined
  if (/Success\. Updated/.test(text)) return { text: made! }
  const say = (word: number) => ({ name: 'exec_command', input: { cmd: `printf 'part-%d' ${word}` } })
  if (!/part-1[\s\S]*part-2/.test(text)) return { text: 'Two at once.', calls: [say(1), say(2)] }
  const isText = upstream.startsWith('openai')
  const name = 'apply_patch'
  return { calls: [isText ? { name, text: patch, custom: true } : { name, input: { input: patch } }] }
}

export function decide(body: unknown, upstream: Upstream): ScriptedTurn {
  const text = JSON.stringify(body)
  const ofTask = decideTask(text, upstream)
  if (ofTask) return ofTask
  if (text.includes(proof)) return { text: answer }
  if (text.includes('complexity_score')) return { text: routed }
  const name = Object.keys(shells).find(each => text.includes(`"name":"${each}"`))
  return name === undefined
    ? { text: 'A task' }
    : { text: 'Running it.', calls: [{ name, input: shells[name] }] }
}

export type ClientServer = {
  url: string
  /** What the double refused, and what the script had no answer for. */
  refusals(): string[]
  stop(): Promise<void>
}

export async function serveClients(upstream: Upstream): Promise<ClientServer> {
  const double = await startDouble({ vendor: upstream, script: body => decide(body, upstream) })
  const model = upstreams[upstream](double.url)
  const agents: AgentConfig[] = [{ name: 'helper', model }]
  const turnwire = await Turnwire.open(
    { data: memoryStore(), models: { '*': model }, agents },
    { log: () => {} },
  )
  const server = await startServer(turnwire, { port: 0 })
  return {
    url: server.url,
    refusals: () => [
      ...double.rejections().map(({ rule, message }) => `${rule} ${message}`),
      ...double.harnessErrors(),
    ],
    stop: async () => {
      await server.stop()
      await double.close()
    },
  }
}
