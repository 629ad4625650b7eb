// Makes the tools that the engine itself offers in a session. They pass the gate like any other tool, so rules of the policy apply to
// their names. Unless a rule says otherwise they run unasked.
import type { Tool } from '../ports/index.ts'

type EngineTool = Pick<Tool, 'name' | 'description' | 'input' | 'kind' | 'readOnly' | 'run'> & Partial<Tool>

export function engineTool(given: EngineTool): Tool {
  return {
    idempotent: true,
    destructive: false,
    side: 'server',
    exposed: false,
    trust: 'trusted',
    timeoutMs: 60_000,
    retries: 0,
    outputLimit: 64 * 1024,
    ...given,
  }
}
