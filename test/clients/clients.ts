// The client programs, and one whole tool loop with each: a task goes in, the model asks for a tool, the client runs it and
// sends its result, the model answers, the client shows the answer.
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { install } from './install.ts'
import { commandOf, sectionsOf, writeFiles } from './page.ts'
import { answer, wholeTask } from './server.ts'

/** `section`: its lines in docs/guide/connect.md. `program`: what stands in for lines that are part of an application. */
export type Client = {
  name: string
  packages: readonly [string, ...string[]]
  wire: string
  section?: string
  program?: (url: string) => string
  /** Lines in place of the section's, and what must be shown in the end. */
  task?: { line: string; answers: readonly string[] }
  /** Versions in place of those that its packages ask for. */
  overrides?: Record<string, string>
}

const sdk = (
  name: string,
  packages: Client['packages'],
  wire: string,
  program: Client['program'],
): Client => ({
  name,
  packages,
  wire,
  ...(program && { program }),
})

const tool = `{ type: 'object', properties: { command: { type: 'string' } }, required: ['command'] }`
/** Runs the command of a call, as a client does. */
const shell = `import { execSync } from 'node:child_process'
const run = ({ command }) => execSync(command, { encoding: 'utf8' })
`

export const clients: Client[] = [
  { name: 'Codex', packages: ['@openai/codex@0.166.0'], wire: 'Responses', section: 'Codex' },
  {
    // A model that it knows: it then declares its tool for patches, with the grammar.
    name: 'Codex, whole task',
    packages: ['@openai/codex@0.166.0'],
    wire: 'Responses',
    section: 'Codex',
    task: {
      line: [
        'set -e; export TURNWIRE_KEY=any-text',
        "codex='codex exec --skip-git-repo-check --sandbox danger-full-access -m gpt-5.5'",
        `$codex "${wholeTask.prompt}"`,
        'test "$(cat made.txt)" = made',
        `$codex resume --last "${wholeTask.resumed}"`,
        `$codex -c model_auto_compact_token_limit=1 resume --last "${wholeTask.shortened}"`,
      ].join('\n'),
      answers: wholeTask.answers,
    },
  },
  {
    name: 'Claude Code',
    packages: ['@anthropic-ai/claude-code@2.1.325'],
    wire: 'Messages',
    section: 'Claude Code',
  },
  { name: 'Gemini CLI', packages: ['@google/gemini-cli@0.61.0'], wire: 'Gemini', section: 'Gemini CLI' },
  { name: 'opencode', packages: ['opencode-ai@1.18.33'], wire: 'Chat Completions', section: 'opencode' },
  {
    name: 'CopilotKit',
    packages: ['@copilotkit/runtime@1.75.0', '@copilotkit/core@1.75.0', '@ag-ui/client@0.0.59'],
    wire: 'AG-UI',
    section: 'CopilotKit',
    // LangGraph, which it brings along, asks for versions that registries may not have yet.
    overrides: { '@langchain/protocol': '0.0.19', '@langchain/langgraph-checkpoint': '1.1.5' },
    program: () => `${shell}
import { serve } from '@hono/node-server'
import { app } from './copilotkit.mjs'
globalThis.window = globalThis // It connects in a page only.
const { CopilotKitCore } = await import('@copilotkit/core')
const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' })
await new Promise(resolve => server.once('listening', resolve))
const core = new CopilotKitCore({
  runtimeUrl: 'http://127.0.0.1:' + server.address().port + '/api/copilotkit',
  runtimeTransport: 'single',
  tools: [{ name: 'shell', description: 'Runs a command.', parameters: undefined, handler: async args => run(args) }],
})
while (!core.getAgent('default')) await new Promise(resolve => setTimeout(resolve, 50))
const agent = core.getAgent('default')
agent.addMessage({ id: 'u1', role: 'user', content: 'Run a command.' })
await core.runAgent({ agent })
console.log(agent.messages.at(-1).content)
process.exit(0)
`,
  },
  {
    name: 'useChat',
    packages: [
      'ai@7.0.170',
      '@ai-sdk/react@4.0.167',
      'react@19.3.1',
      'react-dom@19.3.1',
      'happy-dom@21.0.4',
      'zod@4.6.7',
    ],
    wire: 'UI stream',
    section: 'useChat',
    program: () => `${shell}
import { Window } from 'happy-dom'
globalThis.window = new Window()
globalThis.document = window.document
document.body.innerHTML = '<div id="root"></div>'
const { createElement } = await import('react')
const { createRoot } = await import('react-dom/client')
const { lastAssistantMessageIsCompleteWithToolCalls } = await import('ai')
const { useHelper } = await import('./chat.mjs')
const tools = [{ name: 'shell', description: 'Runs a command.', inputSchema: ${tool} }]
let sent = false
function Page() {
  const { messages, sendMessage, addToolOutput, status } = useHelper({
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
    onToolCall: ({ toolCall }) =>
      void addToolOutput({ tool: 'shell', toolCallId: toolCall.toolCallId, output: run(toolCall.input) }),
  })
  const last = messages.at(-1)?.parts.findLast(part => part.type === 'text')?.text
  if (last === ${JSON.stringify(answer)} && status === 'ready') {
    console.log(last)
    process.exit(0)
  }
  if (!sent) setTimeout(() => sendMessage({ text: 'Run a command.' }, { body: { tools } }))
  sent = true
  return null
}
createRoot(document.getElementById('root')).render(createElement(Page))
`,
  },
  sdk(
    'AI SDK openai()',
    ['ai@7.0.170', '@ai-sdk/openai@4.0.115', 'zod@4.6.7'],
    'Responses',
    url => `${shell}
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, stepCountIs, tool } from 'ai'
import { z } from 'zod'
const openai = createOpenAI({ baseURL: '${url}/v1', apiKey: 'any-text' })
const shell = tool({ description: 'Runs a command.', inputSchema: z.object({ command: z.string() }), execute: run })
const { text } = await generateText({ model: openai('helper'), prompt: 'Run a command.', tools: { shell }, stopWhen: stepCountIs(5) })
console.log(text)
`,
  ),
  sdk(
    '@openai/agents',
    ['@openai/agents@0.20.0', 'openai@7.55.0', 'zod@4.6.7'],
    'Responses',
    url => `${shell}
import { Agent, run as play, setDefaultOpenAIClient, setTracingDisabled, tool } from '@openai/agents'
import OpenAI from 'openai'
import { z } from 'zod'
setTracingDisabled(true)
setDefaultOpenAIClient(new OpenAI({ baseURL: '${url}/v1', apiKey: 'any-text' }))
const shell = tool({ name: 'shell', description: 'Runs a command.', parameters: z.object({ command: z.string() }), execute: run })
const { finalOutput } = await play(new Agent({ name: 'runner', model: 'helper', tools: [shell] }), 'Run a command.')
console.log(finalOutput)
`,
  ),
  sdk(
    'LangChain',
    ['@langchain/openai@1.6.0', '@langchain/core@latest', 'zod@4.6.7'],
    'Chat Completions',
    url => `${shell}
import { HumanMessage } from '@langchain/core/messages'
import { tool } from '@langchain/core/tools'
import { ChatOpenAI } from '@langchain/openai'
import { z } from 'zod'
const shell = tool(async input => run(input), { name: 'shell', description: 'Runs a command.', schema: z.object({ command: z.string() }) })
const model = new ChatOpenAI({ model: 'helper', apiKey: 'any-text', configuration: { baseURL: '${url}/v1' } }).bindTools([shell])
const messages = [new HumanMessage('Run a command.')]
for (let step = 0; step < 5; step += 1) {
  const answer = await model.invoke(messages)
  messages.push(answer)
  if (!answer.tool_calls?.length) break
  for (const call of answer.tool_calls) messages.push(await shell.invoke(call))
}
console.log(messages.at(-1).content)
`,
  ),
  sdk(
    '@anthropic-ai/sdk',
    ['@anthropic-ai/sdk@1.9.0'],
    'Messages',
    url => `${shell}
import Anthropic from '@anthropic-ai/sdk'
const client = new Anthropic({ baseURL: '${url}', apiKey: 'any-text' })
const tools = [{ name: 'shell', description: 'Runs a command.', input_schema: ${tool} }]
const messages = [{ role: 'user', content: 'Run a command.' }]
let answer
do {
  answer = await client.messages.create({ model: 'helper', max_tokens: 1000, messages, tools })
  messages.push({ role: 'assistant', content: answer.content })
  const results = answer.content.flatMap(block =>
    block.type === 'tool_use' ? [{ type: 'tool_result', tool_use_id: block.id, content: run(block.input) }] : [])
  messages.push({ role: 'user', content: results })
} while (answer.stop_reason === 'tool_use')
console.log(answer.content.at(-1).text)
`,
  ),
  sdk(
    '@google/genai',
    ['@google/genai@3.1.0'],
    'Gemini',
    url => `${shell}
import { GoogleGenAI } from '@google/genai'
const ai = new GoogleGenAI({ apiKey: 'any-text', httpOptions: { baseUrl: '${url}' } })
const tools = [{ functionDeclarations: [{ name: 'shell', description: 'Runs a command.', parametersJsonSchema: ${tool} }] }]
const chat = ai.chats.create({ model: 'helper', config: { tools } })
let answer = await chat.sendMessage({ message: 'Run a command.' })
while (answer.functionCalls?.length)
  answer = await chat.sendMessage({
    message: answer.functionCalls.map(({ id, name, args }) => ({ functionResponse: { id, name, response: { output: run(args) } } })),
  })
console.log(answer.text)
`,
  ),
]

