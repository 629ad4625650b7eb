// Repairs of generateContent requests, rule by rule. What is not there by name is paired by order; where another model
// wrote the history, the documented stand-in signs for it.

import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'
import { geminiJson, toDialect } from '../common/schema-dialect.ts'
import { reformTools } from './foreign.ts'
import { dropSecond, respellNames, STAND_IN } from './google.ts'
import { type Item, NO_RESULT, pair } from './pairing.ts'
import { mendPictures } from './pictures.ts'
import {
  asObject,
  type Did,
  type Finding,
  inWords,
  mendText,
  objectsOf,
  removeAt,
  type Slot,
  shown,
  slot,
  stringOf,
  type Treatment,
} from './treatment.ts'

/** The API takes both spellings of a member. */
function keyOf(holder: JsonObject, camel: string): string {
  const snake = camel.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
  return Object.hasOwn(holder, snake) ? snake : camel
}
const member = (holder: JsonObject, camel: string): Json | undefined => holder[keyOf(holder, camel)]

const contentsOf = (body: JsonObject): JsonObject[] => objectsOf(body['contents'])
const partsOf = (content: JsonObject): JsonObject[] => objectsOf(content['parts'])
const declarationsOf = (body: JsonObject): JsonObject[] =>
  objectsOf(body['tools']).flatMap(tool => objectsOf(member(tool, 'functionDeclarations')))

function inner(part: JsonObject, name: 'functionCall' | 'functionResponse'): JsonObject | undefined {
  const value = member(part, name)
  return isJsonObject(value) ? value : undefined
}

type Placed = { part: JsonObject; role: string }

/** Where there are no ids, the responses of the next content answer the calls by name and then by order. */
function itemsOf(body: JsonObject): Item<Placed>[] {
  const items: Item<Placed>[] = []
  let waiting: { id: string; name: string; own: boolean }[] = []
  for (const [at, content] of contentsOf(body).entries()) {
    const role = stringOf(content['role']) || 'user'
    if (role === 'model') waiting = []
    for (const [index, part] of partsOf(content).entries()) {
      const call = inner(part, 'functionCall')
      const response = inner(part, 'functionResponse')
      if (call !== undefined) {
        const id = stringOf(call['id']) || `#${at}.${index}`
        waiting.push({ id, name: stringOf(call['name']), own: stringOf(call['id']) !== '' })
        items.push({ kind: 'call', id, name: stringOf(call['name']), value: { part, role: 'model' } })
      } else if (response !== undefined) {
        const name = stringOf(response['name'])
        const own = stringOf(response['id'])
        const found =
          own === ''
            ? (waiting.find(each => each.name === name) ?? waiting[0])
            : (waiting.find(each => each.id === own) ?? waiting.find(each => each.name === name))
        waiting = waiting.filter(each => each !== found)
        items.push({ kind: 'result', id: found?.id ?? (own || name), value: { part, role: 'user' } })
      } else items.push({ kind: role === 'model' ? 'said' : 'given', value: { part, role } })
    }
  }
  return items
}

function pairResponses(body: JsonObject, did: Did): void {
  const paired = pair(
    itemsOf(body),
    {
      makeResult: ({ id, name }) => {
        const own = id.startsWith('#') ? {} : { id }
        return { role: 'user', part: { functionResponse: { ...own, name, response: { error: NO_RESULT } } } }
      },
      begins: () => false,
    },
    did,
  )
  alignResponses(paired, did)
  const contents: { role: string; parts: JsonObject[] }[] = []
  for (const { kind, value } of paired) {
    const last = contents.at(-1)
    const answers = last?.parts.every(part => inner(part, 'functionResponse') !== undefined)
    // What the user says after responses is a turn of its own: it begins what is current.
    const apart = last?.role === 'user' && answers === true && kind !== 'result'
    if (last?.role === value.role && !apart) last.parts.push(value.part)
    else contents.push({ role: value.role, parts: [value.part] })
  }
  if (contents[0]?.role === 'model') {
    contents.unshift({ role: 'user', parts: [{ text: 'Continue.' }] })
    did('Put a user turn before the first answer.')
  }
  body['contents'] = contents
}

