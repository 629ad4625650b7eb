// Repairs of generateContent requests, one per rule. Calls without ids are paired by name and order. History of another
// model gets the documented stand-in for its thought signatures.

import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'
import { geminiJson } from '../common/schema-dialect.ts'
import { GEMINI_NAMES, STAND_IN } from './google.ts'
import { NO_RESULT, type PairItem, pairCalls } from './pairing.ts'
import { fixPictures } from './pictures.ts'
import {
  asObject,
  asText,
  dropFields,
  type FieldRef,
  type Finding,
  fieldRef,
  fixSurrogates,
  objectsOf,
  quoted,
  type Repair,
  type Report,
  withDefaultReport,
} from './repair.ts'
import { declarationFields, inDialect, renameTools, rewriteTools, withoutDuplicates } from './tools.ts'

/** The API accepts camelCase and snake_case. */
function spelledKey(holder: JsonObject, camel: string): string {
  const snake = camel.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
  return Object.hasOwn(holder, snake) ? snake : camel
}
const member = (holder: JsonObject, camel: string): Json | undefined => holder[spelledKey(holder, camel)]

const contentsOf = (body: JsonObject): JsonObject[] => objectsOf(body['contents'])
const geminiParts = (content: JsonObject): JsonObject[] => objectsOf(content['parts'])
const geminiDeclarations = (body: JsonObject): JsonObject[] =>
  objectsOf(body['tools']).flatMap(tool => objectsOf(member(tool, 'functionDeclarations')))

function inner(part: JsonObject, name: 'functionCall' | 'functionResponse'): JsonObject | undefined {
  const value = member(part, name)
  return isJsonObject(value) ? value : undefined
}

type PlacedPart = { part: JsonObject; role: string }