/** Plays the task. Resolves with what the client printed if it shows the answer; rejects with why not. */
export async function play(client: Client, url: string): Promise<void> {
  const installed = install(client.packages, client.overrides)
  const home = mkdtempSync(join(tmpdir(), 'turnwire-client-'))
  try {
    const section = client.section === undefined ? undefined : sectionsOf().get(client.section)
    if (client.section !== undefined && !section)
      throw new Error(`connect.md has no section "${client.section}"`)
    // A program finds its packages beside it, a command in PATH.
    const folder = client.program ? installed : join(home, 'work')
    mkdirSync(folder, { recursive: true })
    if (section) writeFiles(section, home, folder, url)
    if (client.program) writeFileSync(join(folder, 'program.mjs'), client.program(url))
    const line = client.program ? 'node program.mjs' : (client.task?.line ?? commandOf(section!, url))
    const { code, output } = await bash(line, folder, home, join(installed, 'node_modules/.bin'))
    if (!(client.task?.answers ?? [answer]).every(each => output.includes(each)))
      throw new Error(`exit ${code}, no answer: ${output.trim().slice(-400).replace(/\s+/g, ' ')}`)
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

/** Ends a client that hangs. */
const longestMs = 600_000

export function bash(
  line: string,
  cwd: string,
  home: string,
  bin: string,
): Promise<{ code: number | null; output: string }> {
  const PATH = [bin, process.env['PATH']].join(delimiter)
  // Nothing of the user's own configuration or keys reaches the client.
  const env = { PATH, HOME: home, TMPDIR: tmpdir(), TERM: 'dumb', LANG: 'C.UTF-8', CI: '1' }
  const child = spawn('bash', ['-c', line], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  let output = ''
  const add = (chunk: Buffer): void => {
    output += chunk.toString()
  }
  child.stdout.on('data', add)
  child.stderr.on('data', add)
  // The whole group: some clients start servers of their own.
  const timer = setTimeout(() => process.kill(-(child.pid ?? 0), 'SIGKILL'), longestMs)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', code => {
      clearTimeout(timer)
      resolve({ code, output })
    })
  })
}
