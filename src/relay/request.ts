// The body of a relayed request. It is strict: members that the protocol does not have are refused, as are tools that
// anyone but the client would run, and media that someone would have to fetch. The same check serves both sides: the
// server, for what a client sends, and an owner's machine, for what a server sends. Tools come in two forms, nested under
// `function` or flat as OpenAI has them; machines are sent the nested one.
import { isJsonObject, type Json, type JsonObject } from '../lib/json.ts'
import { isAbsent, names, optional } from '../wires/fields.ts'
import { refuseParameter, unsupportedParameterValue } from '../wires/openai-refusal.ts'
import { field } from '../wires/responses/wordings.ts'

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
  const type = item['type'] ?? (item['role'] === undefined ? null : 'message')
  const known = typeof type === 'string' && Object.hasOwn(itemFields, type) ? itemFields[type] : undefined
  if (!known) throw unsupportedParameterValue(`${path}.type`, type, Object.keys(itemFields))
  field.onlyKnown(item, known, path)
  if (type === 'item_reference')
    refuseParameter(`Invalid '${path}': nothing is kept here. Send the item itself.`, path)
  if (type === 'function_call_output') field.text(item['output'], `${path}.output`)
  if (type === 'message' && Array.isArray(item['content']))
    for (const [index, part] of item['content'].entries()) refuseAddress(part, `${path}.content[${index}]`)
}

/** Nobody fetches anything for a request: an address could be one inside the owner's network. */
function refuseAddress(part: Json, path: string): void {
  if (!isJsonObject(part)) return
  const source = isJsonObject(part['source']) ? part['source'] : {}
  const image = part['image_url']
  const isImageAddress = typeof image === 'string' && !/^data:/i.test(image)
  if (!isAbsent(part['file_url']) || isImageAddress || source['type'] === 'url')
    refuseParameter(`Invalid '${path}': media by address is not taken here. Send it as base64 data.`, path)
}

// ---- the form that machines are sent ---------------------------------------------------------------------------

/** Members of the request that are for the server alone. */
const forServer = names('agent_id routing store previous_response_id metadata user')

/** `body`: as OpenAI's API has it. Members that the relay's protocol does not have are left out. */
export function toMachineForm(body: JsonObject, model: string, stream: boolean): JsonObject {
  const kept = Object.entries(body).filter(
    ([name]) => requestFields.has(name) && !forServer.has(name) && name !== 'stream',
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

/** The text of an optional member; what is no text is refused. */
export function optionalText(body: JsonObject, name: string): string | undefined {
  return optional(body[name], name, field.text)
}
