// The rules of a policy: their members, the check of each, and what is made of them once. How they decide is in authorise.ts.
import type { Question } from '../engine/ports/index.ts'
import type { Approvers } from '../language/approvers.ts'
import { operatorTrust } from '../language/calls.ts'
import { type VerdictWord, verdictWords } from '../language/policy.ts'
import { type ToolDeclaration, type ToolKind, toolKinds } from '../language/tools.ts'
import { type RuleApprovers, readApprovers } from './approvers.ts'
import {
  type ArgumentConditions,
  argumentsMatcher,
  checkArguments,
  checkEarlier,
  type EarlierCondition,
  earlierMatcher,
} from './conditions.ts'
import { invalidPolicy, refuseUnknownMembers } from './invalid-policy.ts'
import { namesMatcher } from './names.ts'
import { checkRate, type Rate, RateCount } from './rate.ts'

/** All conditions of a rule must hold. The first rule that matches decides. If none matches, trust decides. */
export type PolicyRule = {
  /** What verdicts, the log and reports call it. Default: its place, such as `policy[2]`. */
  name?: string
  /** Names; `*` stands for any run of characters. */
  tool?: string | readonly string[]
  kind?: ToolKind | readonly ToolKind[]
  readOnly?: boolean
  destructive?: boolean
  /** Of an agent with flow control: whether each argument has a warrant. With `false` and `allow` the call runs without one. */
  warranted?: boolean
  /** Names of agents; `*` stands for any run of characters. */
  agent?: string | readonly string[]
  /** Names of the owners of sessions; `*` stands for any run of characters. */
  owner?: string | readonly string[]
  /** Conditions on the arguments, as data. A rule that allows must name every argument that a call has. */
  args?: ArgumentConditions
  /** Such calls stand before it, in its turn or its session. */
  after?: EarlierCondition
  /** No such calls stand before it. */
  notAfter?: EarlierCondition
  /** Must return true or false. If it throws or returns anything else, the call is denied. */
  when?: (question: Question) => boolean | Promise<boolean>
  /** The rule applies only to calls beyond this rate. Calls that reach it are counted, for each tool by itself. */
  rate?: Rate
  /** A function decides itself: see `Decider`. */
  then: VerdictWord | Decider
  /** Shown to the person who is asked, or to the model when the call is denied. */
  reason?: string
  /** With `ask`: how long the question stays open. */
  expiresInMs?: number
  /** With `ask`: who may decide. Absent: anyone who reaches the session. */
  approvers?: RuleApprovers
}

/** `reason`: in place of the rule's own. */
export type Decision = { then: VerdictWord; reason?: string }

/**
 * Decides about a call in place of a fixed verdict: a policy engine, for one. Undefined: the next rule is asked. If it throws or
 * gives anything else, the call is denied. `version`: of what it decides by, for the version of the rules.
 */
export type Decider = ((
  question: Question,
) => Decision | VerdictWord | undefined | Promise<Decision | VerdictWord | undefined>) & {
  readonly version?: string
}

export type CompiledRule = {
  name: string
  fits: (question: Pick<Question, 'tool' | 'agent' | 'owner'>) => boolean
  /** Its conditions that are data. Absent: it has none. */
  holds?: (question: Question) => boolean
  rule: PolicyRule
  count?: RateCount
  approvers?: Approvers
}

const ruleMembers = [
  ...(['tool', 'kind', 'readOnly', 'destructive', 'warranted', 'agent', 'owner', 'name'] as const),
  ...(['args', 'after', 'notAfter', 'when', 'rate'] as const),
  ...(['then', 'reason', 'expiresInMs', 'approvers'] as const),
] satisfies (keyof PolicyRule)[]

/** Refuses rules that are written wrong, and names that two rules have. `list`: what it is called in messages. */
export function compileRules(rules: readonly PolicyRule[], list = 'policy'): CompiledRule[] {
  const compiled = rules.map((rule, index) => compileRule(rule, index, list))
  const seen = new Set<string>()
  for (const [index, { name }] of compiled.entries()) {
    if (seen.has(name))
      invalidPolicy(`${list}[${index}].name`, `must be its own: ${JSON.stringify(name)} is taken`)
    seen.add(name)
  }
  return compiled
}

/** Names of verdicts that no rule gave. */
const reservedNames: readonly string[] = [
  operatorTrust,
  'flow',
  'grant',
  'client-tool',
  'client-trust',
  'tool-demand',
  'changed-tool',
  'policy-failed',
]

