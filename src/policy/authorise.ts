// Decides whether a call may run: by the operator's rules, then trust, then earlier grants. It reads only facts that
// the operator, the client or a person has set. No title, description or result affects a verdict. It records nothing
// and asks nobody; the engine acts on the verdict.

import type { Question, Verdict } from '../engine/ports/index.ts'
import { type Approvers, areApprovers } from '../language/approvers.ts'
import { coversArguments } from '../language/argument-patterns.ts'
import { operatorTrust } from '../language/calls.ts'
import type { Grant } from '../language/events.ts'
import { type CallFlow, describeFacts } from '../language/flow.ts'
import { verdictWords } from '../language/policy.ts'
import { isThenable } from '../lib/async/promises.ts'
import type { FlowJudge } from './flow/index.ts'
import type { CompiledRule, Decision, PolicyRule } from './rules.ts'

/** Called when a rule failed, so that the operator learns why calls are denied. The model is not told the cause. */
export type RuleFailure = (rule: string, error: unknown) => void

export type Authoriser = (question: Question) => Verdict | Promise<Verdict>

export function authoriseBy(
  compiled: readonly CompiledRule[],
  onFailure: RuleFailure = () => {},
  judgeFlow?: FlowJudge,
): Authoriser {
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
  const flow = question.flow ?? (log && judgeFlow(question.tool, question.input, log))
  if (!flow) return decide(question)
  question.flow = flow
  const verdict = decide(question)
  if (!flow.tainted) return verdict
  return verdict instanceof Promise
    ? verdict.then(late => askForWarrant(late, question))
    : askForWarrant(verdict, question)
}

/** A grant for these very arguments, or for those that match its patterns, is a person's word on them. */
function askForWarrant(verdict: Verdict, question: Question): Verdict {
  const { flow, grants } = question
  if (!flow || verdict.verdict === 'deny') return verdict
  // A person who is asked for another reason also sees where the arguments came from.
  if (verdict.verdict === 'ask') return withFacts(verdict, flow)
  if (flow.warranted || verdict.overrules) return verdict
  // Trust may have let it run before a grant was looked for.
  const named = grants.find(
    grant => (grant.argsHash !== undefined || grant.where !== undefined) && covers(grant, question),
  )
  if (named) return { verdict: 'allow', rule: 'grant', grantId: named.id }
  return withFacts({ verdict: 'ask', rule: flowRule }, flow)
}

function withFacts(verdict: Extract<Verdict, { verdict: 'ask' }>, flow: CallFlow): Verdict {
  if (flow.facts.length === 0) return verdict
  const words = describeFacts(flow.facts)
  return { ...verdict, flow, reason: verdict.reason === undefined ? words : `${verdict.reason} ${words}` }
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
    const { when, warranted, then } = compiled.rule
    if (warranted !== undefined && warranted !== (question.flow?.warranted ?? true)) continue
    if (compiled.holds && !compiled.holds(question)) continue
    const decide = when ?? (typeof then === 'function' ? then : undefined)
    if (decide === undefined) {
      const verdict = ruleVerdict(compiled, question)
      if (verdict) return verdict
      continue
    }
    let answer: unknown
    try {
      answer = decide(plainQuestion(question))
    } catch (error) {
      return failed(compiled, error, onFailure)
    }
    if (isThenable(answer))
      return Promise.resolve(answer).then(
        value => afterAnswer(rules, index, question, value, onFailure),
        error => failed(compiled, error, onFailure),
      )
    if (answer !== false) return afterAnswer(rules, index, question, answer, onFailure)
  }
  return byTrust(question)
}

/** A plain copy: a rule may keep it or serialise it. The log is the engine's own. */
function plainQuestion(question: Question): Question {
  let history: Question['history'] | undefined
  return {
    ...(question.log === undefined ? question : withoutLog(question)),
    // Made only if the rule reads them.
    get argsHash() {
      return question.argsHash
    },
    get history() {
      history ??= question.history
      return history
    },
  }
}

function withoutLog(question: Question): Question {
  const { log: _log, ...others } = question
  return others
}

function afterAnswer(
  rules: readonly CompiledRule[],
  index: number,
  question: Question,
  answer: unknown,
  onFailure: RuleFailure,
): Verdict | Promise<Verdict> {
  const compiled = rules[index]!
  const { when, then } = compiled.rule
  const decided = when || typeof then !== 'function' ? readAnswer(answer, then) : readDecision(answer)
  if (decided instanceof TypeError) return failed(compiled, decided, onFailure)
  return (
    (decided && ruleVerdict(compiled, question, decided)) || applyRules(rules, index + 1, question, onFailure)
  )
}

/** Undefined: the rule does not apply. */
function readAnswer(holds: unknown, then: PolicyRule['then']): Decision | TypeError | undefined {
  if (holds === false) return undefined
  // With `when`, `then` is a word: see checkRule.
  if (holds === true && typeof then === 'string') return { then }
  return new TypeError(`"when" must give true or false, not ${typeof holds}.`)
}

function readDecision(given: unknown): Decision | TypeError | undefined {
  if (given === undefined) return undefined
  const { then, reason } = typeof given === 'object' && given !== null ? (given as Partial<Decision>) : {}
  const word = verdictWords.find(each => each === (then ?? given))
  const isText = reason === undefined || typeof reason === 'string'
  if (word && isText) return { then: word, ...(reason !== undefined && reason !== '' && { reason }) }
  return new TypeError(
    'A function in "then" must give "allow", "ask", "deny", { then, reason }, or undefined.',
  )
}

function failed(compiled: CompiledRule, error: unknown, onFailure: RuleFailure): Verdict {
  onFailure(compiled.name, error)
  return {
    verdict: 'deny',
    rule: compiled.name,
    reason: `The policy rule ${compiled.name} could not be evaluated, so the call was denied.`,
  }
}

/** Undefined: the rule has a rate, which the call is within. `decided`: what its function says. */
function ruleVerdict(
  { name, rule, count, approvers }: CompiledRule,
  question: Question,
  decided?: Decision,
): Verdict | undefined {
  const waitMs = count?.take(question)
  if (waitMs === 0) return undefined
  const { then, reason = rule.reason } = decided ?? (rule as Decision) // Without a function `then` is a word.
  if (then === 'allow')
    return { verdict: 'allow', rule: name, ...(rule.warranted === false && { overrules: true }) }
  if (then === 'ask') return ask(question, name, reason, rule.expiresInMs, approvers)
  return { verdict: 'deny', rule: name, reason: deniedReason(rule, reason, question.tool.name, waitMs) }
}

function deniedReason(
  { rate }: PolicyRule,
  reason: string | undefined,
  tool: string,
  waitMs: number | undefined,
): string {
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

export function isRefusal({ deny, tool, expiresAt }: Grant, name: string, now: number): boolean {
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
