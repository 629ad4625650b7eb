// What tools are made with. Each way of carrying out a call has its own file.
export {
  grammar,
  type InputOf,
  type InputSchema,
  type TextInput,
  type ToolDefinition,
  text,
  tool,
} from './function.ts'
export { hostedApprovalTool } from './hosted-approval.ts'
export { type McpConnection, type McpOptions, type McpServerSpec, mcpServer } from './mcp/index.ts'
