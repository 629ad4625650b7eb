// `codeTool()`: the model writes a JavaScript program that calls the other tools as async functions, and gets what it
// returns. The program itself can do nothing but compute; each of its calls passes the gate like any other.
import type { Tool, ToolContext } from '../../engine/ports/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import type { NamedTool } from '../functions/tool.ts'
import type { CodeLimits } from './messages.ts'
import { moduleName, writeSignature } from './signatures.ts'

export type CodeOptions = {
  /** Default `run_code`. */
  name?: string
  /** Names of the tools that programs may call. Default: every tool of the session but those that are for the model only. */
  tools?: readonly string[]
  limits?: Partial<CodeLimits>
  /** Default `trusted`: a program has no effect but its calls, and they are judged one by one. */
  trust?: Tool['trust']
  /** Whether clients see it in the list of tools that they may switch on and off. Default false. */
  exposed?: boolean
}

const defaultCodeLimits: CodeLimits = { memoryMiB: 64, timeMs: 5_000, outputChars: 65_536, calls: 100 }
export const defaultCodeName = 'run_code'

const longestCode = 64 * 1024
/** A larger catalogue is not shown in the description; programs read it. */
const mostShown = 40
const longestShown = 12_000
/** Calls may take long, and a suspended program takes no time at all. The limits of the turn come first. */
const timeoutMs = 60 * 60 * 1000

export function codeTool<Name extends string = typeof defaultCodeName>(
  options: CodeOptions & { name?: Name } = {},
): NamedTool<NoInfer<Name>> {
  const { tools, trust = 'trusted', exposed = false } = options
  const name = options.name ?? (defaultCodeName as Name) // The default of the type is this name.
  const limits = checkCodeLimits(options.limits)
  const allowed = tools && new Set(tools)
  const callable = (others: readonly ToolDeclaration[]): ToolDeclaration[] =>
    others.filter(other => (allowed ? allowed.has(other.name) : true))
  const base: NamedTool<Name> = {
    name,
    title: 'Run a program',
    description: describe([], limits),
    input: {
      form: 'json',
      schema: {
        type: 'object',
        properties: {
          code: { type: 'string', maxLength: longestCode, description: 'The body of an async function.' },
        },
        required: ['code'],
        additionalProperties: false,
      },
    },
    kind: 'execute',
    readOnly: false,
    idempotent: false,
    destructive: false,
    side: 'server',
    callers: ['model'],
    exposed,
    trust,
    timeoutMs,
    retries: 0,
    outputLimit: limits.outputChars * 2,
    resumable: true,
    // It has no effect but that of its calls, which pass the gate. What it returns may come from any of them.
    flow: { effect: 'none', output: 'untrusted', args: { code: 'text' } },
    async run(input, context: ToolContext) {
      const { code } = input as { code: string } // It passed the gate.
      // Loaded with the first program: most servers never run one.
      const { runProgram } = await import('./program.ts')
      return runProgram({ code, tools: callable(context.nested?.tools ?? []), limits }, context)
    },
  }
  return { ...base, offeredBeside: others => ({ description: describe(callable(others), limits) }) }
}

/** Throws with the key and what to do. */
export function checkCodeLimits(given: Partial<CodeLimits> = {}): CodeLimits {
  const limits = { ...defaultCodeLimits }
  for (const [key, value] of Object.entries(given)) {
    if (!Object.hasOwn(limits, key))
      throw new TurnwireError(
        'config_invalid',
        `A program has no limit named ${JSON.stringify(key)}. The limits are: ${Object.keys(limits).join(', ')}.`,
      )
    if (!Number.isSafeInteger(value) || value < 1)
      throw new TurnwireError(
        'config_invalid',
        `The limit "${key}" of programs must be a whole number from 1 up.`,
      )
    limits[key as keyof CodeLimits] = value // It is one of the keys.
  }
  if (limits.memoryMiB < 24 || limits.memoryMiB > 2048)
    throw new TurnwireError('config_invalid', 'The limit "memoryMiB" of programs must be from 24 to 2048.')
  return limits
}

function describe(tools: readonly ToolDeclaration[], { timeMs, calls }: CodeLimits): string {
  return [
    'Runs a JavaScript program and gives what it returns. `code` is the body of an async function: use `await` and `return`.',
    'Each tool below is an async function of `tools`. Use loops, filters and `Promise.all` to make many calls, and return only what is needed to go on. A call that fails throws an Error with its reason; its `outcome` is error, invalid, denied, timeout, cancelled or unknown.',
    `There is no network, no file system, no timer and no module. The clock stands still. A program computes for up to ${timeMs} ms and makes up to ${calls} calls. \`console.log\` is shown with the result.`,
    signatures(tools),
  ].join('\n')
}

function signatures(tools: readonly ToolDeclaration[]): string {
  if (tools.length === 0) return 'No tools can be called from a program now.'
  const all = tools.length > mostShown ? undefined : tools.map(signature).join('\n')
  if (all !== undefined && all.length <= longestShown) return `declare const tools: {\n${all}\n}`
  const modules = new Map<string, number>()
  for (const { name } of tools) modules.set(moduleName(name), (modules.get(moduleName(name)) ?? 0) + 1)
  const listed = [...modules].slice(0, 50).map(([module, count]) => `${module} (${count})`)
  const more = modules.size > listed.length ? `, and ${modules.size - listed.length} more` : ''
  return [
    `There are ${tools.length} tools, in these modules: ${listed.join(', ')}${more}. Find them in the program first:`,
    'declare const catalogue: {',
    '/** Without a module: all modules. With one: its tools. */',
    'list(module?: string): unknown[]',
    'search(query: string, limit?: number): { name: string; description: string }[]',
    '/** The signature of one tool, as TypeScript. Read it before you call the tool. */',
    'read(name: string): string',
    '}',
    'declare const tools: Record<string, (input?: object | string) => Promise<unknown>>',
  ].join('\n')
}

function signature({ name, description, input, output }: ToolDeclaration): string {
  const schemas = { ...(input.form === 'json' && { input: input.schema }), ...(output && { output }) }
  return writeSignature(name, description, input.form, schemas)
}
