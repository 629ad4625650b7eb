// Repairs of Chat Completions requests, one per rule. Each changes only what its rules refuse.

import { isJsonObject, type JsonObject } from '../../lib/json.ts'
import {
  asJsonText,
  declaredNames,
  fixArgumentsText,
  fixContent,
  fixOpenaiSchemas,
  fixRoles,
  OPENAI_MODEL,
  type PartForm,
  renameOpenaiIds,
  renameOpenaiTools,
  turnOffStrictFormat,
  unknownOpenaiFields,
} from './openai.ts'
import { NO_RESULT, type PairItem, pairCalls, separateNested } from './pairing.ts'
import { fixPictures } from './pictures.ts'
import {
  addModel,
  asText,
  dropFields,
  type FieldRef,
  fieldRef,
  fixSurrogates,
  makeId,
  messagesIn,
  objectsOf,
  quoted,
  type Repair,
  type Report,
} from './repair.ts'
import { declarationFields, rewriteChoice, rewriteTools } from './tools.ts'

const MOST_PER_MESSAGE = 128

const toolCallsOf = (message: JsonObject): JsonObject[] => objectsOf(message['tool_calls'])
const innerOf = (call: JsonObject): JsonObject => {
  const inner = call['type'] === 'custom' ? call['custom'] : call['function']
  return isJsonObject(inner) ? inner : {}
}

// ---- calls and results -------------------------------------------------------------------------------------

type ChatItem = PairItem<{ message: JsonObject; call?: JsonObject }>

/** A message with calls becomes one item per call. */
function pairMessages(body: JsonObject, report: Report): void {
  const items = messagesIn(body).flatMap((message): ChatItem[] => {
    if (message['role'] === 'tool')
      return [{ kind: 'result', id: asText(message['tool_call_id']), value: { message } }]
    const calls = message['role'] === 'assistant' ? toolCallsOf(message) : []
    if (calls.length === 0)
      return [{ kind: message['role'] === 'assistant' ? 'said' : 'given', value: { message } }]
    return calls.map(call => ({
      kind: 'call',
      id: asText(call['id']),
      name: asText(innerOf(call)['name']),
      value: { message, call },
    }))
  })
  const paired = pairCalls(
    items,
    {
      makeResult: ({ id }) => ({ message: { role: 'tool', tool_call_id: id, content: NO_RESULT } }),
      begins: (item, before) => item.value.message !== before?.value.message,
    },
    report,
  )
  body['messages'] = [...new Set(paired.map(({ value }) => value.message))]
}

/** The tool messages directly after a message. */
function resultsAfter(messages: readonly JsonObject[], at: number): JsonObject[] {
  const rest = messages.slice(at + 1)
  const end = rest.findIndex(message => message['role'] !== 'tool')
  return end < 0 ? rest : rest.slice(0, end)
}

/** Gives calls without an id one, and the results without an id after them too, in order. */
function nameCalls(body: JsonObject, report: Report): void {
  const messages = messagesIn(body)
  for (const [at, message] of messages.entries()) {
    const nameless = resultsAfter(messages, at).filter(({ tool_call_id: id }) => asText(id) === '')
    for (const [place, call] of toolCallsOf(message).entries()) {
      if (asText(call['id']) !== '') continue
      const id = makeId(`${at} ${place}`, 'call_')
      call['id'] = id
      const result = nameless.shift()
      if (result !== undefined) result['tool_call_id'] = id
      report(`Gave the call of ${quoted(asText(innerOf(call)['name']))}, and its result, the id ${id}.`)
    }
  }
}

/** Splits a message with too many calls; each part is followed by its own results. */
function splitCalls(body: JsonObject, report: Report): void {
  const messages = messagesIn(body)
  const split: JsonObject[] = []
  const moved = new Set<JsonObject>()
  for (const [at, message] of messages.entries()) {
    if (moved.has(message)) continue
    const calls = toolCallsOf(message)
    if (calls.length <= MOST_PER_MESSAGE) {
      split.push(message)
      continue
    }
    report(`Split the ${calls.length} calls of message ${at}: one message holds ${MOST_PER_MESSAGE} at most.`)
    for (let from = 0; from < calls.length; from += MOST_PER_MESSAGE) {
      const batch = calls.slice(from, from + MOST_PER_MESSAGE)
      const ids = new Set(batch.map(call => call['id']))
      const results = resultsAfter(messages, at).filter(({ tool_call_id: id }) => ids.has(id))
      for (const result of results) moved.add(result)
      split.push(
        { ...(from === 0 ? message : { role: 'assistant', content: null }), tool_calls: batch },
        ...results,
      )
    }
  }
  body['messages'] = split
  const tools = objectsOf(body['tools'])
  if (tools.length <= MOST_PER_MESSAGE) return
  body['tools'] = tools.slice(0, MOST_PER_MESSAGE)
  report(`Dropped ${tools.length - MOST_PER_MESSAGE} tools: a request holds ${MOST_PER_MESSAGE} at most.`)
}

