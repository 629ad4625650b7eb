// Decides whether a call may run: by the operator's rules, then trust, then earlier grants. It reads only facts that
// the operator, the client or a person has set. No title, description or result affects a verdict. It records nothing
// and asks nobody; the engine acts on the verdict.

import type { Question, Verdict } from '../engine/ports/index.ts'
import { type Approvers, areApprovers } from '../language/approvers.ts'
import { coversArguments } from '../language/argument-patterns.ts'
import { operatorTrust } from '../language/calls.ts'
import type { Grant } from '../language/events.ts'
import { type ToolDeclaration, type ToolKind, toolKinds } from '../language/tools.ts'
import { isThenable } from '../lib/async/promises.ts'
import { type RuleApprovers, readApprovers } from './approvers.ts'
import { describeFacts, type FlowJudge } from './flow/index.ts'
import { invalidPolicy } from './invalid-policy.ts'
import { checkRate, type Rate, RateCount } from './rate.ts'

/** All conditions of a rule must hold. The first rule that matches decides. If none matches, trust decides. */
export type PolicyRule = {
  /** Names; `*` stands for any run of characters. */
  tool?: string | readonly string[]
  kind?: ToolKind | readonly ToolKind[]
  readOnly?: boolean
  destructive?: boolean
  /** Of an agent with flow control: whether each argument has a warrant. With `false` and `allow` the call runs without one. */
  warranted?: boolean
  /** Names of agents; `*` stands for any run of characters. */
  agent?: string | readonly string[]
  /** Must return true or false. If it throws or returns anything else, the call is denied. */
  when?: (question: Question) => boolean | Promise<boolean>
  /** The rule applies only to calls beyond this rate. Calls that reach it are counted, for each tool by itself. */
  rate?: Rate
  then: 'allow' | 'ask' | 'deny'
  /** Shown to the person who is asked, or to the model when the call is denied. */
  reason?: string
  /** With `ask`: how long the question stays open. */
  expiresInMs?: number
  /** With `ask`: who may decide. Absent: anyone who reaches the session. */
  approvers?: RuleApprovers
}

/** Called when a rule failed, so that the operator learns why calls are denied. The model is not told the cause. */
export type RuleFailure = (rule: string, error: unknown) => void

type CompiledRule = {
  name: string
  fits: (question: Pick<Question, 'tool' | 'agent'>) => boolean
  rule: PolicyRule
  count?: RateCount
  approvers?: Approvers
}

export function createAuthoriser(
  rules: readonly PolicyRule[],
  onFailure: RuleFailure = () => {},
  judgeFlow?: FlowJudge,
): (question: Question) => Verdict | Promise<Verdict> {
  const compiled = rules.map(compileRule)
  const decide = (question: Question): Verdict | Promise<Verdict> => {
    if (question.trust === 'deny')
      return {
        verdict: 'deny',
        rule: operatorTrust,
        reason: `The operator does not allow the tool "${question.tool.name}" to run.`,
      }
    if (isRefused(question))
      return {
        verdict: 'deny',
        rule: 'grant',
        reason: `Calls of "${question.tool.name}" were refused for the rest of this session.`,
      }
    const verdict = applyRules(compiled, 0, question, onFailure)
    if (question.changed === undefined && question.demands === undefined) return verdict
    return verdict instanceof Promise
      ? verdict.then(late => askIfDemanded(late, question))
      : askIfDemanded(verdict, question)
  }
  return judgeFlow ? question => decideWithFlow(question, judgeFlow, decide) : decide
}

/** Rules see where the arguments came from; whatever allows the call, one without a warrant is put to a person. */
function decideWithFlow(
  question: Question,
  judgeFlow: FlowJudge,
  decide: (question: Question) => Verdict | Promise<Verdict>,
): Verdict | Promise<Verdict> {
  const { log } = question
  const flow = log && judgeFlow(question.tool, question.input, log)
  if (!flow) return decide(question)
  question.flow = flow
  const verdict = decide(question)
  if (flow.warranted) return verdict
  return verdict instanceof Promise
    ? verdict.then(late => askForWarrant(late, question))
    : askForWarrant(verdict, question)
}

