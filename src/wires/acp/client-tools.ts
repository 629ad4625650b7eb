// The client's files and terminals as tools of the session, if the client offers them. They pass the same gate as all
// tools and stay within the folders of the session.
import { isAbsolute, relative, resolve } from 'node:path'
import type { AgentContext, TerminalHandle, ToolCallContent } from '@agentclientprotocol/sdk'
import { InvalidInput, type Tool, type ToolContext, type ToolOutput } from '../../engine/index.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'
import type { Abilities } from './peer.ts'

export type ClientToolsOptions = {
  context: AgentContext
  abilities: Abilities
  sessionId: string
  /** The working folder first, then the others. */
  roots: readonly [string, ...string[]]
  onTerminal(callId: string, terminalId: string): void
}

/** Shows the approver what a call would change. */
export type Preview = (input: Json) => Promise<ToolCallContent[]>

export type ClientTools = { tools: Tool[]; previews: ReadonlyMap<string, Preview> }

/** Larger files are not shown as a diff, so that the log does not hold them twice. */
const maxDiff = 256 * 1024

export function clientTools(options: ClientToolsOptions): ClientTools {
  const { abilities } = options
  const tools: Tool[] = []
  const previews = new Map<string, Preview>()
  if (abilities.readFiles) tools.push(readTool(options))
  if (abilities.writeFiles) {
    tools.push(writeTool(options))
    previews.set(writeName, async input => {
      const { path, content } = writeInput(options, input)
      const diff = fileDiff(path, await oldText(options, path), content)
      return diff ? [{ type: 'diff', ...diff }] : []
    })
  }
  if (abilities.terminals) tools.push(commandTool(options))
  return { tools, previews }
}

const base = {
  side: 'server',
  exposed: false,
  retries: 0,
  outputLimit: 64 * 1024,
} as const

// ---- reading -------------------------------------------------------------------------------------------------

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
    async run(input, { signal }) {
      const fields = fieldsOf(input)
      const { line, limit } = fields
      const { content } = await options.context.request(
        'fs/read_text_file',
        {
          sessionId: options.sessionId,
          path: within(options, fields['path']),
          ...(typeof line === 'number' && { line }),
          ...(typeof limit === 'number' && { limit }),
        },
        { cancellationSignal: signal, stopWaitingOnCancel: true },
      )
      return textOutput(content === '' ? '(The file is empty.)' : content)
    },
  }
}

// ---- writing -------------------------------------------------------------------------------------------------

const writeName = 'write_text_file'

function writeTool(options: ClientToolsOptions): Tool {
  return {
    ...base,
    name: writeName,
    title: 'Write',
    description: 'Writes a whole text file through the editor. A file that does not exist is made.',
    input: jsonInput({ path: { type: 'string', minLength: 1 }, content: { type: 'string' } }, [
      'path',
      'content',
    ]),
    kind: 'edit',
    readOnly: false,
    idempotent: false,
    destructive: true,
    trust: 'ask',
    timeoutMs: 30_000,
    async run(input) {
      const { path, content } = writeInput(options, input)
      const before = await oldText(options, path)
      // A write cannot be withdrawn, so its outcome is awaited even after a cancellation.
      await mayHaveHappened(
        options.context.request('fs/write_text_file', { sessionId: options.sessionId, path, content }),
      )
      const diff = fileDiff(path, before, content)
      return { ...textOutput(`Wrote ${path}.`), ...(diff && { structured: diff }) }
    },
  }
}

function writeInput(options: ClientToolsOptions, input: Json): { path: string; content: string } {
  const { path, content } = fieldsOf(input)
  return { path: within(options, path), content: typeof content === 'string' ? content : '' }
}

/** Undefined: not known. Null: there is no such file. */
async function oldText(options: ClientToolsOptions, path: string): Promise<string | null | undefined> {
  if (!options.abilities.readFiles) return undefined
  try {
    const { content } = await options.context.request(
      'fs/read_text_file',
      { sessionId: options.sessionId, path },
      { cancellationSignal: AbortSignal.timeout(10_000), stopWaitingOnCancel: true },
    )
    return content
  } catch {
    return null
  }
}

function fileDiff(
  path: string,
  before: string | null | undefined,
  newText: string,
): { path: string; oldText: string | null; newText: string } | undefined {
  if (newText.length + (before?.length ?? 0) > maxDiff) return undefined
  return { path, oldText: before ?? null, newText }
}

// ---- running -------------------------------------------------------------------------------------------------

const outputBytes = 256 * 1024
const maxSeconds = 30 * 60

