// Makes the engine's agents from a configuration.

import type { Agent, Model } from '../engine/ports.ts'
import { TurnwireError, wordsOf } from '../language/errors.ts'
import { checkLimits, createGate } from '../policy/index.ts'
import { hostedApprovalTool } from '../tools/index.ts'
import type { AgentConfig, TurnwireConfig } from './config.ts'
import type { Log } from './log.ts'

export function buildAgents(config: TurnwireConfig, log: Log): Agent[] {
  return config.agents.map(agent => buildAgent(agent, config, log))
}

function buildAgent(agent: AgentConfig, config: TurnwireConfig, log: Log): Agent {
  const { policy = {} } = config
  const own = typeof agent.model === 'string' ? modelNamed(config, agent.model) : agent.model
  const mayAsk = [own, ...Object.values(config.models ?? {})].some(model => model.asksApproval)
  return {
    name: agent.name,
    version: agent.version ?? '1.0.0',
    ...(agent.title !== undefined && { title: agent.title }),
    ...(agent.description !== undefined && { description: agent.description }),
    ...(agent.system !== undefined && { system: agent.system }),
    ...(agent.maxTokens !== undefined && { maxTokens: agent.maxTokens }),
    ...(agent.compaction && { compaction: agent.compaction }),
    tools: [...(agent.tools ?? []), ...(mayAsk ? [hostedApprovalTool()] : [])],
    options: agent.options ?? [],
    gate: createGate({
      ...policy,
      rules: [...(agent.rules ?? []), ...(policy.rules ?? [])],
      onRuleFailure: (rule, error) => {
        log('error', 'A policy rule failed; the call was denied.', {
          agent: agent.name,
          rule,
          error: wordsOf(error),
        })
        policy.onRuleFailure?.(rule, error)
      },
    }),
    limits: checkLimits({ ...config.limits, ...agent.limits }),
    choice: agent.choice ?? 'auto',
    parallel: agent.parallel ?? true,
    clientTools: agent.clientTools ?? true,
    fullHistory: (policy.redact ?? []).length === 0,
    images: { http: agent.images?.http ?? true, data: agent.images?.data ?? true },
    model: settings => (settings.model === undefined ? own : modelNamed(config, settings.model)),
  }
}

function modelNamed(config: TurnwireConfig, name: string): Model {
  const model = config.models && Object.hasOwn(config.models, name) ? config.models[name] : undefined
  if (!model) throw new TurnwireError('unknown_model', `There is no model named "${name}".`)
  return model
}
