// Agents and models as plain data, for readers outside the engine.

import type { ForeseenVerdict } from '../../language/policy.ts'
import { maskedSecret } from '../../language/seals.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import type { AgentInfo, ModelInfo } from '../ports/boundary.ts'
import type { Agent, AgentOption, Model, Tool } from '../ports/index.ts'

/** Declarations of tools never change, so they are given as they are: copying thousands of schemas would delay the start. */
export function describeAgent(agent: Agent, modelName?: string): AgentInfo {
  const own = modelInfo(agent.model({ tools: null, options: {}, clientTools: [] }))
  const { title, description, system, maxTokens } = agent
  return {
    name: agent.name,
    version: agent.version,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...(system !== undefined && { system }),
    ...(maxTokens !== undefined && { maxTokens }),
    choice: agent.choice,
    parallel: agent.parallel,
    clientTools: agent.clientTools,
    ...(agent.agentGrants && { agentGrants: true }),
    fullHistory: agent.fullHistory,
    images: { ...agent.images },
    options: agent.options.map(describeOption),
    ...describePolicy(agent),
    tools: agent.tools.map(tool => ({
      ...pickDeclaration(tool),
      ...foresee(agent, tool),
      exposed: tool.exposed,
      trust: tool.trust,
      ...(tool.changed !== undefined && { changed: tool.changed }),
      ...(tool.accepted && { accepted: tool.accepted }),
      ...(tool.resumable && { resumable: true as const }),
      ...(tool.reconcile && { canReconcile: true as const }),
      ...(tool.undo && { canUndo: true as const }),
      ...(tool.folder !== undefined && { folder: tool.folder }),
      ...(tool.unavailable !== undefined && {
        description: `${tool.description}\n[unavailable: ${tool.unavailable}]`,
      }),
    })),
    model: modelName === undefined ? own : { ...own, name: modelName },
  }
}

function describePolicy({ gate }: Agent): Pick<AgentInfo, 'policy'> {
  const policy = gate.rules?.()
  return policy ? { policy } : {}
}

/** For a session of any owner, without settings and grants of its own. */
function foresee({ name, gate }: Agent, tool: Tool): { verdict?: ForeseenVerdict } {
  const { trust, changed } = tool
  const about = { session: '', owner: '', agent: name, tool, trust, grants: [], now: 0 }
  const verdict = gate.foresee?.({ ...about, ...(changed !== undefined && { changed }) })
  return verdict ? { verdict } : {}
}

/** The default of a secret is a secret of the operator: nobody outside the engine is given it. */
function describeOption(option: AgentOption): AgentOption {
  const copy = structuredClone(option)
  return copy.type === 'secret' && copy.default !== '' ? { ...copy, default: maskedSecret } : copy
}

/** A copy of a tool's declaration without the members that only the engine needs. */
export function pickDeclaration(tool: ToolDeclaration): ToolDeclaration {
  const { name, title, description, input, output, kind, readOnly, idempotent, destructive, side } = tool
  const { callers, examples, fields, deferred, finds, server } = tool
  return {
    name,
    description,
    input,
    kind,
    readOnly,
    idempotent,
    destructive,
    side,
    ...(title !== undefined && { title }),
    ...(output && { output }),
    ...(callers && { callers }),
    ...(examples && { examples }),
    ...(fields && { fields }),
    ...(deferred && { deferred }),
    ...(finds && { finds }),
    ...(server !== undefined && { server }),
  }
}

export function modelInfo({ id, origin, contextTokens }: Model): ModelInfo {
  return { id, ...(origin && { origin }), ...(contextTokens !== undefined && { contextTokens }) }
}
