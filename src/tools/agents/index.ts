// Other agents as tools.
export { type AgentToolOptions, agentTool, type HandOverOptions, handOverTool } from './agents.ts'
