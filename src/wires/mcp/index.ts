// The agent's tools, and the agent itself, for MCP clients.
export { mcpRoutes } from './serve.ts'
export { type McpCaller, type McpServing, mcpServerFor } from './server.ts'
