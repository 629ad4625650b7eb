// Compares what the suite found with what is expected to fail, both ways: a failure that is not listed, and a listed one that
// passes by now.
import type { Revision, Role, ScenarioResult } from './suite.ts'

/** `only`: the checks that fail; the other checks of the scenarios pass. Absent: the scenarios as a whole. */
export type ExpectedFailure = {
  role: Role
  /** Absent: all. */
  revision?: Revision
  scenarios: readonly string[]
  only?: readonly string[]
  why: string
}

/** One line for each difference. */
export function differences(
  role: Role,
  revision: Revision | undefined,
  results: readonly ScenarioResult[],
  expected: readonly ExpectedFailure[],
): string[] {
  const applies = expected.filter(
    each => each.role === role && (each.revision === undefined || each.revision === revision),
  )
  return results.flatMap(({ scenario, failed }) => {
    const listed = applies.filter(each => each.scenarios.includes(scenario))
    const whole = listed.some(each => each.only === undefined)
    const checks = new Set(listed.flatMap(each => each.only ?? []))
    const unexpected = whole ? [] : [...failed].filter(([id]) => !checks.has(id))
    const stale = [...checks].filter(id => !failed.has(id))
    return [
      ...unexpected.map(([id, words]) => `${scenario}: ${id} fails: ${words}`),
      ...stale.map(id => `${scenario}: ${id} passes, but is listed as failing`),
      ...(whole && failed.size === 0 ? [`${scenario} passes, but is listed as failing`] : []),
    ]
  })
}
