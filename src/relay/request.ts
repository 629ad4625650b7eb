// The body of a relayed request. It is strict: members that the protocol does not have are refused, as are tools that
// anyone but the client would run, and media that someone would have to fetch. The same check serves both sides: the
// server, for what a client sends, and an owner's machine, for what a server sends. Tools come in two forms, nested under
// `function` or flat as OpenAI has them; machines are sent the nested one.

import { openAiWordings, refuseParameter, unsupportedParameterValue } from '../apis/openai/refusal.ts'
import { fieldReader, isAbsent, names, optional } from '../lib/json/fields.ts'
import { isJsonObject, type Json, type JsonObject } from '../lib/json/index.ts'

export const field = fieldReader(openAiWordings)

const requestFields = names(
  'model input instructions tools tool_choice stream max_output_tokens max_tool_calls user temperature top_p metadata store previous_response_id reasoning truncation agent_id routing',
)
const toolFields = names('type name description parameters strict function')
const innerFields = names('name description parameters strict')
const itemFields: Readonly<Record<string, ReadonlySet<string>>> = {
  message: names('type id role content status'),
  function_call: names('type id call_id name arguments status'),
  function_call_output: names('type id call_id output status'),
  reasoning: names('type id content encrypted_content summary status'),
  item_reference: names('type id'),
}
/** Of the content of messages. Members that would name an address or a stored file are known, so that they may be null. */
const partFields: Readonly<Record<string, ReadonlySet<string>>> = {
  input_text: names('type text'),
  output_text: names('type text annotations logprobs parsed'),
  text: names('type text'),
  refusal: names('type refusal'),
  input_image: names('type image_url file_id detail source'),
  input_file: names('type file_data file_url file_id filename detail source'),
}
const thoughtFields: Readonly<Record<string, ReadonlySet<string>>> = {
  summary_text: names('type text'),
  reasoning_text: names('type text'),
}
const sourceFields = names('type url media_type data filename')

/** Throws a refusal that names the member. Values are checked where the request is read. */
export function checkRelayedBody(body: JsonObject): void {
  field.onlyKnown(body, requestFields, '')
  for (const [index, tool] of list(body['tools'], 'tools').entries()) checkTool(tool, `tools[${index}]`)
  if (typeof body['input'] === 'string' || isAbsent(body['input'])) return
  for (const [index, item] of list(body['input'], 'input').entries()) checkItem(item, `input[${index}]`)
}

function list(value: Json | undefined, path: string): Json[] {
  return isAbsent(value) ? [] : field.list(value, path)
}

function checkTool(value: Json, path: string): void {
  const tool = field.object(value, path)
  field.oneOf(tool['type'] ?? null, `${path}.type`, ['function'])
  field.onlyKnown(tool, toolFields, path)
  if (tool['function'] !== undefined)
    field.onlyKnown(field.object(tool['function'], `${path}.function`), innerFields, `${path}.function`)
}

function checkItem(value: Json, path: string): void {
  const item = field.object(value, path)
  const type = checkMembers(item, item['role'] === undefined ? null : 'message', itemFields, path)
  if (type === 'item_reference')
    refuseParameter(`Invalid '${path}': nothing is kept here. Send the item itself.`, path)
  if (type === 'function_call_output') field.text(item['output'], `${path}.output`)
  if (type === 'message') checkParts(item['content'], partFields, `${path}.content`)
  if (type !== 'reasoning') return
  checkParts(item['content'], thoughtFields, `${path}.content`)
  checkParts(item['summary'], thoughtFields, `${path}.summary`)
}

/** Its type, which must be known, as must all of its members. */
function checkMembers(
  value: JsonObject,
  usual: string | null,
  types: Readonly<Record<string, ReadonlySet<string>>>,
  path: string,
): string {
  const type = value['type'] ?? usual
  const known = typeof type === 'string' && Object.hasOwn(types, type) ? types[type] : undefined
  if (typeof type !== 'string' || !known)
    throw unsupportedParameterValue(`${path}.type`, type, Object.keys(types))
  field.onlyKnown(value, known, path)
  return type
}

/** A text, or parts of these types. */
function checkParts(value: Json | undefined, types: typeof partFields, path: string): void {
  if (typeof value === 'string') return
  for (const [index, item] of list(value, path).entries()) {
    const at = `${path}[${index}]`
    const part = field.object(item, at)
    checkMembers(part, null, types, at)
    if (!holdsData(part, at))
      refuseParameter(`Invalid '${at}': media by address is not taken here. Send it as base64 data.`, at)
  }
}

