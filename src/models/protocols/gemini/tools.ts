// Tools and the choice between them as generateContent takes them.

import type { ModelRequest } from '../../../engine/ports/index.ts'
import type { Json, JsonObject } from '../../../lib/json/index.ts'
import { asObject, isEmptyObject } from '../../common/json-read.ts'
import { geminiJson, geminiOpenApi } from '../../common/schema-dialect.ts'
import type { BoundTool } from '../../common/vendor-typed.ts'
import type { Warn } from '../../common/warnings.ts'
import type { WireNames } from '../../common/wire-names.ts'
import type { ModelTarget } from '../../protocol.ts'
import { type GoogleChoice, googleChoice, googleTools, unboundTools } from '../google/tools.ts'

export { nameRule } from '../google/tools.ts'

/** `tools` and `toolConfig`. */
export function declareTools(
  request: ModelRequest,
  target: ModelTarget,
  names: WireNames,
  bound: readonly BoundTool[],
  warn: Warn,
): JsonObject {
  const isOpenApi = target.quirks.has('openapi-schemas')
  const declared = googleTools(
    unboundTools(request, bound),
    names,
    isOpenApi ? geminiOpenApi : geminiJson,
    warn,
  )
  const schemaField = isOpenApi ? 'parameters' : 'parametersJsonSchema'
  const functionDeclarations = declared.map(({ wire, description, schema }) => ({
    name: wire,
    description,
    ...(schema && { [schemaField]: schema }),
  }))
  const tools: Json[] = [...bound.map(each => each.declared), ...target.hosted]
  if (functionDeclarations.length > 0) tools.unshift({ functionDeclarations })
  const choice = googleChoice(request, declared, names, warn)
  return { ...(tools.length > 0 && { tools }), ...encodeChoice(choice, target) }
}

/** `auto` is the default. */
function encodeChoice(choice: GoogleChoice | undefined, target: ModelTarget): JsonObject {
  const own = asObject(target.body['toolConfig'])
  if (choice === undefined || choice.mode === 'auto') return isEmptyObject(own) ? {} : { toolConfig: own }
  const functionCallingConfig: JsonObject = {
    ...asObject(own['functionCallingConfig']),
    mode: choice.mode.toUpperCase(),
    ...(choice.only && { allowedFunctionNames: choice.only }),
  }
  return { toolConfig: { ...own, functionCallingConfig } }
}
