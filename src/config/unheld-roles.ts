// Finds rules and budgets that ask people with a role that no key has. Such a call waits until it expires, and nobody can allow
// it. Where roles come from elsewhere (tokens, a sign-in, the application), which roles there are is not known.
import type { KeyEntry } from '../callers/keys.ts'
import type { Budgets } from '../engine/index.ts'
import type { PolicyRule, RuleApprovers } from '../policy/index.ts'
import type { TurnwireConfig } from './config.ts'

/** `rule`: the setting. */
export function unheldRoles(
  { agents, policy, budgets }: Pick<TurnwireConfig, 'agents' | 'policy' | 'budgets'>,
  keys: readonly Pick<KeyEntry, 'roles'>[],
): { rule: string; role: string }[] {
  const held = new Set(keys.flatMap(({ roles = [] }) => roles))
  const unheld = (approvers: RuleApprovers | undefined, rule: string) => {
    const roles = [approvers?.roles ?? []].flat()
    // One of several is enough. Those who are named need no role.
    const isHeld = roles.some(role => held.has(role)) || approvers?.names !== undefined
    return isHeld ? [] : roles.map(role => ({ rule, role }))
  }
  const inRules = (rules: readonly PolicyRule[] = [], setting: string) =>
    rules.flatMap(({ approvers }, index) => unheld(approvers, `${setting}[${index}]`))
  const inBudgets = (given: Budgets = {}, setting: string) =>
    Object.entries(given).flatMap(([name, { approvers }]) => unheld(approvers, `${setting}.${name}`))
  return [
    ...agents.flatMap((agent, index) => [
      ...inRules(agent.rules, `agents[${index}].rules`),
      ...inBudgets(agent.budgets, `agents[${index}].budgets`),
    ]),
    ...inRules(policy?.rules, 'policy.rules'),
    ...inBudgets(budgets, 'budgets'),
  ]
}