/** A grant for these very arguments, or for those that match its patterns, is a person's word on them. */
function askForWarrant(verdict: Verdict, question: Question): Verdict {
  const { flow, grants } = question
  if (!flow || verdict.verdict === 'deny') return verdict
  const words = describeFacts(flow.facts)
  if (verdict.verdict === 'ask')
    return { ...verdict, flow, reason: verdict.reason === undefined ? words : `${verdict.reason} ${words}` }
  if (verdict.overrules) return verdict
  // Trust may have let it run before a grant was looked for.
  const named = grants.find(
    grant => (grant.argsHash !== undefined || grant.where !== undefined) && covers(grant, question),
  )
  if (named) return { verdict: 'allow', rule: 'grant', grantId: named.id }
  return { verdict: 'ask', rule: flowRule, reason: words, flow }
}

/** The rule name of a call that asks because an argument lacks a warrant. */
export const flowRule = 'flow'

function askIfDemanded(verdict: Verdict, question: Question): Verdict {
  const { changed, demands } = question
  const asked = changed === undefined ? verdict : askAboutChange(verdict, changed)
  return demands === undefined ? asked : askForTool(asked, demands, question.grants)
}

/** The tool demands a decision about this call. Only a grant for the same arguments counts as one. */
function askForTool(verdict: Verdict, demands: string, grants: readonly Grant[]): Verdict {
  if (verdict.verdict === 'deny') return verdict
  if (verdict.verdict === 'allow') {
    const grant = grants.find(({ id }) => id === verdict.grantId)
    if (grant?.argsHash !== undefined) return verdict
    return { verdict: 'ask', rule: 'tool-demand', reason: demands }
  }
  return { ...verdict, reason: verdict.reason === undefined ? demands : `${demands} ${verdict.reason}` }
}

type AuthorityQuestion = Omit<Question, 'callId' | 'input' | 'argsHash' | 'toolHash'>

/** Whether every call would be denied. A condition is not evaluated: it may depend on the arguments. */
export function createDenial(rules: readonly PolicyRule[]): (question: AuthorityQuestion) => boolean {
  const compiled = rules.map(compileRule)
  return question => {
    const { trust, grants, tool, now } = question
    if (trust === 'deny') return true
    if (grants.some(grant => isRefusal(grant, tool.name, now) && grant.argsHash === undefined)) return true
    const first = compiled.find(
      ({ fits, rule }) => fits(question) && !rule.when && !rule.rate && rule.warranted === undefined,
    )
    if (first?.rule.then !== 'deny') return false
    // A condition before it might allow the call.
    return !compiled
      .slice(0, compiled.indexOf(first))
      .some(({ fits, rule }) => rule.then !== 'deny' && fits(question))
  }
}

/** Asks a person about a tool whose definition changed. A grant still holds: it names a definition by its hash. */
function askAboutChange(verdict: Verdict, changed: string): Verdict {
  if (verdict.verdict === 'deny' || (verdict.verdict === 'allow' && verdict.rule === 'grant')) return verdict
  const given = verdict.verdict === 'ask' && verdict.reason !== undefined ? ` ${verdict.reason}` : ''
  const reason = `${changed}${given}`
  return verdict.verdict === 'ask' ? { ...verdict, reason } : { verdict: 'ask', rule: 'changed-tool', reason }
}

/** Synchronous unless a rule returns a promise, so that most calls are decided without a microtask. */
function applyRules(
  rules: readonly CompiledRule[],
  from: number,
  question: Question,
  onFailure: RuleFailure,
): Verdict | Promise<Verdict> {
  for (let index = from; index < rules.length; index++) {
    const compiled = rules[index]!
    if (!compiled.fits(question)) continue
    const { when, warranted } = compiled.rule
    if (warranted !== undefined && warranted !== (question.flow?.warranted ?? true)) continue
    if (when === undefined) {
      const verdict = ruleVerdict(compiled, question)
      if (verdict) return verdict
      continue
    }
    let holds: unknown
    try {
      // A plain copy with the hash computed: a rule may keep it or serialise it. The log is the engine's own.
      const { log: _log, ...plain } = question
      holds = when({ ...plain, argsHash: question.argsHash })
    } catch (error) {
      return failed(compiled, error, onFailure)
    }
    if (isThenable(holds))
      return Promise.resolve(holds).then(
        value => afterCondition(rules, index, question, value, onFailure),
        error => failed(compiled, error, onFailure),
      )
    if (holds !== false) return afterCondition(rules, index, question, holds, onFailure)
  }
  return byTrust(question)
}

