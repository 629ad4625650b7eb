// Plays all cases with all models and policies, as often as they say, and adds up.
import type { TurnwireConfig } from '../config/config.ts'
import type { EvalCase, Evals } from './evals.ts'
import { type Played, playCase, type Variant } from './play.ts'

export type EvalReport = {
  plays: Played[]
  passed: number
  /** The share that has to pass. */
  passMark: number
  ok: boolean
  tokens: number
  /** Absent: no price is known. */
  cost?: number
}

/** `told` is called after each play. */
export async function runEvals(
  evals: Evals,
  config: TurnwireConfig,
  told: (done: number, total: number) => void = () => {},
): Promise<EvalReport> {
  const work = listPlays(evals)
  const plays: Played[] = []
  for (const { given, variant } of work) {
    plays.push(await playCase(config, evals, given, variant))
    told(plays.length, work.length)
  }
  return addPlays(plays, evals.passMark ?? 1)
}

export function listPlays(evals: Evals): { given: EvalCase; variant: Variant }[] {
  const { cases, models, policies, repeat = 1 } = evals
  const names: (string | undefined)[] = models ? [...models] : [undefined]
  const rules: Variant[] = policies
    ? Object.entries(policies).map(([policy, each]) => ({ policy, rules: each }))
    : [{}]
  return cases.flatMap(given =>
    names.flatMap(model =>
      rules.flatMap(policy => {
        const variant: Variant = { ...policy, ...(model !== undefined && { model }) }
        return Array.from({ length: repeat }, () => ({ given, variant }))
      }),
    ),
  )
}

export function addPlays(plays: Played[], passMark: number): EvalReport {
  const passed = plays.filter(({ failures }) => failures.length === 0).length
  const costs = plays.flatMap(({ cost }) => (cost === undefined ? [] : [cost]))
  return {
    plays,
    passed,
    passMark,
    ok: passed >= passMark * plays.length,
    tokens: plays.reduce((sum, { tokens }) => sum + tokens, 0),
    ...(costs.length > 0 && { cost: costs.reduce((sum, cost) => sum + cost, 0) }),
  }
}
