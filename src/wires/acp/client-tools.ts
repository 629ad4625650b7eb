// The client's files and terminals as tools of the session, if the client offers them. They pass the same gate as all
// tools, so their inputs fit their schemas, and they stay within the folders of the session.
import { isAbsolute, relative, resolve } from 'node:path'
import type { AgentContext, TerminalHandle } from '@agentclientprotocol/sdk'
import { InvalidInput, type Tool, type ToolContext, type ToolOutput } from '../../engine/index.ts'
import type { Report } from '../../language/report.ts'
import { deadline, untilAborted } from '../../lib/async/abort.ts'
import type { JsonObject } from '../../lib/json/index.ts'
import { Unanswered } from '../../lib/net/unanswered.ts'
import { type Abilities, withdrawnBy } from './peer.ts'

export type ClientToolsOptions = {
  context: AgentContext
  abilities: Abilities
  sessionId: string
  /** The working folder first, then the others. */
  roots: readonly [string, ...string[]]
  onTerminal: (callId: string, terminalId: string) => void
}

export function clientTools(options: ClientToolsOptions): Tool[] {
  const { readFiles, writeFiles, terminals } = options.abilities
  const tools: Tool[] = []
  if (readFiles) tools.push(readTool(options))
  if (writeFiles) tools.push(writeTool(options))
  if (terminals) tools.push(commandTool(options))
  return tools
}

const base = { side: 'server', exposed: false, retries: 0, outputLimit: 64 * 1024 } as const
const asksFirst = { readOnly: false, idempotent: false, destructive: true, trust: 'ask' } as const

// ---- files ---------------------------------------------------------------------------------------------------

type EditorReadInput = { path: string; line?: number; limit?: number }

function readTool(options: ClientToolsOptions): Tool {
  return {
    ...base,
    name: 'read_text_file',
    title: 'Read',
    description:
      'Reads a text file as the editor has it, unsaved changes included. `line` is the first line to read, from 1; `limit` is how many.',
    input: jsonInput(
      {
        path: { type: 'string', minLength: 1 },
        line: { type: 'integer', minimum: 1 },
        limit: { type: 'integer', minimum: 1 },
      },
      ['path'],
    ),
    kind: 'read',
    readOnly: true,
    idempotent: true,
    destructive: false,
    // Only files in the session's folders can be read.
    trust: 'trusted',
    timeoutMs: 30_000,
    async run(input, { signal, trace }) {
      const { path, ...lines } = input as EditorReadInput // It passed the gate.
      const file = { path: within(options, path), ...lines, ...meta(trace) }
      const content = await readFile(options, file, signal)
      return textOutput(content === '' ? '(The file is empty.)' : content)
    },
  }
}

async function readFile(
  { context, sessionId }: ClientToolsOptions,
  file: EditorReadInput & { _meta?: Record<string, unknown> },
  signal: AbortSignal,
): Promise<string> {
  const { content } = await context.request('fs/read_text_file', { sessionId, ...file }, withdrawnBy(signal))
  return content
}

type WriteInput = { path: string; content: string }

function writeTool(options: ClientToolsOptions): Tool {
  const { context, sessionId } = options
  return {
    ...base,
    ...asksFirst,
    name: 'write_text_file',
    title: 'Write',
    description: 'Writes a whole text file through the editor. A file that does not exist is made.',
    input: jsonInput({ path: { type: 'string', minLength: 1 }, content: { type: 'string' } }, [
      'path',
      'content',
    ]),
    kind: 'edit',
    timeoutMs: 30_000,
    preview: (input, { signal }) => {
      const { path, content } = input as WriteInput // It passed the gate.
      return fileDiff(options, within(options, path), content, signal)
    },
    async run(input, { signal, trace }) {
      const { path: given, content } = input as WriteInput // It passed the gate.
      const path = within(options, given)
      const changes = await fileDiff(options, path, content, signal)
      // A write cannot be withdrawn, so its outcome is awaited even after a cancellation.
      await answered(context.request('fs/write_text_file', { sessionId, path, content, ...meta(trace) }))
      return { ...textOutput(`Wrote ${path}.`), report: changes }
    },
  }
}

/** A file that cannot be read counts as new. */
async function fileDiff(
  options: ClientToolsOptions,
  path: string,
  newText: string,
  signal: AbortSignal,
): Promise<Report> {
  const patience = AbortSignal.any([signal, AbortSignal.timeout(5000)])
  const oldText = options.abilities.readFiles
    ? await readFile(options, { path }, patience).catch(() => null)
    : null
  return { locations: [{ path }], diffs: [{ path, oldText, newText }] }
}

