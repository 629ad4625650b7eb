// A generateContent request as a request for one answer. Fields that only the vendor understands (sampling, thinking,
// safety) are passed on as they are; tools are the client's own. decode-contents.ts reads the contents.
import * as says from '../../apis/gemini/wordings.ts'
import type { Ask } from '../../language/events.ts'
import type { AnswerFormat } from '../../language/format.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import { excerpt, names, optional } from '../../lib/json/fields.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json/index.ts'
import { clientTool } from '../own-tools.ts'
import {
  askHosted,
  type ClientHosted,
  ifObject,
  ifTexts,
  keepTools,
  type ModelTarget,
  passedBody,
  type StatelessRequest,
} from '../stateless/index.ts'
import { decodeContents } from './decode-contents.ts'
import { fromOpenApi } from './open-api.ts'
import {
  count,
  geminiRefusal,
  geminiTexts,
  invalidValue,
  list,
  members,
  object,
  objects,
  oneOf,
  onlyKnown,
  text,
} from './wordings.ts'

export type GeminiRequest = { request: StatelessRequest; includeThoughts: boolean }

const bodyFields = names(
  'contents systemInstruction tools toolConfig generationConfig safetySettings cachedContent store model labels serviceTier',
)

export function decodeGeminiRequest(given: JsonObject, target: ModelTarget): GeminiRequest {
  onlyKnown(given, { has: name => bodyFields.has(says.camelCase(name)) }, '')
  const body = members(given, '')
  if (body['cachedContent'] !== undefined) throw geminiRefusal(geminiTexts.cached)
  const { clientTools, hosted } = decodeGeminiTools(body['tools'] ?? [])
  const { choice, toolConfig } = decodeToolConfig(body['toolConfig'], clientTools)
  const { maxTokens, generationConfig } = decodeGeneration(body['generationConfig'])
  const { format, others } = decodeForm(generationConfig)
  const { safetySettings, labels, serviceTier, store } = body
  const own: JsonObject = {
    ...(safetySettings !== undefined && { safetySettings }),
    ...(labels !== undefined && { labels }),
    ...(serviceTier !== undefined && { serviceTier }),
    ...(store !== undefined && { store }),
    ...(Object.keys(others).length > 0 && { generationConfig: others }),
    ...(toolConfig && { toolConfig }),
  }
  const system = decodeInstruction(body['systemInstruction'])
  const ask: Ask = {
    ...(choice !== undefined && { choice }),
    ...(maxTokens !== undefined && { maxTokens }),
    ...(system !== '' && { system }),
    ...askHosted(hosted, target, (at, reason) => {
      throw geminiRefusal(geminiTexts.hostedRefused(hosted[at]!.path, reason))
    }),
    ...(format && { format }),
    ...passedBody(ifTexts(others['stopSequences']), { gemini: own }),
  }
  const history = decodeContents(body['contents'], target)
  const thinking = ifObject(generationConfig['thinkingConfig']) ?? {}
  return {
    request: { ...target.request, clientTools, history, ask },
    includeThoughts: members(thinking, '')['includeThoughts'] === true,
  }
}

/** A content, or its text alone. */
function decodeInstruction(value: Json | undefined): string {
  if (value === undefined) return ''
  if (typeof value === 'string') return value
  const path = 'system_instruction'
  return list(object(value, path)['parts'] ?? [], `${path}.parts`)
    .map((part, at) => {
      if (isJsonObject(part) && typeof part['text'] === 'string') return part['text']
      throw invalidValue(`${path}.parts[${at}]`, 'only text parts are supported', part)
    })
    .join('\n\n')
}

function decodeGeneration(value: Json | undefined): {
  maxTokens: number | undefined
  generationConfig: JsonObject
} {
  const {
    maxOutputTokens,
    candidateCount = 1,
    ...generationConfig
  } = members(value ?? {}, 'generation_config')
  if (candidateCount !== 1) throw geminiRefusal(geminiTexts.oneCandidate)
  const maxTokens = optional(maxOutputTokens, 'generation_config.max_output_tokens', count)
  return { maxTokens, generationConfig }
}

