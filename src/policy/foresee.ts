// The verdict on a tool as far as it can be known before a call: for lists of tools, and for tools that no call may ever use.
// Conditions are not evaluated, since they may depend on the arguments: the rules that have one are named.
import type { ToolQuestion } from '../engine/ports/index.ts'
import { operatorTrust } from '../language/calls.ts'
import type { ForeseenVerdict } from '../language/policy.ts'
import { flowRule, isRefusal } from './authorise.ts'
import { resolveLabels } from './flow/index.ts'
import type { CompiledRule } from './rules.ts'
import { shownThen } from './version.ts'

/** `followsValues`: a call that acts may ask because of where its arguments came from. */
export function createForesight(
  rules: readonly CompiledRule[],
  followsValues: boolean,
): (question: ToolQuestion) => ForeseenVerdict {
  return question => {
    const { trust, grants, tool, now } = question
    if (trust === 'deny') return { verdict: 'deny', rule: operatorTrust }
    if (grants.some(grant => isRefusal(grant, tool.name, now) && grant.argsHash === undefined))
      return { verdict: 'deny', rule: 'grant' }
    const fitting = rules.filter(({ fits }) => fits(question))
    const first = fitting.find(rule => !isConditional(rule))
    const before = first ? fitting.slice(0, fitting.indexOf(first)) : fitting
    const unless: NonNullable<ForeseenVerdict['unless']> = before.map(({ name, rule }) => ({
      rule: name,
      verdict: shownThen(rule),
    }))
    const found = first ? byRule(first) : byTrust(question)
    const verdict = question.changed !== undefined && found.verdict === 'allow' ? byChange(question) : found
    if (followsValues && verdict.verdict === 'allow' && resolveLabels(tool).acts)
      unless.push({ rule: flowRule, verdict: 'ask' })
    return unless.length > 0 ? { ...verdict, unless } : verdict
  }
}

/** Whether every call would be denied. */
export function isAlwaysDenied({ verdict, unless = [] }: ForeseenVerdict): boolean {
  return verdict === 'deny' && unless.every(each => each.verdict === 'deny')
}

function isConditional({ rule, holds }: CompiledRule): boolean {
  const { when, rate, warranted, then } = rule
  return (
    when !== undefined ||
    rate !== undefined ||
    warranted !== undefined ||
    holds !== undefined ||
    typeof then === 'function'
  )
}

function byRule({ name, rule: { then, reason } }: CompiledRule): ForeseenVerdict {
  // A function is a condition.
  const verdict = typeof then === 'function' ? 'deny' : then
  return { verdict, rule: name, ...(reason !== undefined && { reason }) }
}

function byTrust({ tool, trust, clientTrust }: ToolQuestion): ForeseenVerdict {
  if (tool.side === 'client') return { verdict: 'allow', rule: 'client-tool' }
  if (clientTrust !== undefined) return { verdict: clientTrust ? 'allow' : 'ask', rule: 'client-trust' }
  return { verdict: trust === 'trusted' ? 'allow' : 'ask', rule: operatorTrust }
}

function byChange({ changed }: ToolQuestion): ForeseenVerdict {
  return { verdict: 'ask', rule: 'changed-tool', ...(changed !== undefined && { reason: changed }) }
}