/** Responses without an id belong to the calls before them by name, then by order. */
function pairItemsOf(body: JsonObject): PairItem<PlacedPart>[] {
  const items: PairItem<PlacedPart>[] = []
  let waiting: { id: string; name: string; own: boolean }[] = []
  for (const [at, content] of contentsOf(body).entries()) {
    const role = asText(content['role']) || 'user'
    if (role === 'model') waiting = []
    for (const [index, part] of geminiParts(content).entries()) {
      const call = inner(part, 'functionCall')
      const response = inner(part, 'functionResponse')
      if (call !== undefined) {
        const id = asText(call['id']) || `#${at}.${index}`
        waiting.push({ id, name: asText(call['name']), own: asText(call['id']) !== '' })
        items.push({ kind: 'call', id, name: asText(call['name']), value: { part, role: 'model' } })
      } else if (response !== undefined) {
        const name = asText(response['name'])
        const own = asText(response['id'])
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

function pairResponses(body: JsonObject, report: Report): void {
  const paired = pairCalls(
    pairItemsOf(body),
    {
      makeResult: ({ id, name }) => {
        const own = id.startsWith('#') ? {} : { id }
        return { role: 'user', part: { functionResponse: { ...own, name, response: { error: NO_RESULT } } } }
      },
    },
    report,
  )
  alignResponses(paired, report)
  const contents: { role: string; parts: JsonObject[] }[] = []
  for (const { kind, value } of paired) {
    const last = contents.at(-1)
    const answers = last?.parts.every(part => inner(part, 'functionResponse') !== undefined)
    // User input after responses is a content of its own: it begins the current turn.
    const apart = last?.role === 'user' && answers === true && kind !== 'result'
    if (last?.role === value.role && !apart) last.parts.push(value.part)
    else contents.push({ role: value.role, parts: [value.part] })
  }
  if (contents[0]?.role === 'model') {
    contents.unshift({ role: 'user', parts: [{ text: 'Continue.' }] })
    report('Put a user turn before the first answer.')
  }
  body['contents'] = contents
}

/** A response has the name and the id of its call. */
function alignResponses(paired: readonly PairItem<PlacedPart>[], report: Report): void {
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
    if (!same) report(`Gave a response the name and id of its call, ${quoted(asText(call['name']))}.`)
  }
}

function fixStructs(body: JsonObject, report: Report): void {
  for (const part of contentsOf(body).flatMap(geminiParts)) {
    const call = inner(part, 'functionCall')
    const response = inner(part, 'functionResponse')
    if (call?.['args'] !== undefined && !isJsonObject(call['args'])) {
      call['args'] = asObject(call['args'])
      report(`Made the arguments of ${quoted(asText(call['name']))} an object.`)
    }
    if (response === undefined || isJsonObject(response['response'])) continue
    const given = response['response']
    response['response'] = { output: given ?? 'No output.' }
    report(`Made the response of ${quoted(asText(response['name']))} an object.`)
  }
}

function signCalls(body: JsonObject, report: Report): void {
  for (const content of contentsOf(body)) {
    const first = geminiParts(content).find(part => inner(part, 'functionCall') !== undefined)
    if (first === undefined || member(first, 'thoughtSignature') !== undefined) continue
    first['thoughtSignature'] = STAND_IN
    report(
      `Signed the call of ${quoted(asText(inner(first, 'functionCall')?.['name']))} with the documented stand-in.`,
    )
  }
}

function dropSignatures(body: JsonObject, report: Report, findings: readonly Finding[]): void {
  const named = findings.flatMap(
    ({ message }) => /contents\[(\d+)\]\.parts\[(\d+)\]/.exec(message)?.[0] ?? [],
  )
  for (const [at, content] of contentsOf(body).entries())
    for (const [index, part] of geminiParts(content).entries()) {
      const key = spelledKey(part, 'thoughtSignature')
      if (part[key] === undefined || part[key] === STAND_IN) continue
      if (named.length > 0 && !named.includes(`contents[${at}].parts[${index}]`)) continue
      delete part[key]
      report('Dropped a thought signature that is not valid here.')
    }
}

function fixContents(body: JsonObject, report: Report): void {
  const contents: JsonObject[] = []
  const system: JsonObject[] = []
  for (const content of contentsOf(body)) {
    const role = asText(content['role']) || 'user'
    const parts = geminiParts(content)
      .filter(part => Object.keys(part).length > 0)
      .flatMap(part => separateData(part, report))
    if (role === 'system' || role === 'developer') {
      system.push(...parts)
      report('Moved a system turn into `systemInstruction`.')
    } else if (parts.length === 0) report('Dropped a turn without parts.')
    else {
      const known = role === 'assistant' ? 'model' : role === 'user' || role === 'model' ? role : 'user'
      if (known !== role) report(`Changed the role ${quoted(role)} to ${known}.`)
      contents.push({ ...content, role: known, parts })
    }
  }
  if (contents.length === 0) {
    const text = asText(body['contents']) || 'Continue.'
    contents.push({ role: 'user', parts: [{ text }] })
    report('Added a user turn: there was none.')
  }
  body['contents'] = contents
  if (system.length === 0) return
  const key = spelledKey(body, 'systemInstruction')
  const own = body[key]
  body[key] = { parts: [...(isJsonObject(own) ? geminiParts(own) : []), ...system] }
}

const DATA = ['text', 'inlineData', 'fileData', 'functionCall', 'functionResponse', 'executableCode']

/** A part holds one kind of data. Other fields stay with the first. */
function separateData(part: JsonObject, report: Report): JsonObject[] {
  const held = DATA.map(name => spelledKey(part, name)).filter(key => part[key] !== undefined)
  if (held.length < 2) return [part]
  report('Split a part that held several kinds of data.')
  return held.map((key, at) =>
    at === 0
      ? Object.fromEntries(Object.entries(part).filter(([each]) => !held.slice(1).includes(each)))
      : { [key]: part[key] ?? null },
  )
}

function fixSystem(body: JsonObject, report: Report): void {
  const key = spelledKey(body, 'systemInstruction')
  const given = body[key]
  if (given === undefined) return
  const texts = isJsonObject(given)
    ? geminiParts(given).filter(part => typeof part['text'] === 'string')
    : [{ text: asText(given) }]
  if (texts.length > 0 && asText(texts[0]?.['text']) !== '') body[key] = { parts: texts }
  else delete body[key]
  if (JSON.stringify(body[key]) !== JSON.stringify(given)) report('Wrote the instructions as parts of text.')
}

function fixDeclarations(body: JsonObject, report: Report): void {
  for (const tool of geminiDeclarations(body)) {
    const key = spelledKey(tool, 'parametersJsonSchema')
    const given = tool['parameters'] ?? tool[key]
    if (given === undefined) continue
    const { schema } = inDialect(isJsonObject(given) ? given : {}, geminiJson)
    delete tool['parameters']
    delete tool[key]
    if (Object.keys(schema['properties'] ?? {}).length > 0) tool['parametersJsonSchema'] = schema
    report(`Wrote the schema of ${quoted(asText(tool['name']))} as \`parametersJsonSchema\`.`)
  }
}

const callNameRefs = (body: JsonObject): FieldRef[] =>
  contentsOf(body)
    .flatMap(geminiParts)
    .flatMap(part => [
      ...fieldRef(inner(part, 'functionCall'), 'name'),
      ...fieldRef(inner(part, 'functionResponse'), 'name'),
    ])

function dropDuplicateDeclarations(body: JsonObject, report: Report): void {
  for (const tool of objectsOf(body['tools'])) {
    const key = spelledKey(tool, 'functionDeclarations')
    if (Array.isArray(tool[key])) tool[key] = withoutDuplicates(objectsOf(tool[key]), report)
  }
}

/** Findings spell paths in snake_case. */
function unknownGeminiFields({ message }: Finding): string[] {
  const [, name, at = ''] = /Unknown name "([^"]+)"(?: at '([^']+)')?/.exec(message) ?? []
  if (name === undefined) return []
  const camel = at.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
  return [...new Set([at, camel])].map(holder => (holder === '' ? name : `${holder}.${name}`))
}

export const geminiRepairs: readonly Repair[] = [
  { rules: ['G-00'], apply: fixSurrogates },
  { rules: ['G-14'], apply: fixContents },
  { rules: ['G-14'], apply: fixSystem },
  {
    rules: ['G-00'],
    apply: rewriteTools(
      tool =>
        member(tool, 'functionDeclarations') !== undefined ||
        (tool['type'] === undefined && tool['name'] === undefined),
      tool => ({ functionDeclarations: [declarationFields(tool, 'parametersJsonSchema')] }),
    ),
  },
  {
    rules: ['G-01', 'G-02', 'G-03'],
    apply: withDefaultReport(pairResponses, 'Put all responses into the turn directly after their calls.'),
  },
  { rules: ['G-03'], apply: fixStructs },
  { rules: ['G-05', 'G-07'], apply: dropSignatures },
  { rules: ['G-04'], apply: signCalls },
  { rules: ['G-08'], apply: renameTools(GEMINI_NAMES, geminiDeclarations, callNameRefs) },
  { rules: ['G-09'], apply: dropDuplicateDeclarations },
  { rules: ['G-10', 'G-11', 'G-12', 'G-13'], apply: fixDeclarations },
  { rules: ['G-IMG'], apply: fixPictures('gemini') },
  {
    rules: ['G-15'],
    apply(body, report) {
      delete body[spelledKey(body, 'toolConfig')]
      report('Dropped the tool config, which does not fit the tools.')
    },
  },
  { rules: ['G-00', 'G-10', 'G-14'], apply: dropFields(unknownGeminiFields) },
]
