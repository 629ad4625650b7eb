// `shell()` makes a tool that runs command lines in a sandbox (sandbox.ts). Each is shown as a terminal with live output. The
// working folder and exported variables stay from command to command of a session, as in one shell.
import { statSync } from 'node:fs'
import { InvalidInput, type Tool, type ToolContext, type ToolOutput } from '../../engine/ports/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { TerminalReport } from '../../language/report.ts'
import type { Json, JsonObject } from '../../lib/json/index.ts'
import { quote } from '../../lib/text/index.ts'
import { type NamedTool, tool } from '../functions/tool.ts'
import { type CommandEnd, type CommandLimits, runCommand } from './run-command.ts'
import {
  exposedFolder,
  findBubblewrap,
  missingBubblewrap,
  type Sandbox,
  SandboxFailed,
  workspaceFolder,
} from './sandbox.ts'

export type ShellOptions = {
  /** The folder that commands see as `/workspace`, and the only one that they can change. */
  root: string
  /** Default `shell`. */
  name?: string
  /** Default `ask`. */
  trust?: Tool['trust']
  /** Variables that commands have. Nothing of the host's environment reaches them. */
  env?: Readonly<Record<string, string>>
  /** Further folders and files of the host that commands may read. */
  readable?: readonly string[]
  limits?: Partial<ShellLimits>
  /** The vendors' own forms: `bash_20250124`, and `shell` or `local_shell`. Other vendors see a function. */
  vendorTyped?: readonly string[]
  /** The path of bubblewrap. Default: the first `bwrap` in PATH. */
  bubblewrap?: string
}

export type ShellLimits = {
  /** For one call, unless it asks for less. Default 120,000. */
  timeoutMs: number
  /** The most that a call may ask for. Default 600,000. */
  maxTimeoutMs: number
  /** Of all processes of a command. Default 2 GiB. */
  memoryBytes: number
  /** Default 256. */
  processes: number
  /** Of each stream of a command, as the model reads it. Default 24,000. */
  outputBytes: number
  /** The largest file that a command may write. Default 1 GiB. */
  fileBytes: number
  /** A command is stopped when the disk of `root` has less than this left. Default 256 MiB. */
  freeBytes: number
  /** Of `/tmp`, which is in memory. Default 256 MiB. */
  temporaryBytes: number
}

const defaults: ShellLimits = {
  timeoutMs: 120_000,
  maxTimeoutMs: 600_000,
  memoryBytes: 2 * 1024 ** 3,
  processes: 256,
  outputBytes: 24_000,
  fileBytes: 1024 ** 3,
  freeBytes: 256 * 1024 ** 2,
  temporaryBytes: 256 * 1024 ** 2,
}

type ShellInput = { commands?: string[]; timeout_ms?: number; max_output_length?: number; restart?: boolean }

const schema: JsonObject = {
  type: 'object',
  properties: {
    commands: {
      type: 'array',
      items: { type: 'string', minLength: 1 },
      minItems: 1,
      maxItems: 50,
      description: 'Command lines for bash, run one after the other. Each has its own result.',
    },
    timeout_ms: { type: 'integer', minimum: 1, description: 'For all commands together.' },
    max_output_length: { type: 'integer', minimum: 1, description: 'Characters of each output to return.' },
    restart: { type: 'boolean', description: 'Forget the working folder and the variables.' },
  },
  additionalProperties: false,
}

const description = `Runs command lines with bash in a sandbox. The working folder is ${workspaceFolder}, the only place that can be changed besides /tmp. There is no network. The working folder and exported variables stay for later commands; processes in the background do not.`

