// Rules of Gemini about tools as they are declared, their schemas (the OpenAPI subset by name, value and size), and the tool
// configuration. The checks of schemas are pure functions, since schema converters are tested with them.
import * as says from '../../../apis/gemini/wordings.ts'
import { isGoogleName } from '../google/common.ts'
import type { Mode, Rejection, Rejections } from '../script.ts'
import { asList, asRecord, asRecords, asString, isRecord, type JsonRecord, wordList } from '../shape.ts'
import { field, invalidValue, refuse, unknownFields } from './refusals.ts'

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
    return yield refuse('G-00', `Invalid value at 'tools' (${says.protoTypes}.Tool)`)
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
    yield refuse('G-09', says.repeatedFunction(name))
  }
  yield* checkToolConfig(field(body, 'toolConfig'), names)
}

function* checkDeclaration(declaration: JsonRecord, path: string, mode: Mode): Rejections {
  yield* unknownFields(declaration, DECLARATION_FIELDS, path)
  const name = asString(declaration['name'])
  if (!isGoogleName(name, mode === 'strict' ? 64 : 128)) {
    yield refuse('G-08', `GenerateContentRequest.${path}.name: ${says.invalidName(64)}`)
  }
  const parameters = declaration['parameters']
  const jsonSchema = field(declaration, 'parametersJsonSchema')
  if (parameters !== undefined && jsonSchema !== undefined) yield refuse('G-12', says.twoSchemas(path))
  if (parameters !== undefined) yield* checkGeminiSchema(parameters, `${path}.parameters`)
  if (jsonSchema === undefined) return
  yield* sizeProblems(jsonSchema)
  if (!isRecord(jsonSchema) || jsonSchema['type'] !== 'object') {
    const text = `GenerateContentRequest.${path}.parameters_json_schema: must be an object schema.`
    yield refuse('G-12', text)
  }
}

function* checkToolConfig(config: unknown, declared: string[]): Rejections {
  if (config === undefined) return
  if (!isRecord(config)) return yield refuse('G-15', "Invalid value at 'tool_config'")
  yield* unknownFields(config, CONFIG_FIELDS, 'tool_config', 'G-15')
  const calling = field(config, 'functionCallingConfig')
  const path = 'tool_config.function_calling_config'
  if (calling === undefined) return
  if (!isRecord(calling)) return yield refuse('G-15', `Invalid value at '${path}'`)
  yield* unknownFields(calling, CALLING_FIELDS, path, 'G-15')
  const mode = calling['mode']
  if (mode !== undefined && !MODES.includes(asString(mode))) {
    yield invalidValue('G-15', `${path}.mode`, `${says.protoTypes}.FunctionCallingConfig.Mode`, mode)
  }
  const allowed = asList(field(calling, 'allowedFunctionNames')).map(asString)
  if (allowed.length > 0 && mode !== 'ANY' && mode !== 'VALIDATED') yield refuse('G-15', says.allowedNames)
  for (const name of allowed) if (!declared.includes(name)) yield refuse('G-15', says.undeclaredName(name))
  if (mode === 'ANY' && declared.length === 0) yield refuse('G-15', says.noFunctions)
}

// ---- schemas ------------------------------------------------------------------------------------------------

/** Names as the API documents them. Their snake_case spelling is the same field. */
const SCHEMA_KEYS = wordList(`
  type format title description nullable enum maxItems minItems properties required minProperties maxProperties
  minLength maxLength pattern example anyOf propertyOrdering default items minimum maximum`)
const SCHEMA_TYPES = wordList('TYPE_UNSPECIFIED STRING NUMBER INTEGER BOOLEAN ARRAY OBJECT NULL')
/** The real limit is not published. A schema above this one is certain to be refused; below it the double accepts. */
const MOST_STATES = 10_000

/** Everything wrong with one `parameters` schema, the parser's problems first. */
export function checkGeminiSchema(
  schema: unknown,
  at = 'tools[0].function_declarations[0].parameters',
): Rejection[] {
  const parsed = [...parseProblems(schema, at)]
  // The real service parses the whole payload before it looks at meaning.
  if (parsed.length > 0) return parsed
  return [...meaningProblems(schema, `GenerateContentRequest.${at}`), ...sizeProblems(schema)]
}

