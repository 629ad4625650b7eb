// The gate that every call passes: arguments, permission and output, each in its own file. This file checks the
// operator's settings and joins the three.

import type { Gate } from '../engine/ports/index.ts'
import type { RuleSource } from '../language/policy.ts'
import type { ToolDeclaration } from '../language/tools.ts'
import { deepestNesting } from '../lib/json/index.ts'
import { type ArgumentSettings, admitCall, CompiledSchemas } from './arguments.ts'
import type { RuleFailure } from './authorise.ts'
import { createFlow, type FlowJudge, type FlowSettings } from './flow/index.ts'
import { invalidPolicy } from './invalid-policy.ts'
import { namesMatcher } from './names.ts'
import { finishClient, finishTool, type OutputSettings } from './output.ts'
import {
  type BuiltInRedaction,
  createRedactor,
  type Redactor,
  type RedactRule,
  redactLive,
} from './redact.ts'
import { redactArguments } from './redact-arguments.ts'
import { finishReport } from './report.ts'
import { createRuleSet, type RulesInForce } from './rule-set.ts'
import { compileRules, type Decider, type Decision, type PolicyRule } from './rules.ts'

export type { RuleApprovers } from './approvers.ts'
export { checkBudgets, checkTurnBudget } from './budgets.ts'
export { type CedarOptions, cedar } from './engines/cedar.ts'
export { type OpaOptions, opa } from './engines/opa.ts'
export { resolveLabels } from './flow/index.ts'
export { checkLimits, defaultLimits } from './limits.ts'
export { namesMatcher } from './names.ts'
export type { RulesInForce } from './rule-set.ts'
export type { BuiltInRedaction, Decider, Decision, FlowSettings, PolicyRule, RedactRule, RuleFailure }

export type GateOptions = {
  /** The first rule that matches decides. */
  rules?: readonly PolicyRule[]
  /**
   * A draft of the rules: it takes the place of `file` and `rules` for verdicts that are only recorded, where they differ. It changes
   * nothing. Rules of agents apply to it too.
   */
  shadow?: readonly PolicyRule[]
  /** Patterns to remove from results and arguments: own ones, and names of built-in ones (`secrets`: all of them). */
  redact?: readonly (RedactRule | BuiltInRedaction)[]
  /** The longest arguments that a call may have. Default 4 MiB. */
  maxArgumentBytes?: number
  /** How deep arguments may nest. Default 64, at most 500. */
  maxDepth?: number
  /** A larger result is refused. Default 16 MiB. */
  maxOutputBytes?: number
  /** How much of a result may be images and files. Default 8 MiB. */
  mediaLimit?: number
  /** How much text a client may send as the result of its own tool. Default 256 KiB. */
  clientOutputLimit?: number
  /** Called when a rule's `when` failed. The call is denied. */
  onRuleFailure?: RuleFailure
  /** Called when a shadow rule's `when` failed. */
  onShadowFailure?: RuleFailure
}

/** A gate whose rules can be replaced while it is in use. */
export type RuledGate = Gate & {
  /** Gives a function that puts the rules in force. Throws `config_invalid` if they are wrong. */
  prepareRules(rules: RulesInForce): () => void
}

/** Rules as data, from a file: what a function would do is said with `args`, `after` and `notAfter`. */
export function checkRules(rules: readonly unknown[], list: string): PolicyRule[] {
  for (const [index, rule] of rules.entries())
    if (typeof rule === 'object' && rule !== null && 'when' in rule)
      invalidPolicy(`${list}[${index}].when`, 'is for rules in code; use "args", "after" or "notAfter" here')
  // Each is checked whole when it is compiled.
  return compileRules(rules as readonly PolicyRule[], list).map(({ rule }) => rule)
}

/**
 * `unguarded`: tools that give the conversation, or a task, to an agent where flow control is off, or asks less. `earlier`: by name, the
 * tools of agents that may have given the conversation to this one; `disputed` if there are two with other labels.
 */
