// What a chat says about a tool before it is called: the word of the rules, or the trust that the person and the operator have set.
import { operatorTrust } from '../../language/calls.ts'
import type { ForeseenVerdict, VerdictWord } from '../../language/policy.ts'

export const verdictShown: Readonly<Record<VerdictWord, string>> = {
  allow: 'runs by itself',
  ask: 'asks first',
  deny: 'is denied',
}

/** `isCertain` false: a rule with a condition may decide otherwise. `foreseen` undefined: a server does not say what its rules are. */
export function toolVerdict(
  foreseen: ForeseenVerdict | undefined,
  isTrusted: boolean,
): { verdict: VerdictWord; isCertain: boolean } {
  const byTrust = isTrusted ? 'allow' : 'ask'
  if (!foreseen) return { verdict: byTrust, isCertain: true }
  const isByTrust = foreseen.rule === operatorTrust && foreseen.verdict !== 'deny'
  return { verdict: isByTrust ? byTrust : foreseen.verdict, isCertain: foreseen.unless === undefined }
}
