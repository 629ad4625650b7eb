// The plan that the model keeps and the client shows: a tool whose run does nothing. The plan is shown from the log, like
// everything else, so every client of the session sees it.
import type { PlanEntry } from '@agentclientprotocol/sdk'
import type { Tool } from '../../engine/index.ts'
import { isJsonObject, type Json } from '../../lib/json.ts'

export const planName = 'update_plan'

const priorities = ['high', 'medium', 'low'] as const
const statuses = ['pending', 'in_progress', 'completed'] as const

export const planTool: Tool = Object.freeze<Tool>({
  name: planName,
  title: 'Update the plan',
  description:
    'Shows the user your plan for work of several steps. Send the whole list each time: it replaces the one before. ' +
    'Mark one entry as in progress, and entries as completed once they are done.',
  input: {
    form: 'json',
    schema: {
      type: 'object',
      properties: {
        entries: {
          type: 'array',
          maxItems: 100,
          items: {
            type: 'object',
            properties: {
              content: { type: 'string', minLength: 1 },
              priority: { type: 'string', enum: [...priorities] },
              status: { type: 'string', enum: [...statuses] },
            },
            required: ['content', 'status'],
            additionalProperties: false,
          },
        },
      },
      required: ['entries'],
      additionalProperties: false,
    },
  },
  kind: 'think',
  readOnly: true,
  idempotent: true,
  destructive: false,
  side: 'server',
  exposed: false,
  trust: 'trusted',
  timeoutMs: 10_000,
  retries: 0,
  outputLimit: 1024,
  run: () => ({ parts: [{ type: 'text', text: 'The plan is shown.' }] }),
})

/** The arguments of a call of the tool; undefined if they are not a plan. */
export function decodePlan(text: string): PlanEntry[] | undefined {
  const entries = decodeEntries(text)
  if (!entries) return undefined
  const plan: PlanEntry[] = []
  for (const entry of entries) {
    if (!isJsonObject(entry) || typeof entry['content'] !== 'string') return undefined
    const status = statuses.find(each => each === entry['status'])
    if (!status) return undefined
    const priority = priorities.find(each => each === entry['priority']) ?? 'medium'
    plan.push({ content: entry['content'], priority, status })
  }
  return plan
}

function decodeEntries(text: string): Json[] | undefined {
  try {
    const input = JSON.parse(text) as Json // What JSON.parse gives is JSON.
    return isJsonObject(input) && Array.isArray(input['entries']) ? input['entries'] : undefined
  } catch {
    return undefined
  }
}
