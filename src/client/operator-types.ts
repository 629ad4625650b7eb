// The operator API as a client sees it: types of the data on the wire, as docs/protocols/operator.md has them.
import type { Event, Grant, LimitName, Settings, TurnStop } from '../language/events.ts'
import type { ToolDeclaration } from '../language/tools.ts'
import type { Json, JsonObject } from '../lib/json.ts'

export type Me = { name: string; owner: string; operator: boolean; open: boolean; version: string }

export type SessionStatus = 'idle' | 'running' | 'waiting'

export type SessionRow = {
  id: string
  owner: string
  agent: string
  model?: string
  wire?: string
  status: SessionStatus
  opening?: string
  createdAt: number
  updatedAt: number
  events?: number
  bytes?: number
  tokens?: number
  cost?: number
  waits?: string[]
  /** Its turn is not continued after a start. */
  leftAlone?: true
  forkedFrom?: { session: string; seq: number }
}

export type SessionFilter = {
  status?: SessionStatus
  agent?: string
  owner?: string
  model?: string
  q?: string
}
export type SessionPage = { sessions: SessionRow[]; next?: string }

export type OperatorTool = ToolDeclaration & {
  trust: 'trusted' | 'ask' | 'deny'
  exposed: boolean
  /** The MCP server that it comes from. */
  server?: string
  changed?: string
  unavailable?: string
}
export type OperatorAgent = {
  name: string
  title?: string
  version?: string
  description?: string
  system?: string
  tools: OperatorTool[]
  options?: { name: string; title?: string; description?: string; type: string; default: string }[]
  model?: { name?: string; id: string; contextTokens?: number }
  clientTools?: boolean
}
export type OperatorServer = {
  name: string
  state?: string
  healthy?: boolean
  error?: string
  version?: string
  protocol?: string
  tools?: number
  [more: string]: Json | undefined
}
export type Catalogue = {
  agents: OperatorAgent[]
  models: Record<string, { id: string; contextTokens?: number }>
  servers: OperatorServer[]
}

export type SessionCall = {
  part: { id: string; name: string; form: 'json' | 'text'; text: string }
  stage: string
  text: string
  argsHash?: string
  toolHash?: string
  rule?: string
  reason?: string
  expiresAt?: number
}
export type SessionDetail = SessionRow & {
  settings: Settings
  calls: SessionCall[]
  grants: Grant[]
  next: { do: string; calls?: string[] }
  lastStop?: { stop: TurnStop; limit?: LimitName; error?: { code: string; message: string } }
  controlledBy?: string
  used?: { tokens: number; cost?: number }
  seq: number
}

export type LogPage = { events: { seq: number; event: Event }[]; end: boolean }

export const vendorProtocols = [
  'anthropic',
  'openai-responses',
  'openai-chat',
  'gemini',
  'gemini-interactions',
] as const
export type VendorProtocol = (typeof vendorProtocols)[number]
export type VendorRequest = {
  protocol: VendorProtocol
  body: Json
  warnings: string[]
  findings: { rule: string; message: string; why: string }[]
}

export type PendingApproval = {
  session: string
  owner: string
  agent: string
  opening?: string
  callId: string
  tool: Partial<OperatorTool> & { name: string }
  form?: 'json' | 'text'
  text: string
  argsHash?: string
  toolHash?: string
  rule?: string
  reason?: string
  expiresAt?: number
  expired?: boolean
  askedAt?: number
  last?: { text: string; at: number; session?: string }
}

export type OperatorCommand =
  | { do: 'say'; text: string; model?: string }
  | {
      do: 'decide'
      callId: string
      granted: boolean
      reason?: string
      edit?: JsonObject | string
      seen?: string
      remember?: true
    }
  | { do: 'result'; callId: string; text: string; failed?: boolean }
  | { do: 'call'; tool: string; input: JsonObject }
  | { do: 'configure'; model?: string; tools?: { name: string; trust: boolean }[] }
  | { do: 'grant'; tool: string; toolHash: string; argsHash?: string; expiresAt?: number; uses?: number }
  | { do: 'revoke'; grantId: string }
  | { do: 'cancel' }
  | { do: 'compact' }
  | { do: 'take-control'; force?: boolean }
  | { do: 'perform' }
  | { do: 'answer-model'; text: string; calls?: { tool: string; input: JsonObject }[] }
  | { do: 'answer-call'; callId: string; text: string }
  | { do: 'replace-arguments'; callId: string; input: JsonObject }
  | { do: 'release-control' }
export type CommandAnswer = { first: number; count: number; turn?: string; grant?: string }

export type NewOperatorSession = {
  agent: string
  model?: string
  owner?: string
  tools?: { name: string; description: string; parameters: JsonObject }[]
}
export type ForkRequest = { upTo?: number; agent?: string; model?: string; text?: string }

export type ModelHealth = {
  name: string
  id: string
  requests: number
  failures: number
  lastError?: string
  lastErrorAt?: number
  medianMs?: number
  tokens?: number
}
export type SystemInfo = {
  version: string
  node: string
  startedAt: number
  memory: number
  store: { ok: boolean; error?: string; [more: string]: Json | undefined }
  models: ModelHealth[]
}
export type KeyInfo = { name: string; operator: boolean; fixed: boolean }
