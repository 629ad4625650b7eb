// Programs that a vendor runs on its own side and that call our tools: Anthropic's code execution and OpenAI's programmatic
// tool calling. A tool says in `callers` whether programs may call it; the gate checks that for each call.
import type { JsonObject } from '../../lib/json/index.ts'

/** Whether a declaration of a vendor's own tool lets its programs call ours. */
export function runsPrograms({ type }: JsonObject): boolean {
  if (type === 'programmatic_tool_calling') return true
  return typeof type === 'string' && /^code_execution_(?!20250522)\d+$/.test(type)
}