export function shell<Name extends string = 'shell'>(
  options: ShellOptions & { name?: Name },
): NamedTool<NoInfer<Name>> {
  const limits = { ...defaults, ...options.limits }
  const { root, trust = 'ask', vendorTyped = [], env = {}, readable = [] } = options
  const name = options.name ?? ('shell' as Name) // The default of the type is this name.
  if (typeof root !== 'string' || !isFolder(root))
    throw invalidCommand(`needs "root", a folder that exists, not ${quote(root, 200)}`)
  // Options of bubblewrap end with a zero character, and a name ends with "=".
  for (const [variable, value] of Object.entries(env))
    if (!/^[^=\0]+$/.test(variable) || typeof value !== 'string' || value.includes('\0'))
      throw invalidCommand(
        `cannot set the variable ${quote(variable)}: names and values are texts without zero characters`,
      )
  const forms = vendorForms(vendorTyped)
  const states = new States()
  const program = (): string | undefined => findBubblewrap(options.bubblewrap)
  const made = tool({
    name,
    title: 'Shell',
    description,
    input: schema,
    kind: 'execute',
    trust,
    flow: {
      output: 'untrusted',
      private: true,
      args: { commands: 'target', timeout_ms: 'detail', max_output_length: 'detail', restart: 'flag' },
    },
    timeoutMs: limits.maxTimeoutMs + 30_000,
    outputLimit: 256 * 1024,
    ...(Object.keys(forms).length > 0 && { vendorTyped: forms }),
    preview: input => ({ terminals: makeTerminals((input as ShellInput).commands ?? []) }), // The gate has checked it.
    run: (input, context) => {
      const found = program()
      if (found === undefined) throw new Error(`Nothing was run: ${missingBubblewrap}`)
      const { temporaryBytes } = limits
      const sandbox: Sandbox = { program: found, root, readable, env, temporaryBytes }
      return runAll({ sandbox, limits, states }, input as ShellInput, context)
    },
  })
  return Object.freeze<NamedTool<Name>>({
    ...made,
    get unavailable() {
      return program() === undefined ? missingBubblewrap : undefined
    },
    get unsafe() {
      return exposedFolder({ root, readable })
    },
  })
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

function invalidCommand(problem: string): TurnwireError {
  return new TurnwireError('invalid_tool', `shell() ${problem}.`)
}

function vendorForms(types: readonly string[]): Record<string, JsonObject> {
  const forms: Record<string, JsonObject> = {}
  for (const type of types) {
    if (/^bash_\d+$/.test(type)) forms['anthropic'] = { type }
    else if (type === 'shell' || type === 'local_shell') forms['openai-responses'] = { type }
    else
      throw invalidCommand(
        `knows no vendor's tool ${quote(type)}; known are: bash_20250124, shell, local_shell`,
      )
  }
  return forms
}

// ---- running -------------------------------------------------------------------------------------------------

/** By session: the shell state that its last command left. In memory only. */
class States {
  readonly #states = new Map<string, string>()

  get(session: string): string {
    return this.#states.get(session) ?? ''
  }

  set(session: string, state: string): void {
    this.#states.delete(session)
    this.#states.set(session, state)
    for (const oldest of this.#states.keys()) {
      if (this.#states.size <= 1000) return
      this.#states.delete(oldest)
    }
  }
}

type Shell = { sandbox: Sandbox; limits: ShellLimits; states: States }

const makeTerminals = (commands: readonly string[]): TerminalReport[] =>
  commands.map((command, at) => ({ id: String(at + 1), command, cwd: workspaceFolder }))

async function runAll(
  { sandbox, limits, states }: Shell,
  { commands = [], timeout_ms: wanted, max_output_length: length, restart }: ShellInput,
  context: ToolContext,
): Promise<ToolOutput> {
  const { session, signal } = context
  if (commands.some(command => command.includes('\0')))
    throw new InvalidInput('A command line cannot hold a zero character.')
  if (restart) states.set(session, '')
  if (commands.length === 0) return { parts: [{ type: 'text', text: 'The shell starts anew.' }] }
  const until = performance.now() + Math.min(wanted ?? limits.timeoutMs, limits.maxTimeoutMs)
  const terminals: TerminalReport[] = []
  const ends: CommandEnd[] = []
  for (const terminal of makeTerminals(commands)) {
    context.report({ terminals: [...terminals, terminal] })
    const end = await runOne(
      {
        sandbox,
        limits: commandLimits(limits, until, length),
        command: terminal.command ?? '',
        state: states.get(session),
        signal,
        show: output => context.progress({ output, terminal: terminal.id }),
      },
      ends.at(-1),
    )
    if (end.state !== undefined) states.set(session, end.state)
    ends.push(end)
    terminals.push({ ...terminal, output: `${end.stdout}${end.stderr}`, exit: toExit(end) })
    context.report({ terminals: [...terminals] })
  }
  signal.throwIfAborted()
  return { parts: [{ type: 'text', text: told(ends) }], structured: { results: ends.map(toShellResult) } }
}

/** After one that ran out of time, or was stopped, no other is run. */
async function runOne(
  run: Parameters<typeof runCommand>[0],
  before: CommandEnd | undefined,
): Promise<CommandEnd> {
  if (before?.timedOut || before?.stopped !== undefined)
    return { stdout: '', stderr: 'Not run: the command before it did not finish.', exitCode: 125 }
  try {
    return await runCommand(run)
  } catch (error) {
    if (!(error instanceof SandboxFailed)) throw error
    throw new Error(`Nothing was run: the sandbox could not be made. ${error.message}`)
  }
}

function commandLimits(limits: ShellLimits, until: number, length = limits.outputBytes): CommandLimits {
  const timeoutMs = Math.max(1, until - performance.now())
  return { ...limits, timeoutMs, outputBytes: Math.min(length, limits.outputBytes) }
}

function toExit({ exitCode, timedOut }: CommandEnd): NonNullable<TerminalReport['exit']> {
  return exitCode === undefined ? { signal: timedOut ? 'SIGKILL (time)' : 'SIGKILL' } : { code: exitCode }
}

function toShellResult({ stdout, stderr, exitCode, timedOut, stopped }: CommandEnd): Json {
  return {
    stdout,
    stderr: stopped === undefined ? stderr : `${stderr}\n${stopped}`.trimStart(),
    exit_code: exitCode ?? (timedOut ? 124 : 137),
    ...(timedOut && { timed_out: true }),
  }
}

/** One text for models that have no form of their own for it. */
function told(ends: readonly CommandEnd[]): string {
  return ends
    .map(end => {
      const { stdout, stderr, exitCode, timedOut, stopped } = end
      const how = timedOut
        ? 'It did not end in time and was stopped.'
        : (stopped ?? (exitCode === 0 ? '' : `Exit code ${exitCode}.`))
      const text = [stdout.trimEnd(), stderr.trimEnd(), how].filter(part => part !== '').join('\n')
      return text === '' ? '(no output)' : text
    })
    .join('\n---\n')
}