function compileRule(rule: PolicyRule, index: number, list: string): CompiledRule {
  const place = `${list}[${index}]`
  checkRule(rule, place)
  const name = rule.name ?? place
  const tool = rule.tool === undefined ? undefined : namesMatcher(rule.tool, `${place}.tool`)
  const agent = rule.agent === undefined ? undefined : namesMatcher(rule.agent, `${place}.agent`)
  const owner = rule.owner === undefined ? undefined : namesMatcher(rule.owner, `${place}.owner`)
  const kinds = rule.kind === undefined ? undefined : new Set<string>([rule.kind].flat())
  const fits: CompiledRule['fits'] = ({ tool: called, agent: asking, owner: whose }) =>
    (tool === undefined || tool(called.name)) &&
    (agent === undefined || agent(asking)) &&
    (owner === undefined || owner(whose)) &&
    (kinds === undefined || kinds.has(called.kind)) &&
    sameFlag(rule.readOnly, called, 'readOnly') &&
    sameFlag(rule.destructive, called, 'destructive')
  const holds = compileConditions(rule)
  const { approvers: named } = rule
  const approvers =
    named === undefined
      ? undefined
      : readApprovers(named, typeof rule.then === 'function' ? 'ask' : rule.then, `${place}.approvers`)
  const count = rule.rate && new RateCount(rule.rate)
  return {
    name,
    fits,
    rule,
    ...(holds && { holds }),
    ...(count && { count }),
    ...(approvers && { approvers }),
  }
}

function compileConditions({ args, after, notAfter, then }: PolicyRule): CompiledRule['holds'] {
  const all: ((question: Question) => boolean)[] = []
  if (args) all.push(argumentsMatcher(args, then === 'allow' ? 'narrow' : 'wide'))
  const isAfter = after && earlierMatcher(after)
  if (isAfter) all.push(isAfter)
  const isBefore = notAfter && earlierMatcher(notAfter)
  if (isBefore) all.push(question => !isBefore(question))
  return all.length === 0 ? undefined : question => all.every(holds => holds(question))
}

function sameFlag(
  wanted: boolean | undefined,
  tool: ToolDeclaration,
  flag: 'readOnly' | 'destructive',
): boolean {
  return wanted === undefined || wanted === tool[flag]
}

/** Rules may come from a file, so their types are checked. */
function checkRule(rule: PolicyRule, name: string): void {
  if (typeof rule !== 'object' || rule === null)
    invalidPolicy(name, 'must be an object such as { tool, then }')
  refuseUnknownMembers(rule, ruleMembers, name)
  checkName(rule.name, name)
  if (typeof rule.then !== 'function' && !verdictWords.includes(rule.then))
    invalidPolicy(`${name}.then`, 'must be "allow", "ask" or "deny"')
  if (typeof rule.then === 'function' && rule.when !== undefined)
    invalidPolicy(`${name}.when`, 'cannot stand beside a function in "then", which decides itself')
  for (const flag of ['readOnly', 'destructive', 'warranted'] as const)
    if (rule[flag] !== undefined && typeof rule[flag] !== 'boolean')
      invalidPolicy(`${name}.${flag}`, 'must be true or false')
  const kinds = rule.kind === undefined ? [] : [rule.kind].flat()
  if (rule.kind !== undefined && kinds.length === 0)
    invalidPolicy(`${name}.kind`, 'must name at least one kind')
  for (const kind of kinds)
    if (!toolKinds.includes(kind)) invalidPolicy(`${name}.kind`, `must be one of: ${toolKinds.join(', ')}`)
  if (rule.when !== undefined && typeof rule.when !== 'function')
    invalidPolicy(`${name}.when`, 'must be a function')
  if (rule.reason !== undefined && (typeof rule.reason !== 'string' || rule.reason === ''))
    invalidPolicy(`${name}.reason`, 'must be a text that is not empty')
  if (rule.rate !== undefined) checkRate(rule.rate, `${name}.rate`)
  if (rule.args !== undefined) checkArguments(rule.args, `${name}.args`)
  if (rule.after !== undefined) checkEarlier(rule.after, `${name}.after`)
  if (rule.notAfter !== undefined) checkEarlier(rule.notAfter, `${name}.notAfter`)
  checkExpiry(rule, name)
}

function checkName(given: unknown, name: string): void {
  if (given === undefined) return
  if (typeof given !== 'string' || !/^[\w.:[\]-]{1,64}$/.test(given))
    invalidPolicy(`${name}.name`, 'must be 1 to 64 letters, digits, ".", ":", "_" or "-"')
  if (reservedNames.includes(given))
    invalidPolicy(
      `${name}.name`,
      `must be another: ${JSON.stringify(given)} names verdicts that no rule gave`,
    )
}

function checkExpiry({ expiresInMs, then }: PolicyRule, name: string): void {
  if (expiresInMs === undefined) return
  if (then !== 'ask' && typeof then !== 'function')
    invalidPolicy(`${name}.expiresInMs`, 'has a meaning only with then: "ask"; leave it out')
  if (!Number.isSafeInteger(expiresInMs) || expiresInMs < 1)
    invalidPolicy(`${name}.expiresInMs`, 'must be a whole number of milliseconds from 1 up')
}
