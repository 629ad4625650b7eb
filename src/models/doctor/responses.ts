// Repairs of Responses requests, one per rule. Each changes only what its rules refuse.

import { isJsonObject, type JsonObject } from '../../lib/json.ts'
import {
  asJsonText,
  declaredNames,
  fixArgumentsText,
  fixContent,
  fixOpenaiSchemas,
  fixPart,
  fixRoles,
  OPENAI_MODEL,
  type PartForm,
  renameOpenaiIds,
  renameOpenaiTools,
  turnOffStrictFormat,
  unknownOpenaiFields,
} from './openai.ts'
import { type FlatForm, NO_RESULT, pairFlat, separateFlat } from './pairing.ts'
import { fixPictures } from './pictures.ts'
import {
  addModel,
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
} from './repair.ts'
import { declarationFields, dropTools, emptySchema, rewriteChoice, rewriteTools } from './tools.ts'

const ENCRYPTED_REASONING = 'reasoning.encrypted_content'

const responsesItems = (body: JsonObject): JsonObject[] => objectsOf(body['input'])
const itemType = (item: JsonObject): string =>
  asText(item['type']) || (item['role'] === undefined ? '' : 'message')
const isCall = (item: JsonObject): boolean => ['function_call', 'custom_tool_call'].includes(itemType(item))
const isOutput = (item: JsonObject): boolean =>
  ['function_call_output', 'custom_tool_call_output'].includes(itemType(item))

// ---- calls and outputs -------------------------------------------------------------------------------------

const FORM: FlatForm = {
  isCall,
  isResult: isOutput,
  isGiven: item => itemType(item) === 'message' && item['role'] !== 'assistant',
  callId: 'call_id',
  makeResult: call => ({
    type: `${itemType(call)}_output`,
    call_id: asText(call['call_id']),
    output: NO_RESULT,
  }),
}

/** The type of an output must match that of its call. */
function matchOutputs(body: JsonObject, report: Report): void {
  const calls = responsesItems(body).filter(isCall)
  const types = new Map(calls.map(item => [asText(item['call_id']), itemType(item)]))
  for (const item of responsesItems(body).filter(isOutput)) {
    const call = types.get(asText(item['call_id']))
    if (call === undefined || item['type'] === `${call}_output`) continue
    item['type'] = `${call}_output`
    report(`Made the output of ${quoted(asText(item['call_id']))} one of a ${call.replaceAll('_', ' ')}.`)
  }
}

/** Drops unpaired items of other kinds, such as computer calls: their results cannot be made up. */
function dropLone(body: JsonObject, report: Report, findings: readonly Finding[]): void {
  const lone = new Set(
    findings.flatMap(
      ({ message }) => /(?:call|call_id) ([^ ]+)\.$|with id ([^ ]+)\.$/.exec(message)?.slice(1) ?? [],
    ),
  )
  const kept = responsesItems(body).filter(item => {
    const id = asText(item['call_id']) || asText(item['approval_request_id'])
    if (id === '' || !lone.has(id) || isCall(item) || isOutput(item)) return true
    report(`Dropped an item of the type ${quoted(itemType(item))}: its other half is missing.`)
    return false
  })
  if (kept.length < responsesItems(body).length) body['input'] = kept
}

/** Drops callers that are not programs of this history. */
function dropCallers(body: JsonObject, report: Report): void {
  const programs = new Set(
    responsesItems(body)
      .filter(item => itemType(item) === 'program')
      .map(item => item['call_id']),
  )
  const kept = new Map<string, JsonObject>()
  for (const item of responsesItems(body)) {
    const caller = item['caller']
    const id = asText(item['call_id'])
    if (isCall(item) && isJsonObject(caller)) {
      if (programs.has(caller['caller_id'])) kept.set(id, caller)
      else {
        delete item['caller']
        report(`Dropped the caller of ${quoted(id)}: the program that made the call is missing.`)
      }
    } else if (isOutput(item) && JSON.stringify(caller) !== JSON.stringify(kept.get(id))) {
      const own = kept.get(id)
      if (own === undefined) delete item['caller']
      else item['caller'] = own
      report(`Gave the output of ${quoted(id)} the caller of its call.`)
    }
  }
}

