// Stand-ins for the tools of an agent in an evaluation: by the arguments of a call, in sequences, with errors and delays. A tool
// without one does not run.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Tool } from '../engine/ports/index.ts'
import { toOutput } from '../tools/functions/return-value.ts'
import { type Match, matches } from './match.ts'

/** `when`: the arguments that it is for; absent: any. `times`: how many calls it answers; absent: any number. */
export type StubAnswer = {
  when?: Match
  times?: number
  returns?: unknown
  /** The call fails with these words. */
  throws?: string
  afterMs?: number
}

/** The first answer that fits is given. A function gets the arguments, and how often the tool was called before. */
export type Stub = StubAnswer | readonly StubAnswer[] | ((input: unknown, before: number) => unknown)
export type Stubs = Readonly<Record<string, Stub>>

/** The tools as they are declared, with these stubs in place of what they do. `missing` is told of calls that no stub answers. */
export function stubTools(
  tools: readonly Tool[],
  stubs: Stubs,
  real: readonly string[] | true,
  missing: (tool: string, input: unknown) => void,
): Tool[] {
  return tools.map(tool => {
    if (real === true || real.includes(tool.name)) return tool
    const answer = Object.hasOwn(stubs, tool.name) ? makeStub(stubs[tool.name]!) : undefined
    return { ...tool, run: async input => toOutput(await give(input), tool.name, tool.output !== undefined) }

    async function give(input: unknown): Promise<unknown> {
      const given = answer?.(input)
      if (given) return given.value()
      missing(tool.name, input)
      throw new Error('The evaluation has no stub for this call.')
    }
  })
}

type Given = { value: () => unknown }

function makeStub(stub: Stub): (input: unknown) => Given | undefined {
  let before = 0
  if (typeof stub === 'function') return input => ({ value: () => stub(input, before++) })
  const answers = [stub].flat() as StubAnswer[] // It is no function.
  const used = new Map<StubAnswer, number>()
  return input => {
    const found = answers.find(
      answer =>
        (answer.when === undefined || matches(answer.when, input)) &&
        (used.get(answer) ?? 0) < (answer.times ?? Number.POSITIVE_INFINITY),
    )
    if (!found) return undefined
    used.set(found, (used.get(found) ?? 0) + 1)
    return { value: () => answerWith(found) }
  }
}

async function answerWith({ returns, throws, afterMs }: StubAnswer): Promise<unknown> {
  if (afterMs !== undefined) await sleep(afterMs)
  if (throws !== undefined) throw new Error(throws)
  return returns
}