export type FlowOptions = FlowSettings & {
  unguarded?: readonly string[]
  earlier?: ReadonlyMap<string, ToolDeclaration | 'disputed'>
}

/** `given`: follows where arguments came from. Absent: nothing does. `from`: where each rule is written. */
export function createGate(
  options: GateOptions = {},
  given?: FlowOptions,
  from: readonly RuleSource[] = [],
): RuledGate {
  checkList(options.rules, 'rules')
  checkList(options.shadow, 'shadow')
  checkList(options.redact, 'redact')
  const compiled = new CompiledSchemas()
  const input: ArgumentSettings = {
    compiled,
    maxBytes: wholeNumber(options.maxArgumentBytes, 'maxArgumentBytes', 4 * 1024 * 1024),
    maxDepth: wholeNumber(options.maxDepth, 'maxDepth', 64, deepestNesting),
  }
  const redactor = createRedactor(options.redact ?? [])
  const output: OutputSettings = {
    compiled,
    redactor,
    maxOutputBytes: wholeNumber(options.maxOutputBytes, 'maxOutputBytes', 16 * 1024 * 1024),
    mediaLimit: wholeNumber(options.mediaLimit, 'mediaLimit', 8 * 1024 * 1024),
    clientOutputLimit: wholeNumber(options.clientOutputLimit, 'clientOutputLimit', 256 * 1024),
  }
  const flow = given && makeFlow(given, redactor)
  const { rules = [], shadow, onRuleFailure: onFailure, onShadowFailure } = options
  const counts = new Map()
  const { unguarded: _unguarded, earlier: _earlier, ...settings } = given ?? {}
  const ruleOptions = { judgeFlow: flow, flow: given && settings, onFailure, onShadowFailure, counts }
  const gate: RuledGate = {
    admit: (call, tool, owner) => admitCall(call, tool, input, owner),
    ...createRuleSet({ rules, from, shadow: shadow && { rules: shadow } }, ruleOptions),
    prepareRules(next) {
      const part = createRuleSet(next, ruleOptions)
      // The functions themselves are replaced, so that a call takes no longer way because of it.
      return () => void Object.assign(gate, part)
    },
    ...(flow && { followsValues: true }),
    finish: (result, tool, callId, owner) => finishTool(result, tool, callId, output, owner),
    ...(redactor && { redactArguments: (text, form) => redactArguments(text, form, redactor) }),
    report: report => finishReport(report, redactor),
    live: () => (redactor === null ? undefined : redactLive(redactor)),
    finishClient: (parts, failed, callId) => finishClient(parts, failed, callId, output),
  }
  return gate
}

/** What it quotes is redacted, as arguments and results are. */
function makeFlow(
  { unguarded, earlier, ...flow }: FlowOptions,
  redactor: Redactor | null,
): FlowJudge | undefined {
  const isInsider = flow.insiders?.length ? namesMatcher(flow.insiders) : () => false
  const open = new Set(unguarded)
  return createFlow(flow, {
    isInsider,
    isUnguarded: name => open.has(name),
    findEarlier: name => earlier?.get(name),
    hide: text => (redactor === null ? text : redactor(text, { count: 0 })),
  })
}

function checkList(value: unknown, name: string): void {
  if (value !== undefined && !Array.isArray(value)) invalidPolicy(`"${name}" of a policy`, 'must be a list')
}

function wholeNumber(
  value: number | undefined,
  name: string,
  otherwise: number,
  most = Number.MAX_SAFE_INTEGER,
): number {
  if (value === undefined) return otherwise
  if (!Number.isSafeInteger(value) || value < 1 || value > most) {
    const range = most === Number.MAX_SAFE_INTEGER ? 'from 1 up' : `from 1 to ${most}`
    invalidPolicy(`"${name}" of a policy`, `must be a whole number ${range}, not ${String(value)}`)
  }
  return value
}