// ---- items -------------------------------------------------------------------------------------------------

function fixItemIds(body: JsonObject, report: Report, findings: readonly Finding[]): void {
  const seen = new Set<string>()
  const isNamed = (path: string): boolean => findings.some(({ param }) => param === path)
  body['input'] = responsesItems(body).filter((item, at) => {
    const id = asText(item['id'])
    const wrong = isNamed(`input[${at}].id`) || (id !== '' && seen.has(id))
    seen.add(id)
    if (!wrong) return true
    if (itemType(item) === 'reasoning') {
      report(`Dropped the reasoning item ${quoted(id)}: its id is wrong or was used before.`)
      return false
    }
    delete item['id']
    report(`Dropped the id ${quoted(id)} of an item: it is wrong or was used before, and none is needed.`)
    return true
  })
}

function dropItems(
  body: JsonObject,
  isWrong: (item: JsonObject) => boolean,
  sentence: string,
  report: Report,
): void {
  const kept = responsesItems(body).filter(item => !isWrong(item))
  if (kept.length === responsesItems(body).length) return
  body['input'] = kept
  report(sentence)
}

const isReasoning = (item: JsonObject): boolean => itemType(item) === 'reasoning'

function dropReasoning(body: JsonObject, report: Report, findings: readonly Finding[]): void {
  const ids = findings.flatMap(
    ({ message }) => /'(rs_[\w-]+)'|for item (\S+) could/.exec(message)?.slice(1) ?? [],
  )
  const sentence =
    'Dropped reasoning that this vendor refuses: its next item is missing, or it was encrypted for another account.'
  dropItems(body, item => isReasoning(item) && ids.includes(asText(item['id'])), sentence, report)
}

function dropAllReasoning(body: JsonObject, report: Report): void {
  dropItems(body, isReasoning, 'Dropped all reasoning: this model accepts none.', report)
  const { include } = body
  if (!Array.isArray(include) || !include.includes(ENCRYPTED_REASONING)) return
  body['include'] = include.filter(value => value !== ENCRYPTED_REASONING)
  report('Dropped the request for encrypted reasoning: this model has none.')
}

function dropReferences(body: JsonObject, report: Report, findings: readonly Finding[]): void {
  const key = findings.some(({ rule }) => rule === 'R-10') ? 'conversation' : 'previous_response_id'
  if (body[key] !== undefined) {
    delete body[key]
    report(`Dropped \`${key}\`: the vendor does not have it, or it conflicts with another field.`)
    return
  }
  const isReference = (item: JsonObject): boolean => itemType(item) === 'item_reference'
  dropItems(body, isReference, 'Dropped references to items that are not stored.', report)
}

const INPUT: PartForm = {
  text: 'input_text',
  others: ['input_image', 'input_file'],
  picture: image_url => ({ type: 'input_image', image_url, detail: 'auto' }),
}
const OUTPUT: PartForm = { text: 'output_text', others: ['refusal'] }

function fixItemShapes(body: JsonObject, report: Report): void {
  const messages = responsesItems(body).filter(item => itemType(item) === 'message')
  fixRoles(
    messages.filter(({ role }) => role !== undefined),
    report,
  )
  for (const message of messages)
    fixContent(message, message['role'] === 'assistant' ? OUTPUT : INPUT, report)
  for (const item of responsesItems(body)) {
    const key = itemType(item) === 'custom_tool_call' ? 'input' : 'arguments'
    if (isCall(item)) fixArgumentsText(item, key, item['call_id'], report)
    if (isReasoning(item) && !Array.isArray(item['summary'])) {
      item['summary'] = []
      report('Gave a reasoning item an empty summary.')
    }
    if (!isOutput(item)) continue
    const parts = objectsOf(item['output'])
    if (parts.length > 0) item['output'] = parts.map(part => fixPart(part, INPUT, report))
    else if (typeof item['output'] !== 'string') {
      item['output'] = asJsonText(item['output'])
      report(`Made the output of ${quoted(asText(item['call_id']))} a text.`)
    }
  }
}

