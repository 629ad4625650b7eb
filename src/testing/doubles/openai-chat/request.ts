/**
 * What Chat Completions refuses: the rows C-01 to C-10 of the contract, over a parsed body.
 * `C-00` is the plain shape of the request, which the vendor checks first. Nothing is answered here, and the
 * looser judgement of compatible servers is a function of its own, so that the strict one has no switches.
 */
import {
  absent,
  arrayTooLong,
  checkPicture,
  checkString,
  checkToolFormat,
  emptyArray,
  isObject,
  type Json,
  missing,
  refuse,
  TOOL_NAME_PATTERN,
  textOf,
  unsupportedValue,
  wrongType,
} from '../openai/refusals.ts'
import { checkLooseSchema, checkStrictSchema } from '../openai/schema.ts'
import type { Rejection } from '../script.ts'

const NAME = { max: 64, pattern: TOOL_NAME_PATTERN }
const CALL_ID = { max: 40 }
const MAX_ENTRIES = 128
const ROLES = ['system', 'assistant', 'user', 'function', 'tool', 'developer']

const PARAMETERS = new Set(
  (
    'messages model audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens ' +
    'max_tokens metadata modalities moderation n parallel_tool_calls prediction presence_penalty ' +
    'prompt_cache_key prompt_cache_options prompt_cache_retention reasoning_effort response_format ' +
    'safety_identifier seed service_tier stop store stream stream_options temperature tool_choice tools ' +
    'top_logprobs top_p user verbosity web_search_options'
  ).split(' '),
)

/** Every rule that the body breaks, the one that the API reports first in front. */
export function checkChat(body: unknown): Rejection[] {
  if (!isObject(body)) return [wrongType('C-00', 'body', 'an object', body)]
  return [
    ...checkEnvelope(body),
    ...checkMessages(body['messages']),
    ...checkTools(body['tools']),
    ...checkPairing(body['messages']),
    ...checkChoice(body),
    ...checkFormat(body['response_format']),
  ]
}

/** What an OpenAI-compatible server still minds: messages with a role, and arguments that are text. */
export function checkCompatibleChat(body: unknown): Rejection[] {
  if (!isObject(body)) return [wrongType('C-00', 'body', 'an object', body)]
  if (!Array.isArray(body['messages'])) return [missing('C-00', 'messages')]
  const messages: unknown[] = body['messages']
  return messages.flatMap((message, at) => {
    if (!isObject(message)) return [wrongType('C-00', `messages[${at}]`, 'an object', message)]
    const calls: unknown[] = Array.isArray(message['tool_calls']) ? message['tool_calls'] : []
    return [
      ...checkString('C-00', `messages[${at}].role`, message['role']),
      ...calls.flatMap((call, j) => checkCallBody(call, `messages[${at}].tool_calls[${j}]`)),
    ]
  })
}

function checkEnvelope(body: Json): Rejection[] {
  const found: Rejection[] = []
  const unknown = Object.keys(body).filter(key => !PARAMETERS.has(key))
  if (unknown.length > 0) {
    found.push(
      refuse(
        'C-00',
        `Unrecognized request argument${unknown.length > 1 ? 's' : ''} supplied: ${unknown.join(', ')}`,
      ),
    )
  }
  if (typeof body['model'] !== 'string' || body['model'] === '') {
    found.push(refuse('C-00', 'you must provide a model parameter'))
  }
  if (!absent(body['stream_options']) && body['stream'] !== true) {
    const message = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
    found.push(refuse('C-00', message, 'stream_options'))
  }
  if (!absent(body['max_tokens']) && !absent(body['max_completion_tokens'])) {
    const message =
      "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported. Please use only one of them."
    found.push(refuse('C-00', message, 'max_tokens', 'invalid_parameter_combination'))
  }
  return found
}

function checkMessages(messages: unknown): Rejection[] {
  if (absent(messages)) return [missing('C-00', 'messages')]
  if (!Array.isArray(messages)) return [wrongType('C-00', 'messages', 'an array of objects', messages)]
  if (messages.length === 0) return [emptyArray('C-00', 'messages')]
  return messages.flatMap((message: unknown, at) => checkMessage(message, at))
}

