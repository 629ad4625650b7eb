// Tools and the choice between them as generateContent takes them.

import type { Json, JsonObject } from '../../../lib/json/index.ts'
import { asObject, isEmptyObject } from '../../common/json-read.ts'
import { type OfferRequest, type Warn, wireJson } from '../../common/prepare.ts'
import { geminiJson, geminiOpenApi } from '../../common/schema-dialect.ts'
import type { BoundTool } from '../../common/vendor-typed.ts'
import type { WireNames } from '../../common/wire-names.ts'
import type { ModelTarget } from '../../protocol.ts'
import { type GoogleChoice, googleChoice, googleTools, unboundTools } from '../google/tools.ts'

export { nameRule } from '../google/tools.ts'

export type Declarations = {
  /** The list as JSON text; undefined if there are none. */
  tools: string | undefined
  /** `toolConfig`. */
  fields: JsonObject
}

export function declareTools(
  request: OfferRequest,
  target: ModelTarget,
  names: WireNames,
  bound: readonly BoundTool[],
  warn: Warn,
): Declarations {
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
  return { tools: tools.length > 0 ? wireJson(tools) : undefined, fields: encodeChoice(choice, target) }
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