/** A response names its call and bears its id, and nothing else. */
function alignResponses(paired: readonly Item<Placed>[], did: Did): void {
  const calls = new Map<string, JsonObject>()
  for (const item of paired) {
    if (item.kind === 'call') calls.set(item.id, inner(item.value.part, 'functionCall') ?? {})
    const call = item.kind === 'result' ? calls.get(item.id) : undefined
    const response = inner(item.value.part, 'functionResponse')
    if (call === undefined || response === undefined) continue
    const same = response['name'] === call['name'] && response['id'] === call['id']
    response['name'] = call['name'] ?? ''
    if (call['id'] === undefined) delete response['id']
    else response['id'] = call['id']
    if (!same) did(`Gave a response the name and id of its call, ${shown(stringOf(call['name']))}.`)
  }
}

function fixStructs(body: JsonObject, did: Did): void {
  for (const part of contentsOf(body).flatMap(partsOf)) {
    const call = inner(part, 'functionCall')
    const response = inner(part, 'functionResponse')
    if (call?.['args'] !== undefined && !isJsonObject(call['args'])) {
      call['args'] = asObject(call['args'])
      did(`Made the arguments of ${shown(stringOf(call['name']))} an object.`)
    }
    if (response === undefined || isJsonObject(response['response'])) continue
    const given = response['response']
    response['response'] = { output: given ?? 'No output.' }
    did(`Made the response of ${shown(stringOf(response['name']))} an object.`)
  }
}

function signCalls(body: JsonObject, did: Did): void {
  for (const content of contentsOf(body)) {
    const first = partsOf(content).find(part => inner(part, 'functionCall') !== undefined)
    if (first === undefined || member(first, 'thoughtSignature') !== undefined) continue
    first['thoughtSignature'] = STAND_IN
    did(
      `Signed the call of ${shown(stringOf(inner(first, 'functionCall')?.['name']))} with the documented stand-in.`,
    )
  }
}

function dropSignatures(body: JsonObject, did: Did, findings: readonly Finding[]): void {
  const named = findings.flatMap(
    ({ message }) => /contents\[(\d+)\]\.parts\[(\d+)\]/.exec(message)?.[0] ?? [],
  )
  for (const [at, content] of contentsOf(body).entries())
    for (const [index, part] of partsOf(content).entries()) {
      const key = keyOf(part, 'thoughtSignature')
      if (part[key] === undefined || part[key] === STAND_IN) continue
      if (named.length > 0 && !named.includes(`contents[${at}].parts[${index}]`)) continue
      delete part[key]
      did('Dropped a thought signature that is not of this model or was changed.')
    }
}

function fixContents(body: JsonObject, did: Did): void {
  const contents: JsonObject[] = []
  const system: JsonObject[] = []
  for (const content of contentsOf(body)) {
    const role = stringOf(content['role']) || 'user'
    const parts = partsOf(content)
      .filter(part => Object.keys(part).length > 0)
      .flatMap(part => separateData(part, did))
    if (role === 'system' || role === 'developer') {
      system.push(...parts)
      did('Moved a system turn into `systemInstruction`.')
    } else if (parts.length === 0) did('Dropped a turn without parts.')
    else {
      const known = role === 'assistant' ? 'model' : role === 'user' || role === 'model' ? role : 'user'
      if (known !== role) did(`Changed the role ${shown(role)} to ${known}.`)
      contents.push({ ...content, role: known, parts })
    }
  }
  if (contents.length === 0) {
    const text = stringOf(body['contents']) || 'Continue.'
    contents.push({ role: 'user', parts: [{ text }] })
    did('Made a turn of the user: there was none.')
  }
  body['contents'] = contents
  if (system.length === 0) return
  const key = keyOf(body, 'systemInstruction')
  const own = body[key]
  body[key] = { parts: [...(isJsonObject(own) ? partsOf(own) : []), ...system] }
}

const DATA = ['text', 'inlineData', 'fileData', 'functionCall', 'functionResponse', 'executableCode']