function checkMessage(message: unknown, at: number): Rejection[] {
  const path = `messages[${at}]`
  if (!isObject(message)) return [wrongType('C-00', path, 'an object', message)]
  const role = message['role']
  if (role === undefined) return [missing('C-00', `${path}.role`)]
  switch (role) {
    case 'system':
    case 'developer':
      return checkContent('C-00', `${path}.content`, message['content'], ['text'])
    case 'user':
      return checkContent('C-00', `${path}.content`, message['content'], [
        'text',
        'image_url',
        'input_audio',
        'file',
      ])
    case 'assistant':
      return checkAssistant(message, at)
    case 'tool':
      return checkToolMessage(message, at)
    case 'function':
      return checkString('C-00', `${path}.name`, message['name'])
    default:
      return [unsupportedValue('C-00', `${path}.role`, role, ROLES)]
  }
}

function checkContent(rule: string, path: string, content: unknown, partTypes: string[]): Rejection[] {
  if (content === undefined) return [missing(rule, path)]
  if (typeof content === 'string') return []
  if (!Array.isArray(content)) {
    return [wrongType(rule, path, 'one of a string or array of objects', content)]
  }
  if (content.length === 0) return [emptyArray(rule, path)]
  return content.flatMap((part: unknown, at) => {
    if (!isObject(part)) return [wrongType(rule, `${path}[${at}]`, 'an object', part)]
    const type = part['type']
    if (typeof type !== 'string' || !partTypes.includes(type)) {
      return [unsupportedValue(rule, `${path}[${at}].type`, type, partTypes)]
    }
    if (type === 'image_url') {
      const image = part['image_url']
      return checkPicture('C-IMG', `${path}[${at}].image_url`, isObject(image) ? image['url'] : image)
    }
    return type === 'text' ? checkString(rule, `${path}[${at}].text`, part['text'], { allowEmpty: true }) : []
  })
}

function checkAssistant(message: Json, at: number): Rejection[] {
  const path = `messages[${at}]`
  const calls = message['tool_calls']
  const speaks = ['tool_calls', 'function_call', 'refusal', 'audio'].some(key => !absent(message[key]))
  const content =
    absent(message['content']) && !speaks
      ? [
          refuse(
            'C-00',
            "Invalid value for 'content': expected a string, got null.",
            `messages.[${at}].content`,
          ),
        ]
      : absent(message['content'])
        ? []
        : checkContent('C-00', `${path}.content`, message['content'], ['text', 'refusal'])
  if (calls === undefined) return content
  if (!Array.isArray(calls)) return [wrongType('C-00', `${path}.tool_calls`, 'an array of objects', calls)]
  if (calls.length === 0) return [emptyArray('C-06', `${path}.tool_calls`)]
  if (calls.length > MAX_ENTRIES) {
    return [arrayTooLong('C-05', `${path}.tool_calls`, MAX_ENTRIES, calls.length)]
  }
  return [
    ...content,
    ...calls.flatMap((call: unknown, j) => {
      const where = `${path}.tool_calls[${j}]`
      return [
        ...(isObject(call) ? checkString('C-03', `${where}.id`, call['id'], CALL_ID) : []),
        ...checkCallBody(call, where),
        ...checkCallName(call, where),
      ]
    }),
  ]
}

function checkCallBody(call: unknown, path: string): Rejection[] {
  if (!isObject(call)) return [wrongType('C-08', path, 'an object', call)]
  const type = call['type'] ?? 'function'
  if (type !== 'function' && type !== 'custom') {
    return [unsupportedValue('C-08', `${path}.type`, type, ['function', 'custom'])]
  }
  const inner = call[type]
  if (!isObject(inner)) return [missing('C-08', `${path}.${type}`)]
  const field = type === 'function' ? 'arguments' : 'input'
  return checkString('C-08', `${path}.${type}.${field}`, inner[field], { allowEmpty: true })
}

function checkCallName(call: unknown, path: string): Rejection[] {
  if (!isObject(call)) return []
  const type = call['type'] === 'custom' ? 'custom' : 'function'
  const inner = call[type]
  return isObject(inner) ? checkString('C-04', `${path}.${type}.name`, inner['name'], NAME) : []
}

