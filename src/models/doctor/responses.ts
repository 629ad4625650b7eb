// Repairs of Responses requests, rule by rule. Each changes what its rules complain of and nothing else.

import { isJsonObject, type JsonObject } from '../../lib/json.ts'
import { dropTools, reformTools, rewriteChoice } from './foreign.ts'
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
import { type Item, NO_RESULT, pair, separateCalls } from './pairing.ts'
import { mendPictures } from './pictures.ts'
import {
  type Did,
  type Finding,
  mendText,
  objectsOf,
  type Slot,
  shown,
  slot,
  stringOf,
  type Treatment,
} from './treatment.ts'

const SEALED = 'reasoning.encrypted_content'

const itemsOf = (body: JsonObject): JsonObject[] => objectsOf(body['input'])
const typeOf = (item: JsonObject): string =>
  stringOf(item['type']) || (item['role'] === undefined ? '' : 'message')
const isCall = (item: JsonObject): boolean => ['function_call', 'custom_tool_call'].includes(typeOf(item))
const isOutput = (item: JsonObject): boolean =>
  ['function_call_output', 'custom_tool_call_output'].includes(typeOf(item))

// ---- calls and outputs -------------------------------------------------------------------------------------

const separateItems: Treatment['apply'] = (body, did) =>
  separateCalls(
    itemsOf(body),
    {
      call: item => (isCall(item) ? 'call_id' : undefined),
      result: item => (isOutput(item) ? 'call_id' : undefined),
    },
    did,
  )

const typesOf = (body: JsonObject): Map<string, string> =>
  new Map(
    itemsOf(body)
      .filter(isCall)
      .map(item => [stringOf(item['call_id']), typeOf(item)]),
  )

/** An output is of the kind that its call is. */
function matchOutputs(body: JsonObject, did: Did): void {
  const types = typesOf(body)
  for (const item of itemsOf(body).filter(isOutput)) {
    const call = types.get(stringOf(item['call_id']))
    if (call === undefined || item['type'] === `${call}_output`) continue
    item['type'] = `${call}_output`
    did(`Made the output of ${shown(stringOf(item['call_id']))} one of a ${call.replaceAll('_', ' ')}.`)
  }
}