/** A part holds one thing. What stands beside it goes with the first. */
function separateData(part: JsonObject, did: Did): JsonObject[] {
  const held = DATA.map(name => keyOf(part, name)).filter(key => part[key] !== undefined)
  if (held.length < 2) return [part]
  did('Made parts of their own of the things that one part held.')
  return held.map((key, at) =>
    at === 0
      ? Object.fromEntries(Object.entries(part).filter(([each]) => !held.slice(1).includes(each)))
      : { [key]: part[key] ?? null },
  )
}

function fixSystem(body: JsonObject, did: Did): void {
  const key = keyOf(body, 'systemInstruction')
  const given = body[key]
  if (given === undefined) return
  const texts = isJsonObject(given)
    ? partsOf(given).filter(part => typeof part['text'] === 'string')
    : [{ text: stringOf(given) }]
  if (texts.length > 0 && stringOf(texts[0]?.['text']) !== '') body[key] = { parts: texts }
  else delete body[key]
  if (JSON.stringify(body[key]) !== JSON.stringify(given)) did('Wrote the instructions as parts of text.')
}

function fixDeclarations(body: JsonObject, did: Did): void {
  for (const tool of declarationsOf(body)) {
    const key = keyOf(tool, 'parametersJsonSchema')
    const given = tool['parameters'] ?? tool[key]
    if (given === undefined) continue
    const adapted = toDialect(isJsonObject(given) ? given : {}, geminiJson)
    delete tool['parameters']
    delete tool[key]
    if ('schema' in adapted && Object.keys(adapted.schema['properties'] ?? {}).length > 0)
      tool['parametersJsonSchema'] = adapted.schema
    did(`Wrote the schema of ${shown(stringOf(tool['name']))} as \`parametersJsonSchema\`.`)
  }
}

const geminiNames = (body: JsonObject): Slot[] =>
  contentsOf(body)
    .flatMap(partsOf)
    .flatMap(part => [
      ...slot(inner(part, 'functionCall'), 'name'),
      ...slot(inner(part, 'functionResponse'), 'name'),
    ])

export const geminiTreatments: readonly Treatment[] = [
  { rules: ['G-00'], apply: mendText },
  { rules: ['G-14'], apply: fixContents },
  { rules: ['G-14'], apply: fixSystem },
  {
    rules: ['G-00'],
    apply: reformTools(
      tool =>
        member(tool, 'functionDeclarations') !== undefined ||
        (tool['type'] === undefined && tool['name'] === undefined),
      ({ name, description, schema }) => ({
        functionDeclarations: [
          {
            name,
            ...(description !== undefined && { description }),
            ...(schema && { parametersJsonSchema: schema }),
          },
        ],
      }),
    ),
  },
  {
    rules: ['G-01', 'G-02', 'G-03'],
    apply: inWords(pairResponses, 'Put all responses into the one turn after their calls.'),
  },
  { rules: ['G-03'], apply: fixStructs },
  { rules: ['G-05', 'G-07'], apply: dropSignatures },
  { rules: ['G-04'], apply: signCalls },
  { rules: ['G-08'], apply: (body, did) => respellNames(declarationsOf(body), geminiNames(body), did) },
  {
    rules: ['G-09'],
    apply(body, did) {
      for (const tool of objectsOf(body['tools'])) {
        const key = keyOf(tool, 'functionDeclarations')
        if (Array.isArray(tool[key])) tool[key] = dropSecond(objectsOf(tool[key]), did)
      }
    },
  },
  { rules: ['G-10', 'G-11', 'G-12', 'G-13'], apply: fixDeclarations },
  { rules: ['G-IMG'], apply: mendPictures('gemini') },
  {
    rules: ['G-15'],
    apply(body, did) {
      delete body[keyOf(body, 'toolConfig')]
      did('Dropped the tool config, which does not fit the tools.')
    },
  },
  {
    rules: ['G-00', 'G-10', 'G-14'],
    apply(body, did, findings) {
      for (const { message } of findings) {
        const [, name = '', at = ''] = /Unknown name "([^"]+)"(?: at '([^']+)')?/.exec(message) ?? []
        const camel = at.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
        if (name !== '' && (removeAt(body, `${at}.${name}`) || removeAt(body, `${camel}.${name}`)))
          did(`Dropped \`${name}\`, which is no field of this API.`)
      }
    },
  },
]