function checkToolMessage(message: Json, at: number): Rejection[] {
  const path = `messages[${at}]`
  if (message['tool_call_id'] === undefined) {
    const text = "Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'."
    return [refuse('C-02', text, `messages.[${at}].tool_call_id`)]
  }
  return [
    ...checkString('C-03', `${path}.tool_call_id`, message['tool_call_id'], CALL_ID),
    ...checkContent('C-08', `${path}.content`, message['content'], ['text']),
  ]
}

/** The calls of the message before, with those that still wait for an answer. */
type Open = { at: number; asked: Set<string>; waiting: Set<string> }

function checkPairing(messages: unknown): Rejection[] {
  if (!Array.isArray(messages)) return []
  const found: Rejection[] = []
  let open: Open | null = null
  for (const [at, message] of messages.entries()) {
    if (!isObject(message)) continue
    if (message['role'] === 'tool') {
      found.push(...answerCall(open, textOf(message['tool_call_id']), at))
      continue
    }
    found.push(...unanswered(open))
    open = callsOf(message, at)
  }
  return [...found, ...unanswered(open)]
}

function callsOf(message: Json, at: number): Open | null {
  if (message['role'] !== 'assistant' || !Array.isArray(message['tool_calls'])) return null
  const calls: unknown[] = message['tool_calls']
  const ids = calls.flatMap(call => (isObject(call) && typeof call['id'] === 'string' ? [call['id']] : []))
  return { at, asked: new Set(ids), waiting: new Set(ids) }
}

function answerCall(open: Open | null, id: string, at: number): Rejection[] {
  if (open === null) {
    const message =
      "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
    return [refuse('C-02', message, `messages.[${at}].role`)]
  }
  if (open.waiting.delete(id)) return []
  if (open.asked.has(id)) {
    const message = `Duplicate value for 'tool_call_id' of '${id}' in message[${at}].`
    return [refuse('C-02', message, `messages.[${at}].tool_call_id`)]
  }
  const message = `Invalid parameter: 'tool_call_id' of '${id}' not found in 'tool_calls' of previous message.`
  return [refuse('C-02', message, `messages.[${at}].tool_call_id`)]
}

function unanswered(open: Open | null): Rejection[] {
  if (open === null || open.waiting.size === 0) return []
  const ids = [...open.waiting].join(', ')
  const message = `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${ids}`
  return [refuse('C-01', message, `messages.[${open.at}].role`)]
}

function checkTools(tools: unknown): Rejection[] {
  if (absent(tools)) return []
  if (!Array.isArray(tools)) return [wrongType('C-00', 'tools', 'an array of objects', tools)]
  if (tools.length === 0) return [emptyArray('C-06', 'tools')]
  if (tools.length > MAX_ENTRIES) return [arrayTooLong('C-05', 'tools', MAX_ENTRIES, tools.length)]
  return tools.flatMap((tool: unknown, at) => checkTool(tool, `tools[${at}]`))
}

function checkTool(tool: unknown, path: string): Rejection[] {
  if (!isObject(tool)) return [wrongType('C-00', path, 'an object', tool)]
  const type = tool['type']
  if (type === undefined) return [missing('C-00', `${path}.type`)]
  if (type !== 'function' && type !== 'custom') {
    return [unsupportedValue('C-00', `${path}.type`, type, ['function', 'custom'])]
  }
  const inner = tool[type]
  if (!isObject(inner)) return [missing('C-00', `${path}.${type}`)]
  const name = checkString('C-04', `${path}.${type}.name`, inner['name'], NAME)
  if (type === 'custom')
    return [...name, ...checkToolFormat('C-00', `${path}.custom.format`, inner['format'], true)]
  if (absent(inner['parameters'])) return name
  const judge = inner['strict'] === true ? checkStrictSchema : checkLooseSchema
  const place = { rule: 'C-09', param: `${path}.function.parameters` }
  const schema = judge(textOf(inner['name']), inner['parameters'], place)
  return schema === null ? name : [...name, schema]
}

