// Settings of a tool: how often it is tried again, how long the engine waits in between, and examples of its input.
// They are checked when the tool is defined.
import type { BackOff } from '../../engine/ports/index.ts'
import type { ToolInput } from '../../language/tools.ts'
import type { Json } from '../../lib/json/index.ts'
import { compileSchema } from '../../lib/schema/index.ts'
import { quote } from '../../lib/text/index.ts'

/** `times`: tries after the first. Each wait is `factor` times as long as the one before, up to `mostMs`. */
export type Retries = number | { times: number; backOffMs?: number; factor?: number; mostMs?: number }

type Refuse = (words: string) => never

const longestWait = 10 * 60 * 1000

export function readRetries(given: Retries, refuse: Refuse): { retries: number; backOff?: BackOff } {
  if (typeof given !== 'object' || given === null) return { retries: given }
  const { times, backOffMs = 1_000, factor = 2, mostMs = 30_000, ...others } = given
  const [unknown] = Object.keys(others)
  if (unknown !== undefined)
    refuse(
      `has "retries" with the unknown member ${quote(unknown)}; known are: times, backOffMs, factor, mostMs`,
    )
  for (const [member, ms] of Object.entries({ backOffMs, mostMs }))
    if (!Number.isSafeInteger(ms) || ms < 0 || ms > longestWait)
      refuse(`has "retries.${member}" as ${quote(ms)}; it is milliseconds from 0 to ${longestWait}`)
  if (!(typeof factor === 'number' && factor >= 1 && factor <= 10))
    refuse(`has "retries.factor" as ${quote(factor)}; it is a number from 1 to 10`)
  return { retries: times, backOff: { ms: backOffMs, factor, mostMs } }
}

const mostExamples = 20

export function checkExamples(given: unknown, input: ToolInput, refuse: Refuse): Json[] {
  if (!Array.isArray(given) || given.length > mostExamples)
    return refuse(`has "examples" as ${quote(given)}; it is a list of at most ${mostExamples} inputs`)
  // As JSON, so that later changes of the originals do not show.
  const examples = JSON.parse(JSON.stringify(given)) as Json[]
  for (const [index, example] of examples.entries()) {
    const problem = exampleProblem(example, input)
    if (problem !== undefined) refuse(`has examples[${index}], which does not fit its input: ${problem}`)
  }
  return examples
}

function exampleProblem(example: Json, input: ToolInput): string | undefined {
  if (input.form === 'text') return typeof example === 'string' ? undefined : 'it takes text'
  const issues = compileSchema(input.schema).check(example)
  const [first] = issues ?? []
  return first && `${first.path === '' ? '' : `${first.path}: `}${first.message}`
}
