// Gemini's generateContent as a protocol; Vertex differs in the provider's base URL only. Nothing is kept by the
// vendor: the whole history is sent, with its own parts and signatures in place. The body is put together here;
// contents and answers are in the files beside this one.
//
// Quirks: `openapi-schemas` declares tools by `parameters` instead of `parametersJsonSchema`;
// `no-thought-signatures` treats a model as older than version 3 whatever it is called.

import type { ModelRequest } from '../../../engine/ports.ts'
import type { Json, JsonObject } from '../../../lib/json.ts'
import { wireJson } from '../../common/artifacts.ts'
import { geminiJson, geminiOpenApi } from '../../common/schema-dialect.ts'
import { toolNames } from '../../common/wire-names.ts'
import type { Protocol, Target } from '../../protocol.ts'
import { objectOf, type Reading, readingIn, readingOf, type Sent, statusFailure } from '../google/decode.ts'
import {
  choiceOf,
  type Declared,
  declareTools,
  instructions,
  isOlder,
  leadingSystem,
  nameRule,
  takesNothing,
} from '../google/encode.ts'
import { haltAnswer, initialState, type State, stepAnswer } from './decode.ts'
import { encodeContents } from './encode.ts'

export type { State } from './decode.ts'

const PROTOCOL = 'gemini'

export const geminiGenerate: Protocol<State> = {
  name: PROTOCOL,
  prepare,
  initial: prepared => initialState(readingIn<Reading>(prepared)),
  step: stepAnswer,
  halt: haltAnswer,
  failure: statusFailure,
}

function prepare(request: ModelRequest, target: Target): Sent<Reading> {
  const warnings: string[] = []
  const warn = (text: string): void => {
    if (!warnings.includes(text)) warnings.push(text)
  }
  const origin = { protocol: PROTOCOL, family: target.family }
  const names = toolNames(request.tools, nameRule)
  const openApi = target.quirks.has('openapi-schemas')
  const declared = declareTools(request.tools, names, openApi ? geminiOpenApi : geminiJson, warn)
  const leading = leadingSystem(request.history)
  const { contents, encoded } = encodeContents(request.history.slice(leading), {
    origin,
    names,
    older: isOlder(target),
    warn,
  })
  if (!request.parallel && declared.length > 0)
    warn('Gemini has no switch for one call at a time: only the first call of its answer is kept.')
  const system = instructions(request.system, request.history, leading)
  const choice = choiceOf(
    request.choice,
    declared.map(one => one.tool),
    names,
  )
  if (choice?.warning !== undefined) warn(choice.warning)
  const { contents: _, ...own } = target.body
  const fields: JsonObject = {
    ...own,
    ...(system.length > 0 && { systemInstruction: { parts: system.map(text => ({ text })) } }),
    ...toolsField(declared, target, openApi),
    ...configField(choice, target),
    ...generationField(request, target),
  }
  const rest = wireJson(fields).slice(1)
  return {
    path: `/models/${encodeURIComponent(target.model)}:streamGenerateContent?alt=sse`,
    headers: {},
    // Contents are JSON text already; only what changes from request to request is written anew.
    body: `{"contents":${contents}${rest === '}' ? rest : `,${rest}`}`,
    warnings,
    names: names.fromWire,
    encoded,
    reading: readingOf(request.tools, names, origin, !request.parallel),
  }
}

/** A limit that is no positive number is not said: the model has its own. */
function generationField(request: ModelRequest, target: Target): JsonObject {
  const own = objectOf(target.body['generationConfig'])
  const most = request.maxTokens ?? (target.maxTokens > 0 ? target.maxTokens : undefined)
  const generationConfig: JsonObject = most === undefined ? own : { ...own, maxOutputTokens: most }
  return Object.keys(generationConfig).length > 0 ? { generationConfig } : {}
}

function toolsField(declared: readonly Declared[], target: Target, openApi: boolean): JsonObject {
  const functionDeclarations = declared.map(({ wire, description, schema }): JsonObject => {
    const parameters: JsonObject = openApi ? { parameters: schema } : { parametersJsonSchema: schema }
    return { name: wire, description, ...(!takesNothing(schema) && parameters) }
  })
  const tools: Json[] = [...target.hosted]
  if (functionDeclarations.length > 0) tools.unshift({ functionDeclarations })
  return tools.length > 0 ? { tools } : {}
}

/** `auto` is what the API does unasked. */
function configField(choice: ReturnType<typeof choiceOf>, target: Target): JsonObject {
  const own = objectOf(target.body['toolConfig'])
  if (choice === undefined || choice.mode === 'auto')
    return Object.keys(own).length > 0 ? { toolConfig: own } : {}
  const functionCallingConfig: JsonObject = {
    ...objectOf(own['functionCallingConfig']),
    mode: choice.mode.toUpperCase(),
    ...(choice.only && { allowedFunctionNames: choice.only }),
  }
  return { toolConfig: { ...own, functionCallingConfig } }
}