function afterCondition(
  rules: readonly CompiledRule[],
  index: number,
  question: Question,
  holds: unknown,
  onFailure: RuleFailure,
): Verdict | Promise<Verdict> {
  const compiled = rules[index]!
  if (holds === true || holds === false)
    return (holds && ruleVerdict(compiled, question)) || applyRules(rules, index + 1, question, onFailure)
  return failed(compiled, new TypeError(`"when" must give true or false, not ${typeof holds}.`), onFailure)
}

function failed(compiled: CompiledRule, error: unknown, onFailure: RuleFailure): Verdict {
  onFailure(compiled.name, error)
  return {
    verdict: 'deny',
    rule: compiled.name,
    reason: `The policy rule ${compiled.name} could not be evaluated, so the call was denied.`,
  }
}

/** Undefined: the rule has a rate, which the call is within. */
function ruleVerdict(
  { name, rule, count, approvers }: CompiledRule,
  question: Question,
): Verdict | undefined {
  const waitMs = count?.take(question)
  if (waitMs === 0) return undefined
  if (rule.then === 'allow')
    return { verdict: 'allow', rule: name, ...(rule.warranted === false && { overrules: true }) }
  if (rule.then === 'ask') return ask(question, name, rule.reason, rule.expiresInMs, approvers)
  return {
    verdict: 'deny',
    rule: name,
    reason: deniedReason(rule, question.tool.name, waitMs),
  }
}

function deniedReason({ reason, rate }: PolicyRule, tool: string, waitMs: number | undefined): string {
  if (!rate || waitMs === undefined) return reason ?? `Policy does not allow this call of "${tool}".`
  const why = reason ?? `"${tool}" may be called ${rate.calls} times in ${rate.perMs / 1000} seconds.`
  return `${why} Try again in ${Math.ceil(waitMs / 1000)} seconds.`
}

/** The client may trust more or less than the operator, except where the operator denies. That is checked before. */
function byTrust(question: Question): Verdict {
  if (question.tool.side === 'client') return { verdict: 'allow', rule: 'client-tool' }
  if (question.clientTrust === true) return { verdict: 'allow', rule: 'client-trust' }
  if (question.clientTrust === false) return ask(question, 'client-trust')
  if (question.trust === 'trusted') return { verdict: 'allow', rule: operatorTrust }
  return ask(question, operatorTrust)
}

function ask(
  question: Question,
  rule: string,
  reason?: string,
  expiresInMs?: number,
  approvers?: Approvers,
): Verdict {
  const grant = coveringGrant(question, approvers)
  if (grant !== undefined) return { verdict: 'allow', rule: 'grant', grantId: grant.id }
  return {
    verdict: 'ask',
    rule,
    ...(reason !== undefined && { reason }),
    ...(expiresInMs !== undefined && { expiresInMs }),
    ...(approvers && { approvers }),
  }
}

/** Prefers a grant without a count of uses, so that counted uses are not spent needlessly. */
function coveringGrant(question: Question, approvers?: Approvers): Grant | undefined {
  let counted: Grant | undefined
  for (const grant of question.grants) {
    if (!covers(grant, question) || (approvers && !isByApprovers(grant, approvers, question))) continue
    if (grant.usesLeft === undefined) return grant
    counted ??= grant
  }
  return counted
}

/** Those who gave it may decide about this call: all that are needed, and none who asked for this turn if they may not. */
function isByApprovers({ people }: Grant, approvers: Approvers, { requesters, owner }: Question): boolean {
  return people !== undefined && areApprovers(approvers, people, requesters ?? [owner])
}

/** A remembered refusal applies to the tool's name, so that a changed definition does not lift it. */
function isRefused(question: Question): boolean {
  const { grants, tool, now } = question
  if (grants.length === 0) return false
  return grants.some(
    grant =>
      isRefusal(grant, tool.name, now) &&
      (grant.argsHash === undefined || grant.argsHash === question.argsHash),
  )
}

function isRefusal({ deny, tool, expiresAt }: Grant, name: string, now: number): boolean {
  return deny === true && tool === name && (expiresAt === undefined || now < expiresAt)
}

