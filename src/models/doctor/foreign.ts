// Tools, choices and whole histories that are written in another vendor's form: read in any of the five, so that a
// repair can say them in the right one. A history in another form is named, and not bent: that is a change of vendor,
// which sessions are for.

import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'
import { type Did, objectsOf, shown, stringOf, type Treatment } from './treatment.ts'

// ---- tools -------------------------------------------------------------------------------------------------

export type ForeignTool = { name: string; description?: string; schema?: JsonObject }

/** What a declaration of any vendor says; undefined for a tool that a vendor runs itself. */
function readTool(tool: JsonObject): ForeignTool[] | undefined {
  const declared = tool['functionDeclarations'] ?? tool['function_declarations']
  if (Array.isArray(declared)) return objectsOf(declared).map(read)
  if (isJsonObject(tool['function'])) return [read(tool['function'])]
  const isPlain = tool['type'] === undefined || tool['type'] === 'custom' || tool['type'] === 'function'
  return isPlain && stringOf(tool['name']) !== '' ? [read(tool)] : undefined
}

function read(tool: JsonObject): ForeignTool {
  const { name, description } = tool
  const schema = ['parameters', 'input_schema', 'parametersJsonSchema', 'parameters_json_schema']
    .map(key => tool[key])
    .find(isJsonObject)
  return {
    name: stringOf(name),
    ...(typeof description === 'string' && { description }),
    ...(schema && { schema }),
  }
}

/** `isOwn`: the declaration is in this vendor's form already, right or wrong. */
export function reformTools(
  isOwn: (tool: JsonObject) => boolean,
  write: (tool: ForeignTool) => JsonObject,
): Treatment['apply'] {
  return (body, did) => {
    if (!Array.isArray(body['tools'])) return
    body['tools'] = objectsOf(body['tools']).flatMap(tool => {
      const said = isOwn(tool) ? undefined : readTool(tool)
      if (said === undefined) return [tool]
      for (const { name } of said) did(`Wrote the tool ${shown(name)} in this vendor's form.`)
      return said.map(write)
    })
  }
}

/** Of tools that the vendor refuses for what they are, by their places in the findings' messages. */
export function dropTools(pattern: RegExp): Treatment['apply'] {
  return (body, did, findings) => {
    const wrong = new Set(findings.flatMap(({ message, param }) => pattern.exec(param ?? message)?.[1] ?? []))
    const tools = objectsOf(body['tools'])
    body['tools'] = tools.filter((tool, at) => {
      if (!wrong.has(String(at))) return true
      did(
        `Dropped the tool ${shown(stringOf(tool['name']) || stringOf(tool['type']))}, which is none of this API.`,
      )
      return false
    })
    if (objectsOf(body['tools']).length === 0) delete body['tools']
  }
}

// ---- choices -----------------------------------------------------------------------------------------------

export type ForeignChoice = 'auto' | 'none' | 'required' | { tool: string }

const WORDS: Readonly<Record<string, ForeignChoice>> = {
  auto: 'auto',
  none: 'none',
  any: 'required',
  required: 'required',
}

/** What a tool choice of any vendor asks for; undefined when it is none that is known. */
export function readChoice(choice: Json | undefined): ForeignChoice | undefined {
  if (typeof choice === 'string') return WORDS[choice]
  if (!isJsonObject(choice)) return undefined
  const named = [choice, choice['function'], choice['custom']].filter(isJsonObject)
  const name = named.map(each => stringOf(each['name'])).find(each => each !== '')
  return name === undefined ? WORDS[stringOf(choice['type'])] : { tool: name }
}

/** Says the choice in this vendor's form, or nothing when it names what is not offered. */
export function rewriteChoice(
  body: JsonObject,
  names: readonly string[],
  write: (choice: ForeignChoice) => Json | undefined,
  did: Did,
): void {
  const given = body['tool_choice']
  const wanted = readChoice(given)
  const isOffered = typeof wanted !== 'object' || names.includes(wanted.tool)
  const said = wanted === undefined || names.length === 0 || !isOffered ? undefined : write(wanted)
  if (said !== undefined && JSON.stringify(said) !== JSON.stringify(given)) {
    body['tool_choice'] = said
    did('Wrote the tool choice in this vendor\u2019s form.')
  } else if (given !== undefined) {
    delete body['tool_choice']
    did('Dropped `tool_choice`: it is none of this API, or names no tool that is offered.')
  }
}

// ---- histories ---------------------------------------------------------------------------------------------

const BLOCKS = new Set(['tool_use', 'tool_result', 'thinking', 'redacted_thinking', 'server_tool_use'])
const ITEMS =
  /^(?:function_call|function_call_output|custom_tool_call|custom_tool_call_output|reasoning|message)$/
const STEPS = /^(?:user_input|model_output|thought|function_result)$/

/** The vendor whose form one message, item, turn or step is in; undefined where several have it alike. */
function formOf(item: JsonObject): string | undefined {
  if (Array.isArray(item['parts'])) return 'gemini'
  if (STEPS.test(stringOf(item['type']))) return 'gemini-interactions'
  if (ITEMS.test(stringOf(item['type'])) && (item['call_id'] !== undefined || item['role'] === undefined))
    return item['call_id'] === undefined && item['type'] === 'function_call'
      ? 'gemini-interactions'
      : 'openai-responses'
  if (item['tool_calls'] !== undefined || item['role'] === 'tool') return 'openai-chat'
  return objectsOf(item['content']).some(block => BLOCKS.has(stringOf(block['type'])))
    ? 'anthropic'
    : undefined
}

const LISTS: Readonly<Record<string, string>> = {
  anthropic: 'messages',
  'openai-chat': 'messages',
  'openai-responses': 'input',
  gemini: 'contents',
  'gemini-interactions': 'input',
}

/** The other vendor in whose form this history is written; undefined when it may be this one's. */
export function foreignForm(vendor: string, body: JsonObject): string | undefined {
  const key = LISTS[vendor] ?? 'messages'
  const list = Object.hasOwn(body, key)
    ? key
    : ['messages', 'contents', 'input'].find(each => Array.isArray(body[each]))
  const items = objectsOf(list === undefined ? undefined : body[list])
  const forms = new Set(items.map(formOf).filter(form => form !== undefined))
  if (forms.has(vendor)) return undefined
  const [other] = forms
  if (other !== undefined) return other
  // Plain messages are the two vendors' who call them so, and Responses takes them too.
  const isPlain =
    items.length > 0 && items.every(item => item['role'] !== undefined && item['content'] !== undefined)
  if (!isPlain || !vendor.startsWith('gemini')) return undefined
  return items.some(item => item['type'] === 'message') ? 'openai-responses' : 'openai-chat'
}