/** Nobody fetches anything for a request: an address could be one inside the owner's network, and a name that of a file. */
function holdsData({ image_url, file_data, file_url, file_id, source }: JsonObject, path: string): boolean {
  if (!isAbsent(file_url) || !isAbsent(file_id)) return false
  if (!isAbsent(image_url) && !isData(image_url, /^data:/i)) return false
  if (!isAbsent(file_data) && !isData(file_data, /^(data:|[\w+/=\s-]*$)/i)) return false
  if (isAbsent(source)) return true
  const given = field.object(source, `${path}.source`)
  field.onlyKnown(given, sourceFields, `${path}.source`)
  return given['type'] === 'base64' && isAbsent(given['url'])
}

function isData(value: Json | undefined, form: RegExp): boolean {
  return typeof value === 'string' && form.test(value)
}

// ---- the form that machines are sent ---------------------------------------------------------------------------

/** Members of the request that are for the server alone. */
const forServer = names('agent_id routing store previous_response_id metadata user')

/** The request without them: on an owner's machine they would name sessions and stored answers of someone else. */
export function withoutServerMembers(body: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(body).filter(([name]) => !forServer.has(name)))
}

/** `body`: as OpenAI's API has it. Members that the relay's protocol does not have are left out. */
export function toMachineForm(body: JsonObject, model: string, stream: boolean): JsonObject {
  const kept = Object.entries(withoutServerMembers(body)).filter(
    ([name]) => requestFields.has(name) && name !== 'stream',
  )
  const { tools, tool_choice, input, ...rest } = Object.fromEntries(kept)
  return {
    ...rest,
    model,
    input: Array.isArray(input) ? input.map(machineItem) : (input ?? ''),
    ...(Array.isArray(tools) && { tools: tools.map(nestedTool) }),
    ...(tool_choice !== undefined && { tool_choice: nestedChoice(tool_choice) }),
    ...(stream && { stream: true }),
  }
}

function nestedTool(tool: Json): Json {
  if (!isJsonObject(tool) || isJsonObject(tool['function'])) return tool
  const { name, description, parameters } = tool
  const optionalFields = { ...(description && { description }), ...(parameters && { parameters }) }
  return { type: 'function', function: { name: name ?? '', ...optionalFields } }
}

function nestedChoice(choice: Json): Json {
  if (!isJsonObject(choice) || isJsonObject(choice['function'])) return choice
  return { type: 'function', function: { name: choice['name'] ?? '' } }
}

function machineItem(item: Json): Json {
  if (!isJsonObject(item) || !Array.isArray(item['content'])) return item
  return { ...item, content: item['content'].map(machinePart) }
}

/** Images and files as a `source` object. */
function machinePart(part: Json): Json {
  if (!isJsonObject(part)) return part
  const { type, image_url, file_data, filename } = part
  const data = type === 'input_image' ? image_url : type === 'input_file' ? file_data : undefined
  const [, media_type, base64] = typeof data === 'string' ? (dataUri.exec(data) ?? []) : []
  if (typeof type !== 'string' || media_type === undefined || base64 === undefined) return part
  const named = type === 'input_file' && typeof filename === 'string' ? { filename } : {}
  return { type, source: { type: 'base64', media_type, data: base64, ...named } }
}

const dataUri = /^data:([^;,]+);base64,([\s\S]*)$/

/** The other way, for a local server that takes OpenAI's form only. */
export function toFlatTools(body: JsonObject): JsonObject {
  const { tools, tool_choice } = body
  const choice = isJsonObject(tool_choice) && tool_choice['function']
  return {
    ...body,
    ...(Array.isArray(tools) && { tools: tools.map(flatTool) }),
    ...(isJsonObject(choice) && { tool_choice: { type: 'function', name: choice['name'] ?? '' } }),
  }
}

function flatTool(tool: Json): Json {
  if (!isJsonObject(tool) || !isJsonObject(tool['function'])) return tool
  return { type: 'function', ...tool['function'] }
}

/** The text of an optional member. Any other value is refused. */
export function optionalText(body: JsonObject, name: string): string | undefined {
  return optional(body[name], name, field.text)
}