function fixTokens(body: JsonObject, report: Report): void {
  const old = body['max_tokens'] ?? body['max_completion_tokens']
  const given = body['max_output_tokens'] ?? old
  const most = typeof given === 'number' ? Math.max(16, Math.floor(given)) : undefined
  if (old === undefined && most === body['max_output_tokens']) return
  delete body['max_tokens']
  delete body['max_completion_tokens']
  if (most === undefined) delete body['max_output_tokens']
  else body['max_output_tokens'] = most
  report('Wrote the token limit as `max_output_tokens`, which is at least 16.')
}

function fixResponsesChoice(body: JsonObject, report: Report): void {
  rewriteChoice(
    body,
    declaredNames(body),
    choice => (typeof choice === 'string' ? choice : { type: 'function', name: choice.tool }),
    report,
  )
  if (body['parallel_tool_calls'] === undefined || typeof body['parallel_tool_calls'] === 'boolean') return
  delete body['parallel_tool_calls']
  report('Dropped `parallel_tool_calls`, which must be true or false.')
}

const callIdRefs = (body: JsonObject): FieldRef[] =>
  responsesItems(body).flatMap(item => (isCall(item) || isOutput(item) ? fieldRef(item, 'call_id') : []))

const callNameRefs = (body: JsonObject): FieldRef[] =>
  responsesItems(body)
    .filter(isCall)
    .flatMap(item => fieldRef(item, 'name'))

export const responsesRepairs: readonly Repair[] = [
  { rules: ['body'], apply: fixSurrogates },
  { rules: ['R-00'], apply: addModel(OPENAI_MODEL) },
  { rules: ['R-11', 'R-00'], apply: fixTokens },
  {
    rules: ['R-00', 'R-04'],
    apply: rewriteTools(
      tool =>
        (tool['type'] !== undefined && asText(tool['name']) !== '') ||
        !['', 'function', 'custom'].includes(asText(tool['type'])),
      tool => ({ type: 'function', ...declarationFields({ schema: emptySchema(), ...tool }, 'parameters') }),
    ),
  },
  { rules: ['R-NR'], apply: dropAllReasoning },
  { rules: ['R-08', 'R-06'], apply: dropReasoning },
  { rules: ['R-03'], apply: renameOpenaiIds(callIdRefs, 64) },
  { rules: ['R-03'], apply: fixItemIds },
  { rules: ['R-01', 'R-02'], apply: matchOutputs },
  { rules: ['R-01', 'R-02'], apply: separateFlat(FORM) },
  { rules: ['R-01', 'R-02'], apply: pairFlat(FORM) },
  { rules: ['R-01', 'R-02', 'mcp-approval'], apply: dropLone },
  { rules: ['program'], apply: dropCallers },
  { rules: ['R-04'], apply: renameOpenaiTools(callNameRefs, 128) },
  { rules: ['R-07', 'R-10'], apply: dropReferences },
  { rules: ['R-00', 'R-05'], apply: fixItemShapes },
  { rules: ['R-12'], apply: fixResponsesChoice },
  { rules: ['2.4'], apply: fixOpenaiSchemas },
  {
    rules: ['2.4'],
    apply: ({ text }, report) => turnOffStrictFormat(isJsonObject(text) ? text['format'] : undefined, report),
  },
  { rules: ['R-IMG'], apply: fixPictures('responses') },
  { rules: ['R-00', 'R-10'], apply: dropFields(unknownOpenaiFields) },
  { rules: ['R-00'], apply: dropTools(/^tools\[(\d+)\]/) },
]
