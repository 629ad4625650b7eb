// Rules of Gemini about tools as they are declared, and about the tool configuration.
import * as says from '../../../apis/gemini/wordings.ts'
import { isGoogleName } from '../google/signatures.ts'
import type { Mode, Rejections } from '../script.ts'
import { asList, asRecords, asString, isRecord, type JsonRecord, wordList } from '../shape.ts'
import { field, geminiError, invalidValue, unknownFields } from './refusals.ts'
import { checkGeminiSchema, sizeProblems } from './schema.ts'

const TOOL_FIELDS = wordList(`
  functionDeclarations googleSearch googleSearchRetrieval urlContext codeExecution computerUse fileSearch googleMaps
  mcpServers retrieval enterpriseWebSearch parallelAiSearch`)
const DECLARATION_FIELDS = wordList(
  'name description parameters parametersJsonSchema response responseJsonSchema behavior',
)
const CONFIG_FIELDS = wordList('functionCallingConfig retrievalConfig includeServerSideToolInvocations')
const CALLING_FIELDS = wordList('mode allowedFunctionNames streamFunctionCallArguments')
const MODES = wordList('MODE_UNSPECIFIED AUTO ANY NONE VALIDATED')

export function* checkGeminiTools(body: JsonRecord, mode: Mode): Rejections {
  const tools = body['tools']
  if (tools !== undefined && !Array.isArray(tools)) {
    return yield geminiError('G-00', `Invalid value at 'tools' (${says.protoTypes}.Tool)`)
  }
  const names: string[] = []
  for (const [at, tool] of asRecords(tools).entries()) {
    yield* unknownFields(tool, TOOL_FIELDS, `tools[${at}]`)
    for (const [index, declaration] of asRecords(field(tool, 'functionDeclarations')).entries()) {
      yield* checkDeclaration(declaration, `tools[${at}].function_declarations[${index}]`, mode)
      names.push(asString(declaration['name']))
    }
  }
  for (const name of new Set(names.filter((each, at) => names.indexOf(each) !== at))) {
    yield geminiError('G-09', says.repeatedFunction(name))
  }
  yield* checkToolConfig(field(body, 'toolConfig'), names)
}

function* checkDeclaration(declaration: JsonRecord, path: string, mode: Mode): Rejections {
  yield* unknownFields(declaration, DECLARATION_FIELDS, path)
  const name = asString(declaration['name'])
  if (!isGoogleName(name, mode === 'strict' ? 64 : 128)) {
    yield geminiError('G-08', `GenerateContentRequest.${path}.name: ${says.invalidName(64)}`)
  }
  const parameters = declaration['parameters']
  const jsonSchema = field(declaration, 'parametersJsonSchema')
  if (parameters !== undefined && jsonSchema !== undefined) yield geminiError('G-12', says.twoSchemas(path))
  if (parameters !== undefined) yield* checkGeminiSchema(parameters, `${path}.parameters`)
  if (jsonSchema === undefined) return
  yield* sizeProblems(jsonSchema)
  if (!isRecord(jsonSchema) || jsonSchema['type'] !== 'object') {
    const text = `GenerateContentRequest.${path}.parameters_json_schema: must be an object schema.`
    yield geminiError('G-12', text)
  }
}

function* checkToolConfig(config: unknown, declared: string[]): Rejections {
  if (config === undefined) return
  if (!isRecord(config)) return yield geminiError('G-15', "Invalid value at 'tool_config'")
  yield* unknownFields(config, CONFIG_FIELDS, 'tool_config', 'G-15')
  const calling = field(config, 'functionCallingConfig')
  const path = 'tool_config.function_calling_config'
  if (calling === undefined) return
  if (!isRecord(calling)) return yield geminiError('G-15', `Invalid value at '${path}'`)
  yield* unknownFields(calling, CALLING_FIELDS, path, 'G-15')
  const mode = calling['mode']
  if (mode !== undefined && !MODES.includes(asString(mode))) {
    yield invalidValue('G-15', `${path}.mode`, `${says.protoTypes}.FunctionCallingConfig.Mode`, mode)
  }
  const allowed = asList(field(calling, 'allowedFunctionNames')).map(asString)
  if (allowed.length > 0 && mode !== 'ANY' && mode !== 'VALIDATED')
    yield geminiError('G-15', says.allowedNames)
  for (const name of allowed)
    if (!declared.includes(name)) yield geminiError('G-15', says.undeclaredName(name))
  if (mode === 'ANY' && declared.length === 0) yield geminiError('G-15', says.noFunctions)
}
