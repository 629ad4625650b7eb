// Evaluations: cases for an agent, each played in a session of its own, with the real engine, gate and rules, and stubs for tools.
// A case says what it expects of calls, of questions to people and of the answer.
import type { TurnwireConfig } from '../config/config.ts'
import type { Model } from '../engine/ports/index.ts'
import type { OutcomeKind } from '../language/calls.ts'
import { TurnwireError } from '../language/errors.ts'
import type { PolicyRule } from '../policy/index.ts'
import { caseProblem, stubsProblem } from './check-case.ts'
import type { Match } from './match.ts'
import type { Stubs } from './stubs.ts'

/** A call that the model is to make. `input`: the arguments that matter. */
export type ExpectedCall = { tool: string; input?: Match; outcome?: OutcomeKind }

/** Answers with yes or no whether the answer is good. `model`: a model, or the name of one in the configuration. */
export type Judge = { model: Model | string; question: string }

export type Expected = {
  /** These calls are made, in this order. Others may stand between them. */
  calls?: readonly ExpectedCall[]
  /** No other call is made than those of `calls`. */
  only?: boolean
  /** These tools are not called. */
  never?: readonly string[]
  /** Exactly these tools ask a person, in any order. */
  asks?: readonly string[]
  /** The last words of the model. */
  answer?: string | RegExp | ((text: string) => boolean)
  judge?: Judge
  /** The most that it may cost, in US dollars, and the most steps that it may take. */
  cost?: number
  steps?: number
}

/** Decides about a call that asks, and answers questions of tools. */
export type EvalPerson = 'allow' | 'reject' | ((call: { tool: string; input: unknown }) => boolean)

export type EvalCase = {
  name: string
  /** One message, or several that are said one after another. */
  prompt: string | readonly string[]
  tools?: Stubs
  /** Tools that really run, or `true` for all. */
  real?: readonly string[] | true
  people?: EvalPerson
  expect: Expected
}

export type Evals = {
  /** Default: the first agent of the configuration. */
  agent?: string
  /** Names of configured models. Default: the agent's own. */
  models?: readonly string[]
  /** Rules to try, by a name for them. Default: those of the configuration. */
  policies?: Readonly<Record<string, readonly PolicyRule[]>>
  /** How often each case is played. Default 1. */
  repeat?: number
  /** The share of the plays that have to pass, of all cases. Default 1. */
  passMark?: number
  /** The configuration. Default: the one that the command finds. */
  config?: TurnwireConfig
  /** Stubs for all cases. Those of a case come before them. */
  tools?: Stubs
  cases: readonly EvalCase[]
}

/** Gives its argument back, with its types checked. */
export function defineEvals(evals: Evals): Evals {
  return evals
}

const evalNames = Object.keys({
  agent: true,
  models: true,
  policies: true,
  repeat: true,
  passMark: true,
  config: true,
  tools: true,
  cases: true,
} satisfies Record<keyof Evals, true>)

/** Throws `bad_request` with what is wrong. */
export function checkEvals(given: unknown, source: string): Evals {
  const refuse = (words: string): never => {
    throw new TurnwireError('bad_request', `${source}: ${words}`)
  }
  if (typeof given !== 'object' || given === null)
    return refuse('export default defineEvals({ cases: [ … ] }) is missing.')
  const unknown = Object.keys(given).find(name => !evalNames.includes(name))
  if (unknown !== undefined) return refuse(`"${unknown}" is no member. There are: ${evalNames.join(', ')}.`)
  const evals = given as Evals // Its members are checked as far as they are read.
  if (!Array.isArray(evals.cases) || evals.cases.length === 0) return refuse('`cases` has no case.')
  const problem = stubsProblem(evals.tools) ?? evals.cases.map(caseProblem).find(words => words !== undefined)
  if (problem !== undefined) return refuse(problem)
  const { repeat = 1, passMark = 1 } = evals
  if (!Number.isSafeInteger(repeat) || repeat < 1) return refuse('`repeat` is a whole number from 1 on.')
  return passMark >= 0 && passMark <= 1 ? evals : refuse('`passMark` is a share: from 0 to 1.')
}
