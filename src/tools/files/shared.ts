// The settings and helpers that all tools of one workspace folder use.
import type { Report } from '../../language/report.ts'
import type { JsonObject } from '../../lib/json/index.ts'
import type { ToolDefinition } from '../functions/tool.ts'
import type { Workspace } from './changes.ts'

export type Shared = Workspace & {
  prefix: string
  ignored: ReadonlySet<string>
  reading: Pick<ToolDefinition, 'readOnly' | 'trust' | 'flow'>
  changing: Pick<ToolDefinition, 'trust' | 'flow'>
}

export const pathSchema = {
  type: 'string',
  minLength: 1,
  description: 'Relative to the root of the workspace.',
}

export function objectSchema(properties: JsonObject, required: string[]): JsonObject {
  return { type: 'object', properties, required, additionalProperties: false }
}

export function done(text: string, report: Report) {
  return { parts: [{ type: 'text' as const, text }], report }
}
