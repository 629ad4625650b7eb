// Repairs of Chat Completions and Responses requests, rule by rule. Both name, pair and declare alike; where calls and
// results stand differs.

import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'
import { openaiLoose, toDialect } from '../common/schema-dialect.ts'
import { wireNames } from '../common/wire-names.ts'
import { type Item, NO_RESULT, pair, separateCalls } from './pairing.ts'
import {
  type Did,
  type Finding,
  mendText,
  objectsOf,
  plainId,
  removeAt,
  respell,
  type Slot,
  shown,
  slot,
  stringOf,
  type Treatment,
} from './treatment.ts'

const textOf = (value: Json | undefined): string =>
  typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value)

// ---- tools -------------------------------------------------------------------------------------------------

/** The part of a declaration that holds its name: nested in Chat, flat in Responses. */
function declarationsOf(body: JsonObject): JsonObject[] {
  return objectsOf(body['tools']).flatMap(tool => {
    const { type, function: named, custom } = tool
    if (isJsonObject(named)) return [named]
    if (isJsonObject(custom)) return [custom]
    return type === 'function' || type === 'custom' ? [tool] : []
  })
}

function choiceSlots(body: JsonObject): Slot[] {
  const choice = body['tool_choice']
  if (!isJsonObject(choice)) return []
  return [...slot(choice, 'name'), ...slot(choice['function'], 'name'), ...slot(choice['custom'], 'name')]
}

function respellNames(called: (body: JsonObject) => Slot[], maxLength: number): Treatment['apply'] {
  return (body, did) => {
    const own = declarationsOf(body)
    const names = wireNames(
      own.map(tool => stringOf(tool['name'])),
      { pattern: /^[a-zA-Z0-9_-]+$/, maxLength },
    )
    respell(
      [...own.flatMap(tool => slot(tool, 'name')), ...called(body), ...choiceSlots(body)],
      name => names.toWire(name),
      (old, name) => did(`Renamed the tool ${shown(old)} to ${name} everywhere.`),
    )
  }
}

function respellIds(slots: (body: JsonObject) => Slot[], most: number): Treatment['apply'] {
  return (body, did) =>
    respell(
      slots(body),
      id => (id !== '' && id.length <= most ? undefined : plainId(id, 'call_', most)),
      (old, id) => did(`Renamed the call id ${shown(old)} to ${id}, in the call and in its result.`),
    )
}

function fixSchemas(body: JsonObject, did: Did): void {
  for (const tool of declarationsOf(body)) {
    const given = tool['parameters']
    if (!isJsonObject(given)) continue
    const adapted = toDialect(given, openaiLoose)
    const schema: JsonObject = 'unusable' in adapted ? { type: 'object', properties: {} } : adapted.schema
    if (JSON.stringify(schema) === JSON.stringify(given) && tool['strict'] !== true) continue
    tool['parameters'] = schema
    if (tool['strict'] === true) {
      tool['strict'] = false
      did(`Took strictness from ${shown(stringOf(tool['name']))}: its schema is not of the strict kind.`)
    } else did(`Rewrote the schema of ${shown(stringOf(tool['name']))}.`)
  }
}

function dropChoice(body: JsonObject, did: Did): void {
  for (const key of ['tool_choice', 'parallel_tool_calls']) {
    if (body[key] === undefined) continue
    delete body[key]
    did(`Dropped \`${key}\`: it names no tool that is offered.`)
  }
}

function dropUnknown(body: JsonObject, did: Did, findings: readonly Finding[]): void {
  for (const { message, param } of findings) {
    const listed = /supplied: (.+)$/.exec(message)?.[1]?.split(', ') ?? []
    const named = /^(?:Unknown|Unsupported) parameter: '([^']+)'/.exec(message)?.[1] ?? param ?? ''
    for (const path of listed.length > 0 ? listed : [named])
      if (path !== '' && removeAt(body, path)) did(`Dropped \`${path}\`, which this API does not take so.`)
  }
}

function fillModel(body: JsonObject, did: Did): void {
  if (stringOf(body['model']) !== '') return
  body['model'] = 'gpt-5.2'
  did('Added a model.')
}

// ---- Chat Completions --------------------------------------------------------------------------------------

const messagesOf = (body: JsonObject): JsonObject[] => objectsOf(body['messages'])
const chatCalls = (message: JsonObject): JsonObject[] => objectsOf(message['tool_calls'])
const innerOf = (call: JsonObject): JsonObject => {
  const inner = call['type'] === 'custom' ? call['custom'] : call['function']
  return isJsonObject(inner) ? inner : {}
}

type ChatItem = Item<{ message: JsonObject; call?: JsonObject }>