function pairItems(body: JsonObject, did: Did): void {
  const types = typesOf(body)
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

/** Calls of other kinds that nobody answered, and answers of theirs to nothing: nobody can make up a screenshot. */
function dropLone(body: JsonObject, did: Did, findings: readonly Finding[]): void {
  const lone = new Set(
    findings.flatMap(
      ({ message }) => /(?:call|call_id) ([^ ]+)\.$|with id ([^ ]+)\.$/.exec(message)?.slice(1) ?? [],
    ),
  )
  const kept = itemsOf(body).filter(item => {
    const id = stringOf(item['call_id']) || stringOf(item['approval_request_id'])
    if (id === '' || !lone.has(id) || isCall(item) || isOutput(item)) return true
    did(`Dropped an item of the type ${shown(typeOf(item))}: its other half is missing.`)
    return false
  })
  if (kept.length < itemsOf(body).length) body['input'] = kept
}

/** Calls that no program of this history made are the model's own. */
function dropCallers(body: JsonObject, did: Did): void {
  const programs = new Set(
    itemsOf(body)
      .filter(item => typeOf(item) === 'program')
      .map(item => item['call_id']),
  )
  const kept = new Map<string, JsonObject>()
  for (const item of itemsOf(body)) {
    const caller = item['caller']
    const id = stringOf(item['call_id'])
    if (isCall(item) && isJsonObject(caller)) {
      if (programs.has(caller['caller_id'])) kept.set(id, caller)
      else {
        delete item['caller']
        did(`Dropped the caller of ${shown(id)}: the program that made the call is not there.`)
      }
    } else if (isOutput(item) && JSON.stringify(caller) !== JSON.stringify(kept.get(id))) {
      const own = kept.get(id)
      if (own === undefined) delete item['caller']
      else item['caller'] = own
      did(`Gave the output of ${shown(id)} the caller of its call.`)
    }
  }
}

// ---- items -------------------------------------------------------------------------------------------------

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

function dropReferences(body: JsonObject, did: Did, findings: readonly Finding[]): void {
  const isState = findings.some(({ rule }) => rule === 'R-10')
  for (const key of isState ? ['conversation'] : ['previous_response_id']) {
    if (body[key] === undefined) continue
    delete body[key]
    did(`Dropped \`${key}\`: it is not kept, or not to be given beside another.`)
    return
  }
  const kept = itemsOf(body).filter(item => typeOf(item) !== 'item_reference')
  if (kept.length === itemsOf(body).length) return
  body['input'] = kept
  did('Dropped references to items that are not stored.')
}

const PARTS: Readonly<Record<string, string>> = { text: '', input_text: '', output_text: '' }

function fixShapes(body: JsonObject, did: Did): void {
  fixRoles(
    itemsOf(body).filter(item => typeOf(item) === 'message' && item['role'] !== undefined),
    did,
  )
  for (const item of itemsOf(body)) {
    const key = typeOf(item) === 'custom_tool_call' ? 'input' : 'arguments'
    if (isCall(item) && typeof item[key] !== 'string') {
      item[key] = textOf(item[key])
      did(`Made the ${key} of call ${shown(stringOf(item['call_id']))} a text.`)
    }
    if (typeOf(item) === 'message') fixContent(item, did)
    else if (typeOf(item) === 'reasoning' && !Array.isArray(item['summary'])) {
      item['summary'] = []
      did('Gave a reasoning item an empty summary.')
    }
    if (!isOutput(item)) continue
    if (Array.isArray(item['output']) && objectsOf(item['output']).length > 0)
      fixParts(item, 'output', 'user', did)
    else if (typeof item['output'] !== 'string') {
      item['output'] = textOf(item['output'])
      did(`Made the output of ${shown(stringOf(item['call_id']))} a text.`)
    }
  }
}

function fixContent(message: JsonObject, did: Did): void {
  const { content } = message
  if (typeof content === 'string') return
  if (Array.isArray(content)) fixParts(message, 'content', stringOf(message['role']), did)
  else {
    message['content'] = content === null || content === undefined ? '' : textOf(content)
    did(`Made the content of a message of the ${stringOf(message['role'])} a text.`)
  }
}

/** What a person says and what the model says are parts of different types. */
function fixParts(holder: JsonObject, key: string, role: string, did: Did): void {
  const said = role === 'assistant' ? 'output_text' : 'input_text'
  const known = role === 'assistant' ? [said, 'refusal'] : [said, 'input_image', 'input_file']
  holder[key] = objectsOf(holder[key]).map(part => {
    const type = stringOf(part['type'])
    if (known.includes(type) && (type !== said || typeof part['text'] === 'string')) return part
    if (type === 'image_url' && role !== 'assistant') {
      did('Wrote a picture in this API\u2019s form.')
      const image = part['image_url']
      const image_url = stringOf(isJsonObject(image) ? image['url'] : image)
      return { type: 'input_image', image_url, detail: 'auto' }
    }
    did(`Wrote a part of the type ${shown(type)} as \`${said}\`.`)
    return { type: said, text: Object.hasOwn(PARTS, type) ? textOf(part['text']) : JSON.stringify(part) }
  })
}

function fixTokens(body: JsonObject, did: Did): void {
  const old = body['max_tokens'] ?? body['max_completion_tokens']
  const given = body['max_output_tokens'] ?? old
  const most = typeof given === 'number' ? Math.max(16, Math.floor(given)) : undefined
  if (old === undefined && most === body['max_output_tokens']) return
  delete body['max_tokens']
  delete body['max_completion_tokens']
  if (most === undefined) delete body['max_output_tokens']
  else body['max_output_tokens'] = most
  did('Put the limit of the answer under `max_output_tokens`, with the least that is taken.')
}

function fixChoice(body: JsonObject, did: Did): void {
  rewriteChoice(
    body,
    namesOf(body),
    choice => (typeof choice === 'string' ? choice : { type: 'function', name: choice.tool }),
    did,
  )
  if (body['parallel_tool_calls'] === undefined || typeof body['parallel_tool_calls'] === 'boolean') return
  delete body['parallel_tool_calls']
  did('Dropped `parallel_tool_calls`, which is true or false.')
}

const callIds = (body: JsonObject): Slot[] =>
  itemsOf(body).flatMap(item => (isCall(item) || isOutput(item) ? slot(item, 'call_id') : []))

const callNames = (body: JsonObject): Slot[] =>
  itemsOf(body)
    .filter(isCall)
    .flatMap(item => slot(item, 'name'))

export const responsesTreatments: readonly Treatment[] = [
  { rules: ['body'], apply: mendText },
  { rules: ['R-00'], apply: fillModel },
  { rules: ['R-11', 'R-00'], apply: fixTokens },
  {
    rules: ['R-00', 'R-04'],
    apply: reformTools(
      tool =>
        (tool['type'] !== undefined && stringOf(tool['name']) !== '') ||
        !['', 'function', 'custom'].includes(stringOf(tool['type'])),
      ({ name, description, schema }) => ({
        type: 'function',
        name,
        ...(description !== undefined && { description }),
        parameters: schema ?? { type: 'object', properties: {} },
      }),
    ),
  },
  { rules: ['R-NR'], apply: dropAllReasoning },
  { rules: ['R-08', 'R-06'], apply: dropReasoning },
  { rules: ['R-03'], apply: respellIds(callIds, 64) },
  { rules: ['R-03'], apply: fixItemIds },
  { rules: ['R-01', 'R-02'], apply: matchOutputs },
  { rules: ['R-01', 'R-02'], apply: separateItems },
  { rules: ['R-01', 'R-02'], apply: pairItems },
  { rules: ['R-01', 'R-02', 'mcp-approval'], apply: dropLone },
  { rules: ['program'], apply: dropCallers },
  { rules: ['R-04'], apply: respellNames(callNames, 128) },
  { rules: ['R-07', 'R-10'], apply: dropReferences },
  { rules: ['R-00', 'R-05'], apply: fixShapes },
  { rules: ['R-12'], apply: fixChoice },
  { rules: ['2.4'], apply: fixSchemas },
  {
    rules: ['2.4'],
    apply: ({ text }, did) => looseFormat(isJsonObject(text) ? text['format'] : undefined, did),
  },
  { rules: ['R-IMG'], apply: mendPictures('responses') },
  { rules: ['R-00', 'R-10'], apply: dropUnknown },
  { rules: ['R-00'], apply: dropTools(/^tools\[(\d+)\]/) },
]
