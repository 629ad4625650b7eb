// The gate of an agent, with the rules that apply to it in order: its own, those of the file, those of the configuration. When the file
// changes, the gates of all agents get its new rules together.
import type { Gate } from '../engine/ports/index.ts'
import { wordsOf } from '../language/errors.ts'
import type { Log } from '../log.ts'
import { createGate, type PolicyRule, type RulesInForce } from '../policy/index.ts'
import type { AgentConfig, TurnwireConfig } from './config.ts'
import { agentFlow } from './flow.ts'
import { type FileRules, RulesFile } from './rules-file.ts'

/** Throws `config_invalid` if it cannot be used. */
export function openRulesFile({ policy }: TurnwireConfig, log: Log): RulesFile | undefined {
  return policy?.file === undefined ? undefined : new RulesFile(policy.file, log)
}

/** `shadow`: the draft takes the place of all rules but the agent's own. */
function effectiveRules(
  { rules: own = [] }: Pick<AgentConfig, 'rules'>,
  { rules = [], shadow }: { rules?: readonly PolicyRule[]; shadow?: readonly PolicyRule[] },
  file: FileRules = { rules: [] },
): RulesInForce {
  const draft = file.shadow ?? shadow
  const isOwn = own.map(() => 'agent' as const)
  return {
    rules: [...own, ...file.rules, ...rules],
    from: [...isOwn, ...file.rules.map(() => 'file' as const)],
    ...(draft && { shadow: { rules: [...own, ...draft], from: isOwn } }),
  }
}

export function agentGate(
  agent: AgentConfig,
  config: TurnwireConfig,
  log: Log,
  file: RulesFile | undefined,
): Gate {
  const { file: _file, ...policy } = config.policy ?? {}
  const given = effectiveRules(agent, policy, file?.rules)
  const tell = (message: string, rule: string, error: unknown): void =>
    log('error', message, { agent: agent.name, rule, error: wordsOf(error) })
  const gate = createGate(
    {
      ...policy,
      rules: given.rules,
      ...(given.shadow && { shadow: given.shadow.rules }),
      onRuleFailure: (rule, error) => {
        tell('A policy rule failed; the call was denied.', rule, error)
        policy.onRuleFailure?.(rule, error)
      },
      onShadowFailure: (rule, error) => {
        tell('A shadow rule failed; it counts as a denial.', rule, error)
        policy.onShadowFailure?.(rule, error)
      },
    },
    agentFlow(agent, config),
    given.from,
  )
  file?.onChange(next => gate.prepareRules(effectiveRules(agent, policy, next)))
  return gate
}