function* parseProblems(node: unknown, path: string): Rejections {
  if (!isRecord(node)) return yield invalidValue('G-10', path, `${says.protoTypes}.Schema`, node)
  for (const [name, value] of Object.entries(node)) yield* parseField(name, value, path)
}

function* parseField(name: string, value: unknown, path: string): Rejections {
  const key = says.camelCase(name)
  if (!SCHEMA_KEYS.includes(key)) return yield refuse('G-10', says.unknownName(name, path))
  if ((key === 'type' || key === 'items') && Array.isArray(value)) {
    const text = `Invalid JSON payload received. Unknown name "${name}" at '${path}': Proto field is not repeating, cannot start list.`
    return yield refuse('G-10', text)
  }
  switch (key) {
    case 'type':
      if (!SCHEMA_TYPES.includes(asString(value).toUpperCase()))
        yield invalidValue('G-10', `${path}.type`, `${says.protoTypes}.Type`, value)
      return
    case 'enum':
    case 'required':
    case 'propertyOrdering':
      for (const [index, item] of asList(value).entries()) {
        if (typeof item === 'string') continue
        yield invalidValue('G-10', `${path}.${snakeCase(key)}[${index}]`, 'TYPE_STRING', item)
      }
      return
    case 'items':
      return yield* parseProblems(value, `${path}.items`)
    case 'anyOf':
      for (const [index, item] of asList(value).entries()) {
        yield* parseProblems(item, `${path}.any_of[${index}]`)
      }
      return
    case 'properties':
      for (const [index, item] of Object.values(asRecord(value)).entries()) {
        yield* parseProblems(item, `${path}.properties[${index}].value`)
      }
  }
}

const snakeCase = (name: string): string => name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)

function* meaningProblems(node: unknown, path: string): Rejections {
  if (!isRecord(node)) return
  const { items, format, enum: values } = node
  const type = asString(node['type']).toUpperCase()
  const properties = asRecord(node['properties'])
  const problem = (text: string): Rejection => refuse('G-11', `${path}.${text}`)
  if (type === 'OBJECT' && Object.keys(properties).length === 0) {
    yield problem('properties: should be non-empty for OBJECT type')
  }
  if (type === 'ARRAY' && items === undefined) yield problem('items: missing field')
  if (values !== undefined && type !== 'STRING') yield problem('enum: only allowed for STRING type')
  for (const [index, name] of asList(node['required']).entries()) {
    if (!Object.hasOwn(properties, asString(name)))
      yield problem(`required[${index}]: property is not defined`)
  }
  if (type === 'STRING' && format !== undefined && format !== 'enum' && format !== 'date-time') {
    yield problem("format: only 'enum' and 'date-time' are supported for STRING type")
  }
  for (const [name, child] of Object.entries(properties)) {
    yield* meaningProblems(child, `${path}.properties[${name}]`)
  }
  yield* meaningProblems(items, `${path}.items`)
  for (const [index, child] of asList(node['anyOf'] ?? node['any_of']).entries()) {
    yield* meaningProblems(child, `${path}.any_of[${index}]`)
  }
}

/** For either dialect: bounded arrays, bounded numbers and enums make states. */
function* sizeProblems(schema: unknown): Rejections {
  if (countStates(schema) <= MOST_STATES) return
  const text =
    'The specified schema produces a constraint that has too many states for serving. Typical causes of this error are schemas with lots of text (for example, very long property or enum names), schemas with long array length limits (especially when nested), or schemas using complex value matchers (for example, integers or numbers with minimum/maximum bounds or strings with complex formats like date-time).'
  yield refuse('G-13', text)
}

function countStates(node: unknown): number {
  if (!isRecord(node)) return 1
  const { minimum, maximum, items } = node
  let total = 1 + asList(node['enum']).length
  if (typeof minimum === 'number' && typeof maximum === 'number') {
    total += Math.min(MOST_STATES, Math.max(0, Math.log2(1 + maximum - minimum) * 8))
  }
  for (const [name, child] of Object.entries(asRecord(node['properties']))) {
    total += name.length / 8 + countStates(child)
  }
  for (const child of asList(node['anyOf'] ?? node['any_of'])) total += countStates(child)
  const most = node['maxItems'] ?? node['max_items']
  const repeats = typeof most === 'number' || typeof most === 'string' ? Math.max(1, Number(most)) : 1
  return items === undefined ? total : total + repeats * countStates(items)
}
