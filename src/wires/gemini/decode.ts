// A generateContent request into a stateless question. Fields that only the vendor understands (sampling, thinking,
// safety) go along as they are; tools are the caller's own. Contents are read in decode-contents.ts.

import type { ToolChoice, ToolDeclaration } from '../../language/tools.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'
import { clientTool } from '../own-tools.ts'
import { type Asked, type Spoken, schemaOf, spokenTo, stopsOf, type Target } from '../stateless/index.ts'
import { decodeContents } from './decode-contents.ts'
import {
  camelised,
  field,
  invalidValue,
  list,
  object,
  optionalText,
  refuse,
  refuseUnknown,
  text,
} from './refuse.ts'
import { fromOpenApi } from './schema.ts'

export const door = 'gemini'
export const protocol = 'gemini'

export type GeminiRequest = { asked: Asked; includeThoughts: boolean }

const known = new Set([
  'contents',
  'systemInstruction',
  'tools',
  'toolConfig',
  'generationConfig',
  'safetySettings',
  'cachedContent',
  'store',
  'model',
  'labels',
  'serviceTier',
])
const passed = ['safetySettings', 'labels', 'serviceTier', 'store']

export function decodeRequest(body: JsonObject, target: Target): GeminiRequest {
  refuseUnknown(body, known, '')
  if (field(body, 'cachedContent') !== undefined)
    refuse('cached_content: nothing is cached here. Send the contents themselves.')
  const tools = decodeTools(field(body, 'tools'))
  const { choice, toolConfig } = decodeToolConfig(field(body, 'toolConfig'), tools)
  const { maxTokens, generationConfig } = decodeGeneration(field(body, 'generationConfig'))
  const own: JsonObject = {
    ...Object.fromEntries(
      passed.flatMap(name => (field(body, name) === undefined ? [] : [[name, field(body, name)!]])),
    ),
    ...(Object.keys(generationConfig).length > 0 && { generationConfig }),
    ...(toolConfig && { toolConfig }),
  }
  const system = decodeSystem(field(body, 'systemInstruction'))
  const settings: Asked['settings'] = {
    clientTools: tools,
    ...(choice !== undefined && { choice }),
    ...(maxTokens !== undefined && { maxTokens }),
    ...(system !== '' && { system }),
    ...spokenTo(decodeSpoken(generationConfig), { [protocol]: own }),
  }
  const seed = decodeContents(field(body, 'contents'), target)
  const thinking = generationConfig['thinkingConfig']
  return {
    asked: { target, wire: door, settings, seed },
    includeThoughts: isJsonObject(thinking) && field(thinking, 'includeThoughts') === true,
  }
}

/** A content, or its text alone. */
function decodeSystem(value: Json | undefined): string {
  if (value === undefined) return ''
  if (typeof value === 'string') return value
  const parts = list(object(value, 'system_instruction')['parts'], 'system_instruction.parts')
  return parts
    .map((part, at) =>
      isJsonObject(part) && typeof part['text'] === 'string'
        ? part['text']
        : invalidValue(`system_instruction.parts[${at}]`, 'only text parts are supported', part),
    )
    .join('\n\n')
}

function decodeGeneration(value: Json | undefined): { maxTokens?: number; generationConfig: JsonObject } {
  if (value === undefined) return { generationConfig: {} }
  const config = camelised(object(value, 'generation_config'))
  const { maxOutputTokens, candidateCount, ...generationConfig } = config
  if (candidateCount !== undefined && candidateCount !== null && candidateCount !== 1)
    refuse(
      'generation_config.candidate_count: one candidate is given to a request here. Ask again for another.',
    )
  if (maxOutputTokens === undefined || maxOutputTokens === null) return { generationConfig }
  if (typeof maxOutputTokens !== 'number' || !Number.isInteger(maxOutputTokens))
    return invalidValue('generation_config.max_output_tokens', 'TYPE_INT32', maxOutputTokens)
  if (maxOutputTokens < 1) return refuse('max_output_tokens must be positive.')
  return { maxTokens: maxOutputTokens, generationConfig }
}