function checkChoice(body: Json): Rejection[] {
  const tools: unknown[] = Array.isArray(body['tools']) ? body['tools'] : []
  const found: Rejection[] = []
  for (const name of ['tool_choice', 'parallel_tool_calls']) {
    if (absent(body[name]) || !absent(body['tools'])) continue
    const message = `Invalid value for '${name}': '${name}' is only allowed when 'tools' are specified.`
    found.push(refuse('C-07', message, name))
  }
  const parallel = body['parallel_tool_calls']
  if (!absent(parallel) && typeof parallel !== 'boolean') {
    found.push(wrongType('C-00', 'parallel_tool_calls', 'a boolean', parallel))
  }
  return [...found, ...checkChoiceForm(body['tool_choice'], tools)]
}

function checkChoiceForm(choice: unknown, tools: unknown[]): Rejection[] {
  if (absent(choice)) return []
  if (typeof choice === 'string') {
    const words = ['none', 'auto', 'required']
    return words.includes(choice) ? [] : [unsupportedValue('C-10', 'tool_choice', choice, words)]
  }
  if (!isObject(choice)) {
    return [wrongType('C-10', 'tool_choice', 'one of a tool choice object or string', choice)]
  }
  const type = choice['type']
  if (type === 'function' || type === 'custom') return checkNamed(choice, tools, 'tool_choice')
  if (type !== 'allowed_tools') {
    return [unsupportedValue('C-10', 'tool_choice.type', type, ['function', 'allowed_tools', 'custom'])]
  }
  const allowed = choice['allowed_tools']
  if (!isObject(allowed)) return [missing('C-10', 'tool_choice.allowed_tools')]
  if (allowed['mode'] !== 'auto' && allowed['mode'] !== 'required') {
    return [unsupportedValue('C-10', 'tool_choice.allowed_tools.mode', allowed['mode'], ['auto', 'required'])]
  }
  if (!Array.isArray(allowed['tools'])) return [missing('C-10', 'tool_choice.allowed_tools.tools')]
  return allowed['tools'].flatMap((entry: unknown, at) =>
    checkNamed(entry, tools, `tool_choice.allowed_tools.tools[${at}]`),
  )
}

/** `{type: 'function', function: {name}}` or the same with `custom`; the tool must be among those offered. */
function checkNamed(entry: unknown, tools: unknown[], path: string): Rejection[] {
  if (!isObject(entry)) return [wrongType('C-10', path, 'an object', entry)]
  const type = entry['type'] === 'custom' ? 'custom' : 'function'
  const inner = entry[type]
  if (!isObject(inner)) return [missing('C-10', `${path}.${type}`)]
  const name = inner['name']
  const wrong = checkString('C-10', `${path}.${type}.name`, name)
  if (wrong.length > 0) return wrong
  const offered = tools.some(tool => {
    const declared = isObject(tool) && tool['type'] === type ? tool[type] : undefined
    return isObject(declared) && declared['name'] === name
  })
  if (offered) return []
  const message = `Invalid value for 'tool_choice': no ${type} named '${textOf(name)}' was specified in the 'tools' parameter.`
  return [refuse('C-10', message, 'tool_choice')]
}

function checkFormat(format: unknown): Rejection[] {
  if (absent(format)) return []
  if (!isObject(format)) return [wrongType('C-00', 'response_format', 'an object', format)]
  const types = ['json_object', 'json_schema', 'text']
  const type = format['type']
  if (typeof type !== 'string' || !types.includes(type)) {
    return [unsupportedValue('C-00', 'response_format.type', type, types)]
  }
  if (type !== 'json_schema') return []
  const inner = format['json_schema']
  if (!isObject(inner)) return [missing('C-00', 'response_format.json_schema')]
  const name = checkString('C-09', 'response_format.json_schema.name', inner['name'], NAME)
  if (inner['strict'] !== true) return name
  const place = { rule: 'C-09', param: 'response_format', subject: 'response_format' } as const
  const schema = checkStrictSchema(textOf(inner['name']), inner['schema'], place)
  return schema === null ? name : [...name, schema]
}
