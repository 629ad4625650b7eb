// Evaluations for programs: define them, run them, or register each play as a test of node:test, vitest or another runner.
import { AssertionError } from 'node:assert'
import type { TurnwireConfig } from '../config/config.ts'
import { titlePlay } from './describe-evals.ts'
import { checkEvals, type Evals } from './evals.ts'
import { playCase } from './play.ts'
import { listPlays } from './run-evals.ts'

export {
  defineEvals,
  type EvalCase,
  type EvalPerson,
  type Evals,
  type Expected,
  type ExpectedCall,
  type Judge,
} from './evals.ts'
export { caseFromLog } from './from-session.ts'
export { type EvalReport, runEvals } from './run-evals.ts'
export type { Stub, StubAnswer, Stubs } from './stubs.ts'

/** One test for each play. `test`: of your runner. There is no pass mark here: each has to pass. */
export function evalTests(
  evals: Evals & { config: TurnwireConfig },
  test: (name: string, run: () => Promise<void>) => unknown,
): void {
  const { config } = evals
  for (const { given, variant } of listPlays(checkEvals(evals, 'evals'))) {
    void test(titlePlay({ name: given.name, variant }), async () => {
      const { failures } = await playCase(config, evals, given, variant)
      if (failures.length > 0) throw new AssertionError({ message: failures.join('\n') })
    })
  }
}
