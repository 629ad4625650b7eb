// Repairs of Chat Completions requests, rule by rule. Each changes what its rules complain of and nothing else.

import { isJsonObject, type JsonObject } from '../../lib/json.ts'
import { reformTools, rewriteChoice } from './foreign.ts'
import {
  dropUnknown,
  fillModel,
  fixRoles,
  fixSchemas,
  looseFormat,
  namesOf,
  respellIds,
  respellNames,
  textOf,
} from './openai.ts'
import { type Item, NO_RESULT, pair } from './pairing.ts'
import { mendPictures } from './pictures.ts'
import {
  type Did,
  mendText,
  objectsOf,
  plainId,
  type Slot,
  shown,
  slot,
  stringOf,
  type Treatment,
} from './treatment.ts'

const MOST = 128

const messagesOf = (body: JsonObject): JsonObject[] => objectsOf(body['messages'])
const callsOf = (message: JsonObject): JsonObject[] => objectsOf(message['tool_calls'])
const innerOf = (call: JsonObject): JsonObject => {
  const inner = call['type'] === 'custom' ? call['custom'] : call['function']
  return isJsonObject(inner) ? inner : {}
}

// ---- calls and results -------------------------------------------------------------------------------------

type ChatItem = Item<{ message: JsonObject; call?: JsonObject }>

/** A message with calls is one item for each; the first carries what was said. */
function pairMessages(body: JsonObject, did: Did): void {
  const items = messagesOf(body).flatMap((message): ChatItem[] => {
    if (message['role'] === 'tool')
      return [{ kind: 'result', id: stringOf(message['tool_call_id']), value: { message } }]
    const calls = message['role'] === 'assistant' ? callsOf(message) : []
    if (calls.length === 0)
      return [{ kind: message['role'] === 'assistant' ? 'said' : 'given', value: { message } }]
    return calls.map(call => ({
      kind: 'call',
      id: stringOf(call['id']),
      name: stringOf(innerOf(call)['name']),
      value: { message, call },
    }))
  })
  const paired = pair(
    items,
    {
      makeResult: ({ id }) => ({ message: { role: 'tool', tool_call_id: id, content: NO_RESULT } }),
      begins: (item, before) => item.value.message !== before?.value.message,
    },
    did,
  )
  body['messages'] = [...new Set(paired.map(({ value }) => value.message))]
}

/** The tool messages that directly follow a message with calls. */
function resultsAfter(messages: readonly JsonObject[], at: number): JsonObject[] {
  const rest = messages.slice(at + 1)
  const end = rest.findIndex(message => message['role'] !== 'tool')
  return end < 0 ? rest : rest.slice(0, end)
}

/** Calls without an id get one, and so do the results after them that name none, in their order. */
function nameCalls(body: JsonObject, did: Did): void {
  const messages = messagesOf(body)
  for (const [at, message] of messages.entries()) {
    const nameless = resultsAfter(messages, at).filter(({ tool_call_id: id }) => stringOf(id) === '')
    for (const [place, call] of callsOf(message).entries()) {
      if (stringOf(call['id']) !== '') continue
      const id = plainId(`${at} ${place}`, 'call_')
      call['id'] = id
      const result = nameless.shift()
      if (result !== undefined) result['tool_call_id'] = id
      did(`Gave the call of ${shown(stringOf(innerOf(call)['name']))}, and its result, the id ${id}.`)
    }
  }
}

/** Calls of one message that share an id: each gets its own, and so does the result in the same place. */
function separateIds(body: JsonObject, did: Did): void {
  const messages = messagesOf(body)
  for (const [at, message] of messages.entries()) {
    const seen = new Set<string>()
    for (const [place, call] of callsOf(message).entries()) {
      const id = stringOf(call['id'])
      if (!seen.has(id)) {
        seen.add(id)
        continue
      }
      const spelled = plainId(`${id} ${at} ${place}`, 'call_')
      const own = resultsAfter(messages, at).filter(result => result['tool_call_id'] === id)[1]
      call['id'] = spelled
      if (own !== undefined) own['tool_call_id'] = spelled
      did(`Renamed the second call ${shown(id)}, and its result, to ${spelled}.`)
    }
  }
}

