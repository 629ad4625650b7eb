// The settings of a tool's definition, checked in spite of their types: JavaScript can pass anything.
import type { Tool } from '../../engine/ports/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import { type FlowLabels, labelProblem } from '../../language/flow.ts'
import { type ToolCaller, toolCallers, toolKinds } from '../../language/tools.ts'
import type { JsonObject } from '../../lib/json/index.ts'
import { quote } from '../../lib/text/index.ts'
import { nearest } from '../../lib/text/nearest.ts'
import { readRetries } from './retries.ts'
import type { ToolDefinition } from './tool.ts'

type ToolSettings = Omit<
  Tool,
  'name' | 'title' | 'description' | 'input' | 'output' | 'side' | 'run' | 'preview' | 'flow'
>

export function checkToolSettings(
  definition: Omit<ToolDefinition, 'run' | 'preview' | 'reconcile' | 'undo'>,
): ToolSettings {
  const { name, kind = 'other', readOnly = false, trust = 'ask', exposed = true } = definition
  const { idempotent = readOnly, destructive = !readOnly } = definition
  const { retries, backOff } = readRetries(definition.retries ?? 0, words => refuseTool(name, words))
  const { timeoutMs = 60_000, outputLimit = 64 * 1024 } = definition
  if (!toolKinds.includes(kind))
    refuseTool(name, `has the unknown kind ${quote(kind)}; known are: ${toolKinds.join(', ')}`)
  if (!['trusted', 'ask', 'deny'].includes(trust))
    refuseTool(name, `has the unknown trust ${quote(trust)}; it is "trusted", "ask" or "deny"`)
  const { interruptible } = definition
  const flags = { readOnly, idempotent, destructive, exposed }
  for (const [member, value] of Object.entries(
    interruptible === undefined ? flags : { ...flags, interruptible },
  ))
    if (typeof value !== 'boolean')
      refuseTool(name, `has "${member}" as ${quote(value)}; it is true or false`)
  if (readOnly && destructive) refuseTool(name, 'cannot be both readOnly and destructive; drop one')
  checkNumber(name, 'timeoutMs', timeoutMs, 1, 2 ** 31 - 1)
  checkNumber(name, 'outputLimit', outputLimit, 256, 2 ** 31 - 1)
  checkNumber(name, 'retries', retries, 0, 100)
  if (retries > 0 && !readOnly && !idempotent)
    refuseTool(
      name,
      'has "retries", but is neither readOnly nor idempotent: a second run could do its work twice. ' +
        'Declare idempotent: true if it honours context.idempotencyKey, or drop retries',
    )
  const settings = {
    kind,
    readOnly,
    idempotent,
    destructive,
    exposed,
    trust,
    timeoutMs,
    retries,
    outputLimit,
  }
  return {
    ...settings,
    ...(backOff && { backOff }),
    ...(interruptible !== undefined && { interruptible }),
    ...(definition.callers && { callers: checkCallers(name, definition.callers) }),
  }
}

/** The labels of the definition go before those of the schema. A tool that is said to destroy does so for flow control too. */
export function readLabels(
  { name, flow, destructive }: Pick<ToolDefinition, 'name' | 'flow' | 'destructive'>,
  inSchema: JsonObject | undefined,
): FlowLabels | undefined {
  for (const labels of [flow, inSchema]) {
    const problem = labels === undefined ? undefined : labelProblem(labels)
    if (problem !== undefined) refuseTool(name, problem)
  }
  if (flow === undefined && inSchema === undefined && destructive !== true) return undefined
  // They were checked above.
  const read = { ...(inSchema as FlowLabels | undefined), ...flow }
  const args = { ...(inSchema?.['args'] as FlowLabels['args']), ...flow?.args }
  if (Object.keys(args).length > 0) read.args = Object.freeze(args)
  if (destructive === true && read.destroys === undefined) read.destroys = true
  return Object.freeze(read)
}

function checkCallers(name: string, callers: readonly ToolCaller[]): readonly ToolCaller[] {
  if (!Array.isArray(callers) || callers.length === 0 || callers.some(each => !toolCallers.includes(each)))
    refuseTool(name, `has "callers" as ${quote(callers)}; it is a list of: ${toolCallers.join(', ')}`)
  return Object.freeze([...callers])
}

function checkNumber(name: string, member: string, value: number, least: number, most: number): void {
  if (!Number.isSafeInteger(value) || value < least || value > most)
    refuseTool(name, `has "${member}" as ${quote(value)}; it is a whole number from ${least} to ${most}`)
}

/** What other libraries call it. */
const otherNames: Readonly<Record<string, string>> = {
  ...{ parameters: 'input', inputSchema: 'input', schema: 'input', outputSchema: 'output' },
  ...{ execute: 'run', handler: 'run', func: 'run', needsApproval: 'trust' },
}

/** A member that is not known would change nothing. */
export function checkMemberNames(definition: { name: string }, known: ReadonlySet<string>): void {
  for (const member of Object.keys(definition)) {
    if (known.has(member)) continue
    const meant = Object.hasOwn(otherNames, member) ? otherNames[member] : nearest(member, [...known])
    const advice = meant === undefined ? `Known are: ${[...known].join(', ')}` : `Did you mean "${meant}"?`
    refuseTool(definition.name, `has no member ${quote(member)}. ${advice}`)
  }
}

export function refuseTool(name: string, problem: string, cause?: unknown): never {
  throw new TurnwireError(
    'invalid_tool',
    `The tool "${name}" ${problem}${problem.endsWith('?') ? '' : '.'}`,
    cause === undefined ? {} : { cause },
  )
}