function commandTool(options: ClientToolsOptions): Tool {
  return {
    ...base,
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
    readOnly: false,
    idempotent: false,
    destructive: true,
    trust: 'ask',
    // Its own clock ends it first, and gives the model the output so far.
    timeoutMs: (maxSeconds + 60) * 1000,
    run: (input, context) => runInTerminal(options, fieldsOf(input), context),
  }
}

async function runInTerminal(
  options: ClientToolsOptions,
  fields: JsonObject,
  context: ToolContext,
): Promise<ToolOutput> {
  const { command, args, cwd, timeoutSeconds } = fields
  const seconds = typeof timeoutSeconds === 'number' ? timeoutSeconds : 120
  const terminal = await mayHaveHappened(
    options.context.createTerminal({
      sessionId: options.sessionId,
      command: typeof command === 'string' ? command : '',
      args: Array.isArray(args) ? args.filter(arg => typeof arg === 'string') : [],
      cwd: cwd === undefined ? options.roots[0] : within(options, cwd),
      outputByteLimit: outputBytes,
    }),
  )
  try {
    options.onTerminal(context.callId, terminal.id)
    const how = await untilOver(terminal, context.signal, seconds)
    if (how !== 'exited') await terminal.kill()
    return terminalOutput(await terminal.currentOutput(), how, seconds)
  } finally {
    // Releasing a terminal also kills a program that still runs.
    await terminal.release().catch(() => {})
  }
}

async function untilOver(
  terminal: TerminalHandle,
  signal: AbortSignal,
  seconds: number,
): Promise<'exited' | 'aborted' | 'out of time'> {
  const ended = new AbortController()
  try {
    return await Promise.race([
      mayHaveHappened(terminal.waitForExit()).then(() => 'exited' as const),
      aborted(signal, ended.signal).then(() => 'aborted' as const),
      aborted(AbortSignal.timeout(seconds * 1000), ended.signal).then(() => 'out of time' as const),
    ])
  } finally {
    ended.abort()
  }
}

function aborted(signal: AbortSignal, forget: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise(resolve => {
    signal.addEventListener('abort', () => resolve(), { once: true, signal: forget })
  })
}

type TerminalState = {
  output: string
  truncated: boolean
  exitStatus?: { exitCode?: number | null; signal?: string | null } | null
}

function terminalOutput(
  { output, truncated, exitStatus }: TerminalState,
  how: string,
  seconds: number,
): ToolOutput {
  const code = exitStatus?.exitCode ?? undefined
  const end =
    how === 'out of time'
      ? `It did not end within ${seconds} s and was stopped.`
      : how === 'aborted'
        ? 'It was stopped.'
        : code !== undefined
          ? `Exit code ${code}.`
          : `It was ended by ${exitStatus?.signal ?? 'a signal'}.`
  const cut = truncated ? '(The beginning of the output was dropped.)\n' : ''
  return {
    ...textOutput(`${cut}${output}\n${end}`.trimStart()),
    ...(!(how === 'exited' && code === 0) && { failed: true }),
  }
}

// ---- in common -----------------------------------------------------------------------------------------------

function within({ roots }: ClientToolsOptions, path: Json | undefined): string {
  const given = typeof path === 'string' ? path : ''
  if (given.includes('\0')) throw new InvalidInput('A path holds no zero character.')
  const whole = isAbsolute(given) ? resolve(given) : resolve(roots[0], given)
  if (roots.some(root => isInside(root, whole))) return whole
  throw new InvalidInput(`${whole} lies outside of the session's folders: ${roots.join(', ')}.`)
}

function isInside(root: string, path: string): boolean {
  const way = relative(root, path)
  return way === '' || (!isAbsolute(way) && way !== '..' && !/^\.\.[/\\]/.test(way))
}

async function mayHaveHappened<T>(request: Promise<T>): Promise<T> {
  try {
    return await request
  } catch (cause) {
    // With an error code the client has answered that it failed. Without one there was no answer.
    if (cause instanceof Error && 'code' in cause) throw cause
    throw new Error('The editor went away during the call, so it may have taken effect.', { cause })
  }
}

function jsonInput(properties: JsonObject, required: string[]): Tool['input'] {
  return { form: 'json', schema: { type: 'object', properties, required, additionalProperties: false } }
}

function fieldsOf(input: Json): JsonObject {
  return isJsonObject(input) ? input : {}
}

function textOutput(text: string): ToolOutput {
  return { parts: [{ type: 'text', text }] }
}
