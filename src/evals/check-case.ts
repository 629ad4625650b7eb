// Checks one case of an evaluation. A member with another name would be left out in silence: the case would expect less than its
// author believes, and pass.
import { isRecord } from '../lib/checks/fields.ts'
import { printable } from '../lib/text/index.ts'
import type { EvalCase, Expected, ExpectedCall, Judge } from './evals.ts'
import type { StubAnswer } from './stubs.ts'

type Names<Type> = Readonly<Record<keyof Type, true>>

const caseNames = {
  ...{ name: true, prompt: true, tools: true, real: true, people: true, expect: true },
} as const satisfies Names<EvalCase>
const expectNames = {
  ...{ calls: true, only: true, never: true, asks: true, answer: true, judge: true, cost: true, steps: true },
} as const satisfies Names<Expected>
const callNames = { tool: true, input: true, outcome: true } as const satisfies Names<ExpectedCall>
const judgeNames = { model: true, question: true } as const satisfies Names<Judge>
const stubNames = {
  ...{ when: true, times: true, returns: true, throws: true, afterMs: true },
} as const satisfies Names<StubAnswer>

/** What is wrong with it, as a sentence; undefined: nothing is. */
export function caseProblem(given: unknown): string | undefined {
  if (!isRecord(given)) return 'each case has a `name`, a `prompt` and `expect`.'
  const { name, prompt, expect, tools, people } = given
  if (typeof name !== 'string' || prompt === undefined || !isRecord(expect))
    return 'each case has a `name`, a `prompt` and `expect`.'
  const found =
    strange(given, caseNames, '') ??
    expectProblem(expect) ??
    stubsProblem(tools) ??
    (['undefined', 'function'].includes(typeof people) || people === 'allow' || people === 'reject'
      ? undefined
      : '`people` is "allow", "reject" or a function.')
  return found && `the case "${printable(name, 200)}": ${found}`
}

/** Stubs of a case, or of all of them. */
export function stubsProblem(stubs: unknown): string | undefined {
  if (stubs === undefined) return undefined
  if (!isRecord(stubs)) return '`tools` is an object: stubs by the names of tools.'
  for (const [tool, stub] of Object.entries(stubs)) {
    if (typeof stub === 'function') continue
    for (const answer of [stub].flat()) {
      const at = `tools.${printable(tool, 128)}`
      if (!isRecord(answer))
        return `\`${at}\` is a function, an answer such as { returns: 'packed' }, or a list of those.`
      const found = strange(answer, stubNames, `${at}.`)
      if (found !== undefined) return found
    }
  }
  return undefined
}

function expectProblem(expect: Record<string, unknown>): string | undefined {
  if (Object.keys(expect).length === 0) return 'it expects nothing.'
  const { calls = [], judge = {}, never = [], asks = [] } = expect
  const found = strange(expect, expectNames, 'expect.')
  if (found !== undefined) return found
  if (!isRecord(judge)) return '`expect.judge` is an object: { model, question }.'
  if (![never, asks].every(isNames)) return '`expect.never` and `expect.asks` are lists of names of tools.'
  if (!Array.isArray(calls)) return '`expect.calls` is a list.'
  for (const [at, call] of calls.entries()) {
    if (!isRecord(call) || typeof call['tool'] !== 'string')
      return `\`expect.calls[${at}]\` is an object with the name of a \`tool\`.`
    const other = strange(call, callNames, `expect.calls[${at}].`)
    if (other !== undefined) return other
  }
  return strange(judge, judgeNames, 'expect.judge.')
}

function isNames(value: unknown): boolean {
  return Array.isArray(value) && value.every(each => typeof each === 'string')
}

function strange(given: object, names: Readonly<Record<string, true>>, at: string): string | undefined {
  const found = Object.keys(given).find(name => !Object.hasOwn(names, name))
  if (found === undefined) return undefined
  return `\`${at}${printable(found, 80)}\` is no member. There are: ${Object.keys(names).join(', ')}.`
}