function decodeSpoken(config: JsonObject): Spoken {
  const stop = stopsOf(config['stopSequences'])
  const openApi = schemaOf(config['responseSchema'])
  const schema = schemaOf(config['responseJsonSchema']) ?? (openApi && fromOpenApi(openApi))
  const isJson = config['responseMimeType'] === 'application/json'
  return { ...(stop && { stop }), ...(isJson && { format: schema ? { schema } : 'json' }) }
}

// ---- tools --------------------------------------------------------------------------------------------------

const toolName = /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/

function decodeTools(value: Json | undefined): ToolDeclaration[] {
  const tools = list(value, 'tools').flatMap((item, at) => {
    const tool = object(item, `tools[${at}]`)
    for (const key of Object.keys(tool))
      if (key !== 'functionDeclarations' && key !== 'function_declarations')
        refuse(
          `tools[${at}]: ${key.slice(0, 100)} is not offered here. Declare functions of your own in function_declarations.`,
        )
    const where = `tools[${at}].function_declarations`
    return list(field(tool, 'functionDeclarations'), where).map((declaration, index) =>
      decodeFunction(object(declaration, `${where}[${index}]`), `${where}[${index}]`),
    )
  })
  const seen = new Set<string>()
  for (const { name } of tools) {
    if (seen.has(name)) refuse(`Duplicate function declaration found: ${name}`)
    seen.add(name)
  }
  return tools
}

function decodeFunction(declaration: JsonObject, at: string): ToolDeclaration {
  const name = text(field(declaration, 'name'), `${at}.name`)
  if (!toolName.test(name))
    refuse(
      `GenerateContentRequest.${at}.name: Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 128.`,
    )
  const openApi = field(declaration, 'parameters')
  const json = field(declaration, 'parametersJsonSchema')
  if (openApi !== undefined && json !== undefined)
    refuse(`${at}: only one of 'parameters' and 'parameters_json_schema' can be set.`)
  const schema =
    json !== undefined
      ? object(json, `${at}.parameters_json_schema`)
      : openApi !== undefined
        ? fromOpenApi(object(openApi, `${at}.parameters`))
        : { type: 'object', properties: {} }
  const description = optionalText(field(declaration, 'description'), `${at}.description`) ?? ''
  return clientTool(name, description, { form: 'json', schema })
}

type Config = { choice?: ToolChoice; toolConfig?: JsonObject }

function decodeToolConfig(value: Json | undefined, tools: readonly ToolDeclaration[]): Config {
  if (value === undefined) return {}
  const config = object(value, 'tool_config')
  const calling = field(config, 'functionCallingConfig')
  if (calling === undefined) return {}
  const at = 'tool_config.function_calling_config'
  const given = object(calling, at)
  const mode = field(given, 'mode') ?? 'AUTO'
  const allowed = list(field(given, 'allowedFunctionNames'), `${at}.allowed_function_names`).map(
    (name, index) => text(name, `${at}.allowed_function_names[${index}]`),
  )
  if (allowed.length > 0 && mode !== 'ANY' && mode !== 'VALIDATED')
    refuse('allowed_function_names should be set only when function calling mode is ANY or VALIDATED.')
  for (const name of allowed)
    if (!tools.some(tool => tool.name === name))
      refuse(`allowed_function_names: '${name.slice(0, 128)}' is not a declared function.`)
  return chosen(mode, allowed, at, tools)
}

function chosen(mode: Json, allowed: string[], at: string, tools: readonly ToolDeclaration[]): Config {
  switch (mode) {
    case 'AUTO':
    case 'MODE_UNSPECIFIED':
      return { choice: 'auto' }
    case 'NONE':
      return { choice: 'none' }
    case 'ANY':
      if (tools.length === 0) refuse('Function calling config is set without function_declarations.')
      return { choice: allowed.length > 0 ? { allowed, mode: 'required' } : 'required' }
    case 'VALIDATED':
      return allowed.length > 0
        ? { choice: { allowed, mode: 'auto' } }
        : { choice: 'auto', toolConfig: { functionCallingConfig: { mode: 'VALIDATED' } } }
    default:
      return invalidValue(
        `${at}.mode`,
        'type.googleapis.com/google.ai.generativelanguage.v1beta.FunctionCallingConfig.Mode',
        mode,
      )
  }
}
