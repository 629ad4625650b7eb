// What an engine says of its agents and models. Plain data: it crosses the boundary.
import type { Origin } from '../../language/content.ts'
import type { ForeseenVerdict, ShownPolicy } from '../../language/policy.ts'
import type { ToolServerInfo } from '../../language/servers.ts'
import type { ToolChoice, ToolDeclaration } from '../../language/tools.ts'
import type { AgentOption, Tool } from './index.ts'
import type { AfterCalls } from './session-doubts.ts'

export type EngineDescription = {
  agents: AgentInfo[]
  /** By name. A name with `*` is a pattern: see language/model-names.ts. */
  models: Record<string, ModelInfo>
  /** Absent: none is configured. */
  servers?: ToolServerInfo[]
}

export type ModelInfo = { id: string; origin?: Origin; contextTokens?: number }

/** An agent as its clients may know it. */
export type AgentInfo = {
  name: string
  title?: string
  version: string
  description?: string
  system?: string
  /**
   * `changed`: how its definition differs from the one that was allowed, in words; `accepted`: that one. `resumable`: it makes
   * calls of its own. `folder`: where relative paths of its input lead. `verdict`: what the gate says of a call of it, as far as
   * that is known before.
   */
  tools: (ToolDeclaration &
    Pick<Tool, 'exposed' | 'trust' | 'changed' | 'accepted' | 'resumable' | 'folder'> &
    AfterCalls & {
      verdict?: ForeseenVerdict
    })[]
  /** The rules of its gate. Absent: it has none. */
  policy?: ShownPolicy
  options: AgentOption[]
  choice: ToolChoice
  parallel: boolean
  maxTokens?: number
  /** False: clients may not bring tools of their own. */
  clientTools: boolean
  /** Clients may remember a permission for all sessions of the agent. */
  agentGrants?: true
  /** False: results in the history may have been redacted, so the whole ones are not given out. */
  fullHistory: boolean
  images: { http: boolean; data: boolean }
  /** The model it uses unless the settings name another. */
  model: ModelInfo & { name?: string }
}
