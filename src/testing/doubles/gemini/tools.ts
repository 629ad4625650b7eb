/**
 * What Gemini refuses about tools as they are declared, and about the tool configuration.
 * Contents are `gemini-history.ts`; the schema dialect is `gemini-schema.ts`.
 */

import type { Mode, Rejection } from '../script.ts'
import { isRecord, type JsonRecord, listOf, recordsOf, stringOf } from '../shape.ts'
import { camel, checkGeminiSchema, sizeProblems } from './schema.ts'

export const invalid = (rule: string, message: string): Rejection => ({
  rule,
  status: 400,
  type: 'INVALID_ARGUMENT',
  message,
})

/** A field by its documented name or by its snake_case spelling; the API reads both. */
export function field(value: unknown, name: string): unknown {
  if (!isRecord(value)) return undefined
  if (value[name] !== undefined) return value[name]
  return Object.entries(value).find(([key]) => camel(key) === name)?.[1]
}

export const unknownName = (rule: string, name: string, at: string): Rejection =>
  invalid(
    rule,
    `Invalid JSON payload received. Unknown name "${name}"${at === '' ? '' : ` at '${at}'`}: Cannot find field.`,
  )

export function unknownFields(
  value: JsonRecord,
  known: readonly string[],
  at: string,
  rule = 'G-00',
): Rejection[] {
  return Object.keys(value)
    .filter(key => !known.includes(camel(key)))
    .map(key => unknownName(rule, key, at))
}

const TOOL_FIELDS = [
  'functionDeclarations',
  'googleSearch',
  'googleSearchRetrieval',
  'urlContext',
  'codeExecution',
  'computerUse',
  'fileSearch',
  'googleMaps',
  'mcpServers',
  'retrieval',
  'enterpriseWebSearch',
  'parallelAiSearch',
]
const DECLARATION_FIELDS = [
  'name',
  'description',
  'parameters',
  'parametersJsonSchema',
  'response',
  'responseJsonSchema',
  'behavior',
]
const MODES = ['MODE_UNSPECIFIED', 'AUTO', 'ANY', 'NONE', 'VALIDATED']

export function declarationsOf(body: JsonRecord): JsonRecord[] {
  return recordsOf(body['tools']).flatMap(tool => recordsOf(field(tool, 'functionDeclarations')))
}

export function checkGeminiTools(body: JsonRecord, mode: Mode): Rejection[] {
  const tools = body['tools']
  if (tools !== undefined && !Array.isArray(tools)) {
    return [
      invalid(
        'G-00',
        "Invalid value at 'tools' (type.googleapis.com/google.ai.generativelanguage.v1beta.Tool)",
      ),
    ]
  }
  const found = recordsOf(tools).flatMap((tool, at) => [
    ...unknownFields(tool, TOOL_FIELDS, `tools[${at}]`),
    ...recordsOf(field(tool, 'functionDeclarations')).flatMap((declaration, index) =>
      checkDeclaration(declaration, `tools[${at}].function_declarations[${index}]`, mode),
    ),
  ])
  const names = declarationsOf(body).map(declaration => stringOf(declaration['name']))
  for (const name of new Set(names.filter((value, at) => names.indexOf(value) !== at))) {
    found.push(invalid('G-09', `Duplicate function declaration found: ${name}`))
  }
  return [...found, ...checkToolConfig(body, names)]
}

function checkDeclaration(declaration: JsonRecord, at: string, mode: Mode): Rejection[] {
  const found = unknownFields(declaration, DECLARATION_FIELDS, at)
  const name = stringOf(declaration['name'])
  const most = mode === 'strict' ? 64 : 128
  if (!/^[a-zA-Z_][a-zA-Z0-9_.:-]*$/.test(name) || name.length > most) {
    found.push(
      invalid(
        'G-08',
        `GenerateContentRequest.${at}.name: Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.`,
      ),
    )
  }
  const parameters = declaration['parameters']
  const jsonSchema = field(declaration, 'parametersJsonSchema')
  if (parameters !== undefined && jsonSchema !== undefined) {
    found.push(invalid('G-12', `${at}: only one of 'parameters' and 'parameters_json_schema' can be set.`))
  }
  const complaints = [
    ...(parameters === undefined ? [] : checkGeminiSchema(parameters, `${at}.parameters`)),
    ...(jsonSchema === undefined ? [] : sizeProblems(jsonSchema)),
  ]
  found.push(...complaints.map(complaint => invalid(complaint.rule, complaint.message)))
  if (jsonSchema !== undefined && (!isRecord(jsonSchema) || jsonSchema['type'] !== 'object')) {
    found.push(
      invalid('G-12', `GenerateContentRequest.${at}.parameters_json_schema: must be an object schema.`),
    )
  }
  return found
}

function checkToolConfig(body: JsonRecord, declared: string[]): Rejection[] {
  const config = field(body, 'toolConfig')
  if (config === undefined) return []
  if (!isRecord(config)) return [invalid('G-15', "Invalid value at 'tool_config'")]
  const found = unknownFields(
    config,
    ['functionCallingConfig', 'retrievalConfig', 'includeServerSideToolInvocations'],
    'tool_config',
    'G-15',
  )
  const calling = field(config, 'functionCallingConfig')
  if (calling === undefined) return found
  if (!isRecord(calling))
    return [...found, invalid('G-15', "Invalid value at 'tool_config.function_calling_config'")]
  const at = 'tool_config.function_calling_config'
  found.push(
    ...unknownFields(calling, ['mode', 'allowedFunctionNames', 'streamFunctionCallArguments'], at, 'G-15'),
  )
  const mode = calling['mode']
  if (mode !== undefined && !MODES.includes(stringOf(mode))) {
    found.push(
      invalid(
        'G-15',
        `Invalid value at '${at}.mode' (type.googleapis.com/google.ai.generativelanguage.v1beta.FunctionCallingConfig.Mode), ${JSON.stringify(mode)}`,
      ),
    )
  }
  const allowed = listOf(field(calling, 'allowedFunctionNames'))
  if (allowed.length > 0 && mode !== 'ANY' && mode !== 'VALIDATED') {
    found.push(
      invalid(
        'G-15',
        'allowed_function_names should be set only when function calling mode is ANY or VALIDATED.',
      ),
    )
  }
  for (const name of allowed) {
    if (!declared.includes(stringOf(name))) {
      found.push(invalid('G-15', `allowed_function_names: '${stringOf(name)}' is not a declared function.`))
    }
  }
  if (mode === 'ANY' && declared.length === 0) {
    found.push(invalid('G-15', 'Function calling config is set without function_declarations.'))
  }
  return found
}
