// What the two protocols of OpenAI's APIs share: how a function is declared, and which error codes no wait can mend.

import type { ToolDeclaration } from '../../language/tools.ts'
import type { JsonObject } from '../../lib/json.ts'
import { openaiLoose, openaiStrict } from './schema-dialect.ts'
import { functionSchema, strictSchema } from './tool-declarations.ts'
import type { Warn } from './warnings.ts'

/** Strict where the schema can honour it. Undefined when the tool cannot be offered. */
export function openaiFunction(
  tool: ToolDeclaration,
  takesStrict: boolean,
  warn: Warn,
): { parameters: JsonObject; strict: boolean } | undefined {
  const exact = takesStrict ? strictSchema(tool, openaiStrict, warn) : undefined
  if (exact !== undefined) return { parameters: exact, strict: true }
  const parameters = functionSchema(tool, openaiLoose, warn)
  return parameters && { parameters, strict: false }
}

/** Answered with 429 as well, but no later attempt succeeds. */
export const quotaCodes: ReadonlySet<string> = new Set([
  'insufficient_quota',
  'billing_hard_limit_reached',
  'billing_not_active',
])
