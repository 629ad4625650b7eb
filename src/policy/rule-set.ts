// The rules in force at a gate, with those that run beside them as a shadow. Made once when rules are loaded: a verdict names
// its version without computing it. A gate without rules gives the plain verdicts of authorise.ts.
import type { Gate, Question, Verdict } from '../engine/ports/index.ts'
import type { RuleSource, ShadowVerdict, ShownPolicy } from '../language/policy.ts'
import { type Authoriser, authoriseBy, type RuleFailure } from './authorise.ts'
import type { FlowJudge, FlowSettings } from './flow/index.ts'
import { createForesight, isAlwaysDenied } from './foresee.ts'
import type { RateCount } from './rate.ts'
import { type CompiledRule, compileRules, type PolicyRule } from './rules.ts'
import { ruleAsData, rulesVersion, showRules } from './version.ts'

/** `from`: where each rule is written, for people; default: in `policy`. */
export type RuleList = { rules: readonly PolicyRule[]; from?: readonly RuleSource[] }

export type RulesInForce = RuleList & { shadow?: RuleList | undefined }

export type RuleSetOptions = {
  judgeFlow?: FlowJudge | undefined
  /** Part of the version: it decides too. */
  flow?: FlowSettings | undefined
  onFailure?: RuleFailure | undefined
  onShadowFailure?: RuleFailure | undefined
  /** Counts of rates by what their rule says. They outlast a change of other rules. */
  counts: Map<string, RateCount>
}

export type RulePart = Required<Pick<Gate, 'authorise' | 'denies' | 'foresee' | 'rules'>> &
  Pick<Gate, 'namesApprovers'>

export function createRuleSet(
  { rules, from = [], shadow }: RulesInForce,
  { judgeFlow, flow, onFailure, onShadowFailure, counts }: RuleSetOptions,
): RulePart {
  const compiled = compileRules(rules)
  keepCounts(compiled, counts)
  const decide = authoriseBy(compiled, onFailure, judgeFlow)
  const foresee = createForesight(compiled, judgeFlow !== undefined)
  const part = {
    foresee,
    denies: (question: Parameters<typeof foresee>[0]) => isAlwaysDenied(foresee(question)),
    ...(rules.some(({ approvers }) => approvers) && { namesApprovers: true as const }),
  }
  if (rules.length === 0 && !shadow) return { ...part, authorise: decide, rules: () => undefined }
  const names = (list: readonly CompiledRule[]): string[] => list.map(({ name }) => name)
  const version = rulesVersion(rules, flow)
  const shown: ShownPolicy = showRules(rules, names(compiled), from, version)
  if (!shadow) return { ...part, authorise: stamp(decide, version), rules: () => shown }
  const beside = compileRules(shadow.rules, 'shadow')
  const shadowVersion = rulesVersion(shadow.rules, flow)
  shown.shadow = showRules(shadow.rules, names(beside), shadow.from ?? [], shadowVersion)
  const decideBeside = authoriseBy(beside, onShadowFailure, judgeFlow)
  const authorise = withShadow(stamp(decide, version), decideBeside, shadowVersion)
  return { ...part, authorise, rules: () => shown }
}

function keepCounts(compiled: readonly CompiledRule[], counts: Map<string, RateCount>): void {
  const kept = new Map<string, RateCount>()
  for (const each of compiled) {
    if (!each.count) continue
    const key = JSON.stringify(ruleAsData(each.rule))
    each.count = counts.get(key) ?? each.count
    kept.set(key, each.count)
  }
  counts.clear()
  for (const [key, count] of kept) counts.set(key, count)
}

/** Each verdict is an object of its own, so it can be written on. */
function stamp(decide: Authoriser, version: string): Authoriser {
  const mark = (verdict: Verdict): Verdict => {
    verdict.policy = version
    return verdict
  }
  return question => {
    const verdict = decide(question)
    return verdict instanceof Promise ? verdict.then(mark) : mark(verdict)
  }
}

function withShadow(decide: Authoriser, decideBeside: Authoriser, version: string): Authoriser {
  return question => {
    const verdict = decide(question)
    const beside = askBeside(decideBeside, question)
    const mark = (given: Verdict): Verdict => {
      given.shadowPolicy = version
      if (beside instanceof Promise) given.shadowLater = beside.then(late => difference(given, late))
      else {
        const shadow = difference(given, beside)
        if (shadow) given.shadow = shadow
      }
      return given
    }
    return verdict instanceof Promise ? verdict.then(mark) : mark(verdict)
  }
}

/** Nothing that shadow rules do may harm the call. */
function askBeside(
  decide: Authoriser,
  question: Question,
): Verdict | undefined | Promise<Verdict | undefined> {
  try {
    const verdict = decide(question)
    return verdict instanceof Promise ? verdict.catch(() => undefined) : verdict
  } catch {
    return undefined
  }
}

/** Undefined: both say the same. */
function difference(given: Verdict, shadow: Verdict | undefined): ShadowVerdict | undefined {
  if (!shadow || shadow.verdict === given.verdict) return undefined
  const { verdict, rule } = shadow
  return {
    verdict,
    rule,
    ...('reason' in shadow && shadow.reason !== undefined && { reason: shadow.reason }),
  }
}
