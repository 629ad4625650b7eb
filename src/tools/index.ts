// The ways to make tools: from a function of this process, from an HTTP API, from the tools of an MCP server, and the ones
// that come along: files of a folder, commands in a sandbox, a browser.
export { type AgentToolOptions, agentTool, type HandOverOptions, handOverTool } from './agents/index.ts'
export { type BrowserOptions, browser } from './browser/index.ts'
export {
  type CodeLimits,
  type CodeOptions,
  checkCodeLimits,
  codeTool,
  defaultCodeName,
} from './code/index.ts'
export { type WorkspaceOptions, type WorkspaceTool, workspace } from './files/index.ts'
export type { Reconciled } from './functions/afterwards.ts'
export { hostedApprovalTool } from './functions/hosted-approval.ts'
export { later, withDetails } from './functions/later.ts'
export { planTool } from './functions/plan-actions.ts'
export type { Retries } from './functions/retries.ts'
export { type ToolDefinition, type ToolOutputOf, tool } from './functions/tool.ts'
export {
  type CallSecret,
  type HttpAuth,
  type HttpToolDefinition,
  http,
  type OpenApiOptions,
  openapi,
} from './http/index.ts'
export { type McpConnection, type McpOptions, type McpServerSpec, mcpServer } from './mcp/index.ts'
export {
  type OwnPrompt,
  type OwnResource,
  type PromptDefinition,
  prompt,
  type ResourceDefinition,
  resource,
} from './resources/index.ts'
export { type ShellLimits, type ShellOptions, shell } from './shell/index.ts'
