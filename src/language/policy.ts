// The words of policy as plain data: verdicts, the rules in force, and the earlier calls that a rule may look at.
import type { Json, JsonObject } from '../lib/json/index.ts'
import type { OutcomeKind } from './calls.ts'

export const verdictWords = ['allow', 'ask', 'deny'] as const
export type VerdictWord = (typeof verdictWords)[number]

/** `decides`: a function says it, call by call. */
export type ShownVerdict = VerdictWord | 'decides'

/** A verdict of shadow rules that differs from the one that counted. */
export type ShadowVerdict = { verdict: VerdictWord; rule: string; reason?: string }

/** The verdict on a tool before the arguments of a call are known. */
export type ForeseenVerdict = {
  verdict: VerdictWord
  rule: string
  reason?: string
  /** Rules with a condition, which may decide otherwise, in order. Absent: there are none. */
  unless?: { rule: string; verdict: ShownVerdict }[]
}

/** Where a rule is written: with its agent, in the file of rules, or in `policy.rules`. */
export type RuleSource = 'agent' | 'file' | 'policy'

/** A rule as data: `rule` has its members, a function as the object `{ function }` with its text. */
export type ShownRule = {
  name: string
  from: RuleSource
  then: ShownVerdict
  rule: JsonObject
}

/** The rules of an agent in the order in which they are asked. `version`: the hash of what they say. */
export type ShownRules = { version: string; rules: ShownRule[] }

/** `shadow`: the rules beside them whose verdicts are only recorded. */
export type ShownPolicy = ShownRules & { shadow?: ShownRules }

/** How the file of rules is. `problem`: why the newest state of it is not used; the rules before it stay in force. */
export type RulesFileState = { file: string; loadedAt: number; problem?: string }

/** A call that nobody made. `session`: it is judged as if it were made there next. */
export type SupposedCall = { agent: string; owner: string; tool: string; input: Json; session?: string }

/** An earlier call of the same session. */
export type EarlierCall = {
  id: string
  tool: string
  /** As it was recorded, redacted where arguments are. Absent: it is free text, or longer than 16 KiB. */
  input?: Json
  /** Absent: it has none yet. */
  outcome?: OutcomeKind
  /** The rule that let it run or had a person asked, and the person who allowed it. Absent: the operator trusts its tool. */
  rule?: string
  by?: string
  /** The call that made it. Absent: the model did. */
  parent?: string
}

/** The calls before this one, oldest first: those of its turn, and the last 200 of the session. */
export type CallHistory = { readonly turn: readonly EarlierCall[]; readonly session: readonly EarlierCall[] }

export const mostEarlierCalls = 200
