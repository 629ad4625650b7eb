// Servers that bring tools (MCP), as plain data: how each one is, and what it offers beside tools. Resources are texts and files
// that a person attaches to a message. Prompts are messages that a person starts by name.
import type { InputPart } from './content.ts'

export type ToolServerInfo = {
  name: string
  /** `sse`: the transport of 2024-11-05. */
  transport: 'stdio' | 'http' | 'sse'
  /** `login`: someone must log in first, with `turnwire mcp login`. `owners`: each owner connects an account of its own. */
  state: 'connected' | 'connecting' | 'unavailable' | 'login' | 'owners'
  /** How many owners have used it here since the start, where each has an account of its own. */
  owners?: number
  /** Why it is not connected. */
  problem?: string
  /** The revision of the protocol that was agreed on. */
  protocolVersion?: string
  /** The name and version that the server reports. */
  software?: { name: string; version: string }
  /** Since when it is connected. */
  since?: number
  /** How many tools it has now, and how many of them changed since they were accepted. */
  tools: number
  changedTools: number
  resources: boolean
  prompts: boolean
  /** The agents that have its tools. */
  agents: string[]
}

/** An account of an owner at a server. `since`: when it was connected first. */
export type ServerConnection = { server: string; since: number }

/** Used in place of a server's name for resources and prompts of the agent's own configuration. */
export const ownServer = 'own'

export type ServerResource = {
  server: string
  /** With `template`: a pattern (RFC 6570) that is filled in before it is read. */
  uri: string
  template?: true
  name: string
  title?: string
  description?: string
  mediaType?: string
  size?: number
}

export type ServerPrompt = {
  server: string
  name: string
  title?: string
  description?: string
  /** `values`: what may be suggested to a person. */
  arguments: { name: string; description?: string; required?: boolean; values?: string[] }[]
}

export type PromptMessage = { role: 'user' | 'assistant'; parts: InputPart[] }
