// Finds rules that ask people with a role that no key has. Such a call waits until it expires, and nobody can allow it. Where roles come from
// elsewhere (tokens, a sign-in, the application), which roles there are is not known.
import type { KeyEntry } from '../callers/keys.ts'
import type { PolicyRule } from '../policy/index.ts'
import type { TurnwireConfig } from './config.ts'

/** `rule`: the setting. */
export function unheldRoles(
  { agents, policy }: Pick<TurnwireConfig, 'agents' | 'policy'>,
  keys: readonly Pick<KeyEntry, 'roles'>[],
): { rule: string; role: string }[] {
  const held = new Set(keys.flatMap(({ roles = [] }) => roles))
  const find = (rules: readonly PolicyRule[] = [], setting: string) =>
    rules.flatMap(({ approvers }, index) => {
      const roles = [approvers?.roles ?? []].flat()
      // One of several is enough. Those who are named need no role.
      const isHeld = roles.some(role => held.has(role)) || approvers?.names !== undefined
      return isHeld ? [] : roles.map(role => ({ rule: `${setting}[${index}]`, role }))
    })
  return [
    ...agents.flatMap(({ rules }, index) => find(rules, `agents[${index}].rules`)),
    ...find(policy?.rules, 'policy.rules'),
  ]
}