const callIdRefs = (body: JsonObject): FieldRef[] =>
  messagesIn(body).flatMap(message => [
    ...fieldRef(message, 'tool_call_id'),
    ...toolCallsOf(message).flatMap(call => fieldRef(call, 'id')),
  ])

const callNameRefs = (body: JsonObject): FieldRef[] =>
  messagesIn(body).flatMap(message => toolCallsOf(message).flatMap(call => fieldRef(innerOf(call), 'name')))

// ---- messages ----------------------------------------------------------------------------------------------

function dropEmptyLists(body: JsonObject, report: Report): void {
  for (const holder of [body, ...messagesIn(body)])
    for (const key of ['tools', 'tool_calls']) {
      const list = holder[key]
      if (!Array.isArray(list) || list.length > 0) continue
      delete holder[key]
      report(`Dropped an empty \`${key}\`.`)
    }
}

function fixChatShapes(body: JsonObject, report: Report): void {
  if (Array.isArray(body['messages']) && body['messages'].length === 0) {
    body['messages'] = [{ role: 'user', content: '(empty)' }]
    report('Added a message: there was none.')
  }
  fixRoles(messagesIn(body), report)
  for (const message of messagesIn(body)) {
    for (const call of toolCallsOf(message))
      fixArgumentsText(innerOf(call), call['type'] === 'custom' ? 'input' : 'arguments', call['id'], report)
    if (message['role'] === 'tool') fixToolContent(message, report)
    else fixChatContent(message, report)
  }
}

const PARTS: PartForm = {
  text: 'text',
  others: ['image_url', 'input_audio', 'file', 'refusal'],
  picture: url => ({ type: 'image_url', image_url: { url } }),
}

/** A message with calls needs no content, and an empty list is none. */
function fixChatContent(message: JsonObject, report: Report): void {
  const { content } = message
  if ((content ?? null) === null && toolCallsOf(message).length > 0) return
  if (Array.isArray(content) && content.length === 0) message['content'] = null
  fixContent(message, PARTS, report)
}

function fixToolContent(message: JsonObject, report: Report): void {
  const { content } = message
  const texts = objectsOf(content).filter(part => part['type'] === 'text')
  if (
    typeof content === 'string' ||
    (texts.length > 0 && Array.isArray(content) && texts.length === content.length)
  )
    return
  message['content'] = Array.isArray(content)
    ? [
        ...texts.map(part => asText(part['text'])),
        ...(texts.length < content.length ? ['[media left out]'] : []),
      ].join('\n')
    : asJsonText(content)
  report(
    `Made the result of ${quoted(asText(message['tool_call_id']))} plain text: a tool message holds nothing else.`,
  )
}

function fixChatChoice(body: JsonObject, report: Report): void {
  const offered = declaredNames(body)
  if (offered.length === 0 && body['parallel_tool_calls'] !== undefined) {
    delete body['parallel_tool_calls']
    report('Dropped `parallel_tool_calls`: no tool is offered.')
  }
  rewriteChoice(
    body,
    offered,
    choice => (typeof choice === 'string' ? choice : { type: 'function', function: { name: choice.tool } }),
    report,
  )
}

export const chatRepairs: readonly Repair[] = [
  { rules: ['body'], apply: fixSurrogates },
  { rules: ['C-00'], apply: addModel(OPENAI_MODEL) },
  { rules: ['C-06'], apply: dropEmptyLists },
  {
    rules: ['C-00', 'C-04'],
    apply: rewriteTools(
      tool => isJsonObject(tool['function']) || isJsonObject(tool['custom']),
      tool => ({ type: 'function', function: declarationFields(tool, 'parameters') }),
    ),
  },
  { rules: ['C-02', 'C-03'], apply: nameCalls },
  {
    rules: ['C-02'],
    apply: separateNested({
      calls: toolCallsOf,
      results: resultsAfter,
      resultId: 'tool_call_id',
      prefix: 'call_',
      isPerMessage: true,
    }),
  },
  { rules: ['C-01', 'C-02'], apply: pairMessages },
  { rules: ['C-03'], apply: renameOpenaiIds(callIdRefs, 40) },
  { rules: ['C-04'], apply: renameOpenaiTools(callNameRefs, 64) },
  { rules: ['C-05'], apply: splitCalls },
  { rules: ['C-07', 'C-10'], apply: fixChatChoice },
  { rules: ['C-00', 'C-08'], apply: fixChatShapes },
  { rules: ['C-09'], apply: fixOpenaiSchemas },
  {
    rules: ['C-09'],
    apply: ({ response_format: format }, report) =>
      turnOffStrictFormat(isJsonObject(format) ? format['json_schema'] : undefined, report),
  },
  { rules: ['C-IMG'], apply: fixPictures('chat') },
  { rules: ['C-00'], apply: dropFields(unknownOpenaiFields) },
]
