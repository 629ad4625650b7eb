// How the turn that a payment pays for came out: whether it has begun to answer, and at its stop what it used. Read from the
// session's log, so that it is the same for whoever asks, at any time.
import type { Engine, FollowItem, OnceAnswer } from '../engine/index.ts'
import type { Delta, ModelAnswered, TurnEnded } from '../language/events.ts'
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
  const answers: ModelAnswered[] = []
  let cut: TurnEnded['cut']
  const items = engine.follow(
    { owner, session },
    { from: first, until: 'stop', replay: true, deltas: untilBegun ? 'raw' : 'none' },
  )
  for await (const batch of items)
    for (const item of batch) {
      const over = resultOf(item)
      if (over?.result === 'gone' && answers.length > 0) return { ...over, usage: usedBy(answers) }
      if (over) return over
      if (item.type === 'event' && item.event.type === 'model.answered') answers.push(item.event)
      if (item.type === 'event' && item.event.type === 'turn.ended') cut = item.event.cut
      if (untilBegun && ((item.type === 'delta' && isSaid(item.delta)) || answers.length > 0))
        return { result: 'begun' }
    }
  if (!cut) return { result: 'answered', usage: await usageOf(engine, { owner, session }, answers) }
  // The words of the step that was cut are an answer too. All that it gave is counted with the end of the turn.
  const whole = answers.filter(({ stop }) => stop !== 'cancelled')
  const { input, output } = await usageOf(engine, { owner, session }, whole)
  return { result: 'answered', usage: { input: input + cut.input, output: output + cut.output } }
}

function resultOf(item: FollowItem): TurnResult | undefined {
  if (item.type === 'lost') return { result: 'gone', reason: item.error.code }
  if (item.type !== 'event' || item.event.type !== 'turn.ended') return undefined
  const { stop, error } = item.event
  return stop === 'error' ? { result: 'failed', reason: error?.code ?? 'internal' } : undefined
}

export function isSaid({ type }: Delta): boolean {
  return /^(?:text|thinking|call\.opened|arguments)$/.test(type)
}

/** A step whose vendor did not say what it used, such as one that was cut off, is estimated. */
async function usageOf(
  engine: Engine,
  ref: { owner: string; session: string },
  answers: readonly ModelAnswered[],
): Promise<TokensUsed> {
  const isUnknown = answers.some(({ usage }) => usage?.input === undefined)
  return usedBy(answers, isUnknown ? await estimateInput(engine, ref) : 0)
}

/** `input`: of each step whose vendor did not say. */
function usedBy(answers: readonly ModelAnswered[], input = 0): TokensUsed {
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
