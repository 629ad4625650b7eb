// Tools and the choice between them as Interactions takes them.

import type { ModelRequest } from '../../../engine/ports/index.ts'
import type { Json, JsonObject } from '../../../lib/json/index.ts'
import { geminiJson } from '../../common/schema-dialect.ts'
import type { BoundTool } from '../../common/vendor-typed.ts'
import type { Warn } from '../../common/warnings.ts'
import type { WireNames } from '../../common/wire-names.ts'
import { type GoogleChoice, googleChoice, googleTools, unboundTools } from '../google/tools.ts'

export { nameRule } from '../google/tools.ts'

export type Declarations = {
  tools: Json[]
  /** Undefined: the model chooses, which is the default. */
  choice: Json | undefined
}

/** `called`: the tools whose results are sent. The service refuses results when no tool is declared. */
export function declareTools(
  request: ModelRequest,
  hosted: readonly JsonObject[],
  names: WireNames,
  bound: readonly BoundTool[],
  called: Iterable<string>,
  warn: Warn,
): Declarations {
  const declared = googleTools(unboundTools(request, bound), names, geminiJson, warn)
  const tools: Json[] = declared.map(({ wire, description, schema }) => ({
    type: 'function',
    name: wire,
    description,
    ...(schema && { parameters: schema }),
  }))
  tools.push(...bound.map(each => each.declared), ...hosted)
  if (tools.length > 0) return { tools, choice: encodeChoice(googleChoice(request, declared, names, warn)) }
  for (const name of called) tools.push({ type: 'function', name, description: 'No longer available.' })
  return { tools, choice: tools.length > 0 ? 'none' : undefined }
}

function encodeChoice(choice: GoogleChoice | undefined): Json | undefined {
  if (choice?.only) return { allowed_tools: { mode: choice.mode, tools: choice.only } }
  return choice?.mode === 'auto' ? undefined : choice?.mode
}
