// The result of the turn that a payment pays for: whether it has begun to answer, and at its stop the tokens it used.
// It is read from the session's log, so that every process gets the same result at any time.
import type { Engine, OnceAnswer } from '../engine/index.ts'
import type { Delta } from '../language/events.ts'
import { type ShownAnswer, ShownFold, turnFailure } from '../language/show.ts'
import { estimateTokens, type TokensUsed } from './amounts.ts'

export type Work = { owner: string; session: string; first: number }

/**
 * `answer`: of a request without a session. `gone`: its session was deleted, or cannot be followed from here. `usage`: of what
 * was answered before that.
 */
export type TurnResult =
  | { result: 'begun' }
  | { result: 'answered'; usage: TokensUsed; answer?: OnceAnswer }
  | { result: 'failed'; reason: string }
  | { result: 'gone'; reason: string; usage?: TokensUsed }

/** `untilBegun`: says so as soon as the model has said something, and does not wait for the rest. */
export async function watchTurn(
  engine: Engine,
  { owner, session, first }: Work,
  untilBegun: boolean,
): Promise<TurnResult> {
  const answers: ShownAnswer[] = []
  const fold = new ShownFold()
  let cut: TokensUsed | undefined
  const items = engine.follow(
    { owner, session },
    { from: first, until: 'stop', replay: true, deltas: untilBegun ? 'raw' : 'none' },
  )
  for await (const batch of items)
    for (const item of batch) {
      if (item.type === 'lost') {
        const gone = { result: 'gone', reason: item.error.code } as const
        return answers.length > 0 ? { ...gone, usage: usedBy(answers) } : gone
      }
      const shown = item.type === 'event' ? fold.take(item.event) : undefined
      if (shown?.type === 'answer') answers.push(shown.answer)
      else if (shown?.type === 'end') {
        const failure = turnFailure(shown.end)
        if (failure) return { result: 'failed', reason: failure.code }
        cut = shown.end.cut
      }
      if (untilBegun && ((item.type === 'delta' && isSaid(item.delta)) || answers.length > 0))
        return { result: 'begun' }
    }
  if (!cut) return { result: 'answered', usage: await readTurnUsage(engine, { owner, session }, answers) }
  // The words of the step that was cut are an answer too. All that it gave is counted with the end of the turn. A step that a
  // message interrupted has its own usage.
  const whole = answers.filter(({ stop, usage }) => stop !== 'cancelled' || usage)
  const { input, output } = await readTurnUsage(engine, { owner, session }, whole)
  return { result: 'answered', usage: { input: input + cut.input, output: output + cut.output } }
}

export function isSaid({ type }: Delta): boolean {
  return /^(?:text|thinking|call\.opened|arguments)$/.test(type)
}

/** A step whose vendor did not say what it used, such as one that was cut off, is estimated. */
async function readTurnUsage(
  engine: Engine,
  ref: { owner: string; session: string },
  answers: readonly ShownAnswer[],
): Promise<TokensUsed> {
  const isUnknown = answers.some(({ usage }) => usage?.input === undefined)
  return usedBy(answers, isUnknown ? await estimateInput(engine, ref) : 0)
}

/** `input`: of each step whose vendor did not say. */
function usedBy(answers: readonly ShownAnswer[], input = 0): TokensUsed {
  const used = { input: 0, output: 0 }
  for (const { usage, parts } of answers) {
    used.input += usage?.input ?? input
    used.output += usage?.output ?? estimateTokens(parts)
  }
  return used
}

async function estimateInput(engine: Engine, ref: { owner: string; session: string }): Promise<number> {
  const { entries } = await engine.history(ref, { get: 'view' })
  return estimateTokens(entries.filter(({ role }) => role !== 'assistant'))
}