/** The schema is taken out of `generationConfig`: the model's own protocol puts it back, in its own way. */
function decodeForm(config: JsonObject): { format?: AnswerFormat; others: JsonObject } {
  const { responseMimeType, responseSchema, responseJsonSchema, ...others } = config
  if (responseMimeType !== 'application/json') return { others: config }
  const openApi = ifObject(responseSchema)
  const schema = ifObject(responseJsonSchema) ?? openApi
  // Some clients write JSON Schema with the capital types of the other field.
  if (schema) return { format: { type: 'schema', schema: fromOpenApi(schema), strict: true }, others }
  return { format: { type: 'json' }, others }
}

// ---- tools --------------------------------------------------------------------------------------------------

const functionNameRule = { pattern: /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/ }

type GeminiTools = { clientTools: ToolDeclaration[]; hosted: (ClientHosted & { path: string })[] }

/** The vendor's own tools that other vendors have too. */
const purposes: Readonly<Record<string, ClientHosted['purpose']>> = {
  googleSearch: 'search',
  urlContext: 'fetch',
}

const decodeGeminiTools = keepTools((value): GeminiTools => {
  const hosted: GeminiTools['hosted'] = []
  const clientTools = objects(value, 'tools', (tool, path) => {
    const { functionDeclarations = [], ...others } = members(tool, path)
    for (const [name, declaration] of Object.entries(others)) {
      const purpose = Object.hasOwn(purposes, name) ? purposes[name] : undefined
      if (!purpose) throw geminiRefusal(geminiTexts.toolNotOffered(path, name))
      hosted.push({ purpose, protocol: 'gemini', declaration: { [name]: declaration }, path })
    }
    return objects(functionDeclarations, `${path}.function_declarations`, decodeDeclaration)
  }).flat()
  const seen = new Set<string>()
  for (const { name } of clientTools) {
    if (seen.has(name)) throw geminiRefusal(says.repeatedFunction(name))
    seen.add(name)
  }
  return { clientTools, hosted }
})

function decodeDeclaration(given: JsonObject, path: string): ToolDeclaration {
  const { name, description, parameters, parametersJsonSchema } = members(given, path)
  const tool = text(name, `${path}.name`, functionNameRule)
  if (parameters !== undefined && parametersJsonSchema !== undefined)
    throw geminiRefusal(says.twoSchemas(path))
  const schema =
    parametersJsonSchema === undefined
      ? fromOpenApi(object(parameters ?? { type: 'object', properties: {} }, `${path}.parameters`))
      : object(parametersJsonSchema, `${path}.parameters_json_schema`)
  return clientTool(tool, optional(description, `${path}.description`, text) ?? '', { form: 'json', schema })
}

const callingModes = ['AUTO', 'MODE_UNSPECIFIED', 'NONE', 'ANY', 'VALIDATED'] as const

type ToolConfig = Pick<Ask, 'choice'> & { toolConfig?: JsonObject }

function decodeToolConfig(value: Json | undefined, tools: readonly ToolDeclaration[]): ToolConfig {
  const { functionCallingConfig } = members(value ?? {}, 'tool_config')
  if (functionCallingConfig === undefined) return {}
  const path = 'tool_config.function_calling_config'
  const given = members(functionCallingConfig, path)
  const at = `${path}.allowed_function_names`
  const allowed = list(given['allowedFunctionNames'] ?? [], at).map((name, index) =>
    text(name, `${at}[${index}]`),
  )
  const mode = oneOf(given['mode'] ?? 'AUTO', `${path}.mode`, callingModes)
  if (allowed.length > 0 && mode !== 'ANY' && mode !== 'VALIDATED') throw geminiRefusal(says.allowedNames)
  for (const name of allowed)
    if (!tools.some(tool => tool.name === name)) throw geminiRefusal(says.undeclaredName(excerpt(name)))
  if (mode === 'NONE') return { choice: 'none' }
  if (mode === 'ANY' && tools.length === 0) throw geminiRefusal(says.noFunctions)
  if (mode === 'ANY') return { choice: allowed.length > 0 ? { allowed, mode: 'required' } : 'required' }
  if (allowed.length > 0) return { choice: { allowed, mode: 'auto' } }
  return { choice: 'auto', ...(mode === 'VALIDATED' && { toolConfig: { functionCallingConfig: { mode } } }) }
}
