// Tools and the choice between them as Interactions takes them.

import type { Json } from '../../../lib/json/index.ts'
import { type OfferRequest, type Warn, wireJson } from '../../common/prepare.ts'
import { geminiJson } from '../../common/schema-dialect.ts'
import type { BoundTool } from '../../common/vendor-typed.ts'
import type { WireNames } from '../../common/wire-names.ts'
import type { ModelTarget } from '../../protocol.ts'
import { type GoogleChoice, googleChoice, googleTools, unboundTools } from '../google/tools.ts'

export { nameRule } from '../google/tools.ts'

export type Declarations = {
  /** The list as JSON text; undefined if there are none. */
  tools: string | undefined
  /** Undefined: the model chooses, which is the default. */
  choice: Json | undefined
}

export function declareTools(
  request: OfferRequest,
  target: ModelTarget,
  names: WireNames,
  bound: readonly BoundTool[],
  warn: Warn,
): Declarations {
  const declared = googleTools(unboundTools(request, bound), names, geminiJson, warn)
  const tools: Json[] = declared.map(({ wire, description, schema }) => ({
    type: 'function',
    name: wire,
    description,
    ...(schema && { parameters: schema }),
  }))
  tools.push(...bound.map(each => each.declared), ...target.hosted)
  if (tools.length === 0) return { tools: undefined, choice: undefined }
  return { tools: wireJson(tools), choice: encodeChoice(googleChoice(request, declared, names, warn)) }
}

/** `called`: the tools whose results are sent. The service refuses results when no tool is declared. */
export function placeholders(called: ReadonlySet<string>): Declarations {
  const tools = [...called].map(name => ({ type: 'function', name, description: 'No longer available.' }))
  return tools.length > 0
    ? { tools: wireJson(tools), choice: 'none' }
    : { tools: undefined, choice: undefined }
}

function encodeChoice(choice: GoogleChoice | undefined): Json | undefined {
  if (choice?.only) return { allowed_tools: { mode: choice.mode, tools: choice.only } }
  return choice?.mode === 'auto' ? undefined : choice?.mode
}