function covers(grant: Grant, question: Question): boolean {
  return (
    grant.deny !== true &&
    grant.tool === question.tool.name &&
    grant.toolHash === question.toolHash &&
    (grant.argsHash === undefined || grant.argsHash === question.argsHash) &&
    (grant.where === undefined || coversArguments(grant.where, question.input)) &&
    (grant.expiresAt === undefined || question.now < grant.expiresAt) &&
    (grant.usesLeft === undefined || grant.usesLeft > 0)
  )
}

// ---- checking and compiling rules --------------------------------------------------------------------------

const ruleKeys: ReadonlySet<string> = new Set([
  ...(['tool', 'kind', 'readOnly', 'destructive', 'warranted', 'agent', 'when', 'rate'] as const),
  ...(['then', 'reason', 'expiresInMs', 'approvers'] as const),
] satisfies (keyof PolicyRule)[])

function compileRule(rule: PolicyRule, index: number): CompiledRule {
  const name = `policy[${index}]`
  checkRule(rule, name)
  const tool = rule.tool === undefined ? undefined : namesMatcher(rule.tool, `${name}.tool`)
  const agent = rule.agent === undefined ? undefined : namesMatcher(rule.agent, `${name}.agent`)
  const kinds = rule.kind === undefined ? undefined : new Set<string>([rule.kind].flat())
  const fits: CompiledRule['fits'] = ({ tool: called, agent: asking }) =>
    (tool === undefined || tool(called.name)) &&
    (agent === undefined || agent(asking)) &&
    (kinds === undefined || kinds.has(called.kind)) &&
    sameFlag(rule.readOnly, called, 'readOnly') &&
    sameFlag(rule.destructive, called, 'destructive')
  const approvers =
    rule.approvers === undefined ? undefined : readApprovers(rule.approvers, rule.then, `${name}.approvers`)
  const count = rule.rate && new RateCount(rule.rate)
  return { name, fits, rule, ...(count && { count }), ...(approvers && { approvers }) }
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
  for (const key of Object.keys(rule))
    if (!ruleKeys.has(key))
      invalidPolicy(
        name,
        `has the unknown member ${JSON.stringify(key)}; known are: ${[...ruleKeys].join(', ')}`,
      )
  if (!['allow', 'ask', 'deny'].includes(rule.then))
    invalidPolicy(`${name}.then`, 'must be "allow", "ask" or "deny"')
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
  checkExpiry(rule, name)
}

function checkExpiry({ expiresInMs, then }: PolicyRule, name: string): void {
  if (expiresInMs === undefined) return
  if (then !== 'ask')
    invalidPolicy(`${name}.expiresInMs`, 'has a meaning only with then: "ask"; leave it out')
  if (!Number.isSafeInteger(expiresInMs) || expiresInMs < 1)
    invalidPolicy(`${name}.expiresInMs`, 'must be a whole number of milliseconds from 1 up')
}

/** Whether a name is one of these; `*` stands for any run of characters. */
export function matchesName(names: readonly string[]): (name: string) => boolean {
  return namesMatcher(names, 'The list of names')
}

function namesMatcher(names: string | readonly string[], where: string): (name: string) => boolean {
  const list = [names].flat()
  if (list.length === 0) invalidPolicy(where, 'must hold at least one name; leave it out to match all')
  const exact = new Set<string>()
  const globs: string[][] = []
  for (const name of list) {
    if (typeof name !== 'string' || name === '') invalidPolicy(where, 'must hold names that are not empty')
    if (name.includes('*')) globs.push(name.split('*'))
    else exact.add(name)
  }
  return name => exact.has(name) || globs.some(pieces => matchesGlob(pieces, name))
}

/** `pieces` are the texts between the stars. They must occur in order, the first at the start and the last at the end. */
function matchesGlob(pieces: readonly string[], name: string): boolean {
  const first = pieces[0]!
  const last = pieces.at(-1)!
  if (name.length < first.length + last.length || !name.startsWith(first) || !name.endsWith(last))
    return false
  let at = first.length
  for (const piece of pieces.slice(1, -1)) {
    const found = name.indexOf(piece, at)
    if (found < 0) return false
    at = found + piece.length
  }
  return at <= name.length - last.length
}