/** More calls than a message may hold are told in several, each followed by its own results. */
function splitCalls(body: JsonObject, did: Did): void {
  const messages = messagesOf(body)
  const split: JsonObject[] = []
  const moved = new Set<JsonObject>()
  for (const [at, message] of messages.entries()) {
    if (moved.has(message)) continue
    const calls = callsOf(message)
    if (calls.length <= MOST) {
      split.push(message)
      continue
    }
    did(`Told the ${calls.length} calls of message ${at} in several messages: one holds ${MOST} at most.`)
    for (let from = 0; from < calls.length; from += MOST) {
      const batch = calls.slice(from, from + MOST)
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
  if (tools.length <= MOST) return
  body['tools'] = tools.slice(0, MOST)
  did(`Dropped ${tools.length - MOST} tools: ${MOST} is the most.`)
}

const ids = (body: JsonObject): Slot[] =>
  messagesOf(body).flatMap(message => [
    ...slot(message, 'tool_call_id'),
    ...callsOf(message).flatMap(call => slot(call, 'id')),
  ])

const names = (body: JsonObject): Slot[] =>
  messagesOf(body).flatMap(message => callsOf(message).flatMap(call => slot(innerOf(call), 'name')))

// ---- messages ----------------------------------------------------------------------------------------------

function dropEmptyLists(body: JsonObject, did: Did): void {
  for (const holder of [body, ...messagesOf(body)])
    for (const key of ['tools', 'tool_calls']) {
      const list = holder[key]
      if (!Array.isArray(list) || list.length > 0) continue
      delete holder[key]
      did(`Dropped an empty \`${key}\`.`)
    }
}

function fixShapes(body: JsonObject, did: Did): void {
  if (Array.isArray(body['messages']) && body['messages'].length === 0) {
    body['messages'] = [{ role: 'user', content: '(empty)' }]
    did('Added a message: there was none.')
  }
  fixRoles(messagesOf(body), did)
  for (const message of messagesOf(body)) {
    for (const call of callsOf(message)) {
      const inner = innerOf(call)
      const key = call['type'] === 'custom' ? 'input' : 'arguments'
      if (typeof inner[key] === 'string') continue
      inner[key] = textOf(inner[key])
      did(`Made the ${key} of call ${shown(stringOf(call['id']))} a text.`)
    }
    if (message['role'] === 'tool') fixToolContent(message, did)
    else fixContent(message, did)
  }
}

const TEXTS = new Set(['text', 'input_text', 'output_text'])
const PARTS = new Set(['text', 'image_url', 'input_audio', 'file', 'refusal'])

function fixContent(message: JsonObject, did: Did): void {
  const { content } = message
  if (typeof content === 'string') return
  if (Array.isArray(content) && content.length > 0) {
    message['content'] = objectsOf(content).map(part => fixPart(part, did))
    return
  }
  if ((content === undefined || content === null) && callsOf(message).length > 0) return
  message['content'] =
    content === undefined || content === null || Array.isArray(content) ? '' : textOf(content)
  did(`Made the content of a message of the ${stringOf(message['role'])} a text.`)
}

function fixPart(part: JsonObject, did: Did): JsonObject {
  const type = stringOf(part['type'])
  if (type === 'text' && typeof part['text'] !== 'string') {
    did('Made a text of what stood in the place of one.')
    return { ...part, text: textOf(part['text']) }
  }
  if (PARTS.has(type)) return part
  if (type === 'input_image') {
    did('Wrote a picture in this API\u2019s form.')
    return { type: 'image_url', image_url: { url: stringOf(part['image_url']) } }
  }
  did(`Wrote a part of the type ${shown(type)} as text.`)
  return { type: 'text', text: TEXTS.has(type) ? textOf(part['text']) : JSON.stringify(part) }
}

function fixToolContent(message: JsonObject, did: Did): void {
  const { content } = message
  const texts = objectsOf(content).filter(part => part['type'] === 'text')
  if (
    typeof content === 'string' ||
    (texts.length > 0 && Array.isArray(content) && texts.length === content.length)
  )
    return
  message['content'] = Array.isArray(content)
    ? [
        ...texts.map(part => stringOf(part['text'])),
        ...(texts.length < content.length ? ['[media left out]'] : []),
      ].join('\n')
    : textOf(content)
  did(
    `Made the result of ${shown(stringOf(message['tool_call_id']))} plain text, as a tool message takes nothing else.`,
  )
}

function fixChoice(body: JsonObject, did: Did): void {
  const offered = namesOf(body)
  if (offered.length === 0 && body['parallel_tool_calls'] !== undefined) {
    delete body['parallel_tool_calls']
    did('Dropped `parallel_tool_calls`: no tool is offered.')
  }
  rewriteChoice(
    body,
    offered,
    choice => (typeof choice === 'string' ? choice : { type: 'function', function: { name: choice.tool } }),
    did,
  )
}

export const chatTreatments: readonly Treatment[] = [
  { rules: ['body'], apply: mendText },
  { rules: ['C-00'], apply: fillModel },
  { rules: ['C-06'], apply: dropEmptyLists },
  {
    rules: ['C-00', 'C-04'],
    apply: reformTools(
      tool => isJsonObject(tool['function']) || isJsonObject(tool['custom']),
      ({ name, description, schema }) => ({
        type: 'function',
        function: {
          name,
          ...(description !== undefined && { description }),
          ...(schema && { parameters: schema }),
        },
      }),
    ),
  },
  { rules: ['C-02', 'C-03'], apply: nameCalls },
  { rules: ['C-02'], apply: separateIds },
  { rules: ['C-01', 'C-02'], apply: pairMessages },
  { rules: ['C-03'], apply: respellIds(ids, 40) },
  { rules: ['C-04'], apply: respellNames(names, 64) },
  { rules: ['C-05'], apply: splitCalls },
  { rules: ['C-07', 'C-10'], apply: fixChoice },
  { rules: ['C-00', 'C-08'], apply: fixShapes },
  { rules: ['C-09'], apply: fixSchemas },
  {
    rules: ['C-09'],
    apply: ({ response_format: format }, did) =>
      looseFormat(isJsonObject(format) ? format['json_schema'] : undefined, did),
  },
  { rules: ['C-IMG'], apply: mendPictures('chat') },
  { rules: ['C-00'], apply: dropUnknown },
]
