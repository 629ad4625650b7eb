// The plan that the model keeps and the client shows: a tool whose run does nothing. The plan is shown from the log, like
// everything else, so every client of the session sees it.
import type { PlanEntry } from '@agentclientprotocol/sdk'
import type { Tool } from '../../engine/index.ts'
import { isJsonObject, type Json } from '../../lib/json/index.ts'

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
  try {
    const { entries } = JSON.parse(text) as { entries: unknown } // Checked below.
    return Array.isArray(entries) ? entries.map(decodeEntry) : undefined
  } catch {
    return undefined
  }
}

function decodeEntry(entry: Json): PlanEntry {
  const { content, ...given } = isJsonObject(entry) ? entry : {}
  const status = statuses.find(each => each === given['status'])
  if (typeof content !== 'string' || !status) throw new Error('This is no entry of a plan.')
  return { content, priority: priorities.find(each => each === given['priority']) ?? 'medium', status }
}