// ---- terminals -----------------------------------------------------------------------------------------------

const outputBytes = 256 * 1024
const maxSeconds = 30 * 60
type CommandInput = { command: string; args?: string[]; cwd?: string; timeoutSeconds?: number }

function commandTool(options: ClientToolsOptions): Tool {
  return {
    ...base,
    ...asksFirst,
    name: 'run_command',
    title: 'Run',
    description:
      "Runs a program in a terminal of the editor and waits for it. `command` is the program alone, `args` its arguments: there is no shell, so for pipes and the like run `sh` with `-c`. `cwd` must be one of the session's folders or inside one.",
    input: jsonInput(
      {
        command: { type: 'string', minLength: 1 },
        args: { type: 'array', items: { type: 'string' }, maxItems: 1000 },
        cwd: { type: 'string', minLength: 1 },
        timeoutSeconds: { type: 'integer', minimum: 1, maximum: maxSeconds },
      },
      ['command'],
    ),
    kind: 'execute',
    // Its own clock ends it first, and gives the model the output so far.
    timeoutMs: (maxSeconds + 60) * 1000,
    run: (input, context) => runInTerminal(options, input as CommandInput, context), // It passed the gate.
  }
}

async function runInTerminal(
  options: ClientToolsOptions,
  { command, args = [], cwd = '.', timeoutSeconds: seconds = 120 }: CommandInput,
  { callId, signal, trace }: ToolContext,
): Promise<ToolOutput> {
  const { sessionId } = options
  const where = { sessionId, cwd: within(options, cwd), outputByteLimit: outputBytes, ...meta(trace) }
  const terminal = await answered(options.context.createTerminal({ ...where, command, args }))
  try {
    options.onTerminal(callId, terminal.id)
    const stopped = await untilOver(terminal, signal, seconds)
    if (stopped !== undefined) await terminal.kill()
    const { output, truncated, exitStatus } = await terminal.currentOutput()
    const { exitCode, signal: killedBy } = exitStatus ?? {}
    const end =
      stopped ?? (exitCode != null ? `Exit code ${exitCode}.` : `It was ended by ${killedBy ?? 'a signal'}.`)
    const cut = truncated ? '(The beginning of the output was dropped.)\n' : ''
    const text = textOutput(`${cut}${output}\n${end}`.trimStart())
    return stopped === undefined && exitCode === 0 ? text : { ...text, failed: true }
  } finally {
    // Releasing a terminal also kills a program that still runs.
    await terminal.release().catch(() => {})
  }
}

/** Undefined: the program has exited. Otherwise why it must be killed. */
async function untilOver(
  terminal: TerminalHandle,
  cancelled: AbortSignal,
  seconds: number,
): Promise<string | undefined> {
  const limit = deadline(seconds * 1000, cancelled)
  try {
    await untilAborted(answered(terminal.waitForExit()), limit.signal)
    return undefined
  } catch (error) {
    if (!limit.signal.aborted) throw error
    return limit.timedOut() ? `It did not end within ${seconds} s and was stopped.` : 'It was stopped.'
  } finally {
    limit.clear()
  }
}

// ---- shared --------------------------------------------------------------------------------------------------

/** The trace of the call, where the protocol has a place for it. */
function meta(trace: ToolContext['trace']): { _meta?: Record<string, unknown> } {
  return trace ? { _meta: { ...trace } } : {}
}

function within({ roots }: ClientToolsOptions, path: string): string {
  if (path.includes('\0')) throw new InvalidInput('A path holds no zero character.')
  const whole = resolve(roots[0], path)
  if (roots.some(root => isInside(root, whole))) return whole
  throw new InvalidInput(`${whole} lies outside of the session's folders: ${roots.join(', ')}.`)
}

function isInside(root: string, path: string): boolean {
  const way = relative(root, path)
  return way === '' || (!isAbsolute(way) && way !== '..' && !/^\.\.[/\\]/.test(way))
}

/** Without an answer of the client, the request may have taken effect. */
async function answered<T>(request: Promise<T>): Promise<T> {
  try {
    return await request
  } catch (cause) {
    // An error with a code is an answer.
    if (cause instanceof Error && 'code' in cause) throw cause
    throw new Unanswered('The editor went away during the call.', { cause })
  }
}

function jsonInput(properties: JsonObject, required: string[]): Tool['input'] {
  return { form: 'json', schema: { type: 'object', properties, required, additionalProperties: false } }
}

function textOutput(text: string): ToolOutput {
  return { parts: [{ type: 'text', text }] }
}