/** A message with calls is one item for each; the first carries what was said. */
function pairChat(body: JsonObject, did: Did): void {
  const items = messagesOf(body).flatMap((message): ChatItem[] => {
    if (message['role'] === 'tool')
      return [{ kind: 'result', id: stringOf(message['tool_call_id']), value: { message } }]
    const calls = message['role'] === 'assistant' ? chatCalls(message) : []
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

const chatIds = (body: JsonObject): Slot[] =>
  messagesOf(body).flatMap(message => [
    ...slot(message, 'tool_call_id'),
    ...chatCalls(message).flatMap(call => slot(call, 'id')),
  ])

const chatNames = (body: JsonObject): Slot[] =>
  messagesOf(body).flatMap(message => chatCalls(message).flatMap(call => slot(innerOf(call), 'name')))

function dropEmptyLists(body: JsonObject, did: Did): void {
  for (const holder of [body, ...messagesOf(body)])
    for (const key of ['tools', 'tool_calls']) {
      const list = holder[key]
      if (!Array.isArray(list) || list.length > 0) continue
      delete holder[key]
      did(`Dropped an empty \`${key}\`.`)
    }
}

function fixChatShapes(body: JsonObject, did: Did): void {
  for (const message of messagesOf(body)) {
    for (const call of chatCalls(message)) {
      const inner = innerOf(call)
      const key = call['type'] === 'custom' ? 'input' : 'arguments'
      if (typeof inner[key] === 'string') continue
      inner[key] = textOf(inner[key])
      did(`Made the ${key} of call ${shown(stringOf(call['id']))} a text.`)
    }
    if (message['role'] === 'tool') fixToolContent(message, did)
    else if (message['content'] === undefined || message['content'] === null) {
      if (message['role'] === 'assistant' && chatCalls(message).length > 0) continue
      message['content'] = ''
      did('Gave a message without content an empty one.')
    }
  }
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

function dropTools(body: JsonObject, did: Did): void {
  const tools = objectsOf(body['tools'])
  if (tools.length <= 128) return
  body['tools'] = tools.slice(0, 128)
  did(`Dropped ${tools.length - 128} tools: 128 is the most.`)
}

export const chatTreatments: readonly Treatment[] = [
  { rules: ['C-00'], apply: mendText },
  { rules: ['C-00'], apply: fillModel },
  { rules: ['C-06'], apply: dropEmptyLists },
  { rules: ['C-01', 'C-02'], apply: pairChat },
  { rules: ['C-03'], apply: respellIds(chatIds, 40) },
  { rules: ['C-04'], apply: respellNames(chatNames, 64) },
  { rules: ['C-05'], apply: dropTools },
  { rules: ['C-07', 'C-10'], apply: dropChoice },
  { rules: ['C-00', 'C-08'], apply: fixChatShapes },
  { rules: ['C-09'], apply: fixSchemas },
  { rules: ['C-00'], apply: dropUnknown },
]

// ---- Responses ---------------------------------------------------------------------------------------------

const SEALED = 'reasoning.encrypted_content'
const itemsOf = (body: JsonObject): JsonObject[] => objectsOf(body['input'])
const typeOf = (item: JsonObject): string =>
  stringOf(item['type']) || (item['role'] === undefined ? '' : 'message')
const isCall = (item: JsonObject): boolean => ['function_call', 'custom_tool_call'].includes(typeOf(item))
const isOutput = (item: JsonObject): boolean => isCallOutput(typeOf(item))
const isCallOutput = (type: string): boolean =>
  ['function_call_output', 'custom_tool_call_output'].includes(type)

const separateItems: Treatment['apply'] = (body, did) =>
  separateCalls(
    itemsOf(body),
    {
      call: item => (isCall(item) ? 'call_id' : undefined),
      result: item => (isOutput(item) ? 'call_id' : undefined),
    },
    did,
  )

function pairItems(body: JsonObject, did: Did): void {
  const types = new Map(
    itemsOf(body)
      .filter(isCall)
      .map(item => [stringOf(item['call_id']), typeOf(item)]),
  )
  const items = itemsOf(body).map((value): Item<JsonObject> => {
    if (isOutput(value)) return { kind: 'result', id: stringOf(value['call_id']), value }
    if (isCall(value))
      return { kind: 'call', id: stringOf(value['call_id']), name: stringOf(value['name']), value }
    const given = typeOf(value) === 'message' && value['role'] !== 'assistant'
    return { kind: given ? 'given' : 'said', value }
  })
  const paired = pair(
    items,
    {
      makeResult: ({ id }) => ({
        type: `${types.get(id) ?? 'function_call'}_output`,
        call_id: id,
        output: NO_RESULT,
      }),
      begins: () => false,
    },
    did,
  )
  body['input'] = paired.map(({ value }) => value)
}

function fixItemIds(body: JsonObject, did: Did, findings: readonly Finding[]): void {
  const seen = new Set<string>()
  const isNamed = (path: string): boolean => findings.some(({ param }) => param === path)
  body['input'] = itemsOf(body).filter((item, at) => {
    const id = stringOf(item['id'])
    const wrong = isNamed(`input[${at}].id`) || (id !== '' && seen.has(id))
    seen.add(id)
    if (!wrong) return true
    if (typeOf(item) === 'reasoning') {
      did(`Dropped the reasoning item ${shown(id)}: its id is wrong or was used before.`)
      return false
    }
    delete item['id']
    did(`Dropped the id ${shown(id)} of an item: it is wrong or was used before, and none is needed.`)
    return true
  })
}

function dropReasoning(body: JsonObject, did: Did, findings: readonly Finding[]): void {
  const ids = findings.flatMap(
    ({ message }) => /'(rs_[\w-]+)'|for item (\S+) could/.exec(message)?.slice(1) ?? [],
  )
  const kept = itemsOf(body).filter(
    item => typeOf(item) !== 'reasoning' || !ids.includes(stringOf(item['id'])),
  )
  if (kept.length === itemsOf(body).length) return
  body['input'] = kept
  did(
    'Dropped reasoning that this vendor cannot take here: what it led to is missing, or it was sealed for another.',
  )
}

function dropAllReasoning(body: JsonObject, did: Did): void {
  const kept = itemsOf(body).filter(item => typeOf(item) !== 'reasoning')
  if (kept.length < itemsOf(body).length) {
    body['input'] = kept
    did('Dropped all reasoning: this model takes none.')
  }
  const { include } = body
  if (!Array.isArray(include) || !include.includes(SEALED)) return
  body['include'] = include.filter(value => value !== SEALED)
  did('Dropped the wish for encrypted reasoning: this model gives none.')
}

function dropReferences(body: JsonObject, did: Did): void {
  const kept = itemsOf(body).filter(item => typeOf(item) !== 'item_reference')
  if (kept.length < itemsOf(body).length) did('Dropped references to items that are not stored.')
  if (Array.isArray(body['input'])) body['input'] = kept
  if (body['previous_response_id'] === undefined) return
  delete body['previous_response_id']
  did('Dropped `previous_response_id`: that response is not stored.')
}

function fixItemShapes(body: JsonObject, did: Did): void {
  for (const item of itemsOf(body)) {
    const key = typeOf(item) === 'custom_tool_call' ? 'input' : 'arguments'
    if (isCall(item) && typeof item[key] !== 'string') {
      item[key] = textOf(item[key])
      did(`Made the ${key} of call ${shown(stringOf(item['call_id']))} a text.`)
    }
    if (!isOutput(item) || typeof item['output'] === 'string' || objectsOf(item['output']).length > 0)
      continue
    item['output'] = textOf(item['output'])
    did(`Made the output of ${shown(stringOf(item['call_id']))} a text.`)
  }
}

function fixTokens(body: JsonObject, did: Did): void {
  const old = body['max_tokens'] ?? body['max_completion_tokens']
  delete body['max_tokens']
  delete body['max_completion_tokens']
  const most = body['max_output_tokens'] ?? old
  if (typeof most !== 'number') return
  body['max_output_tokens'] = Math.max(16, Math.floor(most))
  did('Put the limit of the answer under `max_output_tokens`, with the least that is taken.')
}

const callIds = (body: JsonObject): Slot[] =>
  itemsOf(body).flatMap(item => (isCall(item) || isOutput(item) ? slot(item, 'call_id') : []))

export const responsesTreatments: readonly Treatment[] = [
  { rules: ['R-00'], apply: mendText },
  { rules: ['R-00'], apply: fillModel },
  { rules: ['R-11', 'R-00'], apply: fixTokens },
  { rules: ['R-NR'], apply: dropAllReasoning },
  { rules: ['R-08', 'R-06'], apply: dropReasoning },
  { rules: ['R-03'], apply: respellIds(callIds, 64) },
  { rules: ['R-03'], apply: fixItemIds },
  { rules: ['R-01', 'R-02'], apply: separateItems },
  { rules: ['R-01', 'R-02'], apply: pairItems },
  {
    rules: ['R-04'],
    apply: respellNames(
      body =>
        itemsOf(body)
          .filter(isCall)
          .flatMap(item => slot(item, 'name')),
      128,
    ),
  },
  { rules: ['R-07', 'R-10'], apply: dropReferences },
  { rules: ['R-00', 'R-05'], apply: fixItemShapes },
  { rules: ['R-12'], apply: dropChoice },
  { rules: ['2.4'], apply: fixSchemas },
  { rules: ['R-00', 'R-10'], apply: dropUnknown },
]
