// Repairs of Interactions requests, one per rule. An answer with calls must open with a thought; history of another model
// gets the documented stand-in for it.

import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'
import { GEMINI_NAMES, STAND_IN } from './google.ts'
import { type FlatForm, NO_RESULT, pairFlat, separateFlat } from './pairing.ts'
import { fixPictures } from './pictures.ts'
import {
  addModel,
  asObject,
  asText,
  dropFields,
  type FieldRef,
  type Finding,
  fieldRef,
  fixSurrogates,
  isBlank,
  makeId,
  objectsOf,
  quoted,
  type Repair,
  type Report,
} from './repair.ts'
import { declarationFields, dropTools, renameTools, rewriteTools, withoutDuplicates } from './tools.ts'

const inputSteps = (body: JsonObject): JsonObject[] => objectsOf(body['input'])
const isModel = (step: JsonObject): boolean =>
  !['user_input', 'function_result'].includes(asText(step['type']))

const FORM: FlatForm = {
  isCall: step => step['type'] === 'function_call',
  isResult: step => step['type'] === 'function_result',
  isGiven: step => !isModel(step),
  callId: 'id',
  makeResult: call => ({
    type: 'function_result',
    call_id: asText(call['id']),
    name: asText(call['name']),
    result: NO_RESULT,
    is_error: true,
  }),
}

function pairSteps(body: JsonObject, report: Report, findings: readonly Finding[]): void {
  pairFlat(FORM)(body, report, findings)
  const calls = inputSteps(body).filter(FORM.isCall)
  const names = new Map(calls.map(step => [asText(step['id']), asText(step['name'])]))
  for (const step of inputSteps(body).filter(FORM.isResult)) {
    const name = names.get(asText(step['call_id']))
    if (name !== undefined) fixResult(step, name, report)
  }
}

function fixSteps(body: JsonObject, report: Report): void {
  if (isBlank(body['agent'])) addModel('gemini-3-pro')(body, report, [])
  if (typeof body['input'] === 'number' || typeof body['input'] === 'boolean') {
    body['input'] = String(body['input'])
    report('Made the input a text.')
  }
  if (!Array.isArray(body['input'])) return
  nameCalls(inputSteps(body), report)
  for (const step of inputSteps(body))
    if (step['type'] === 'function_call' && !isJsonObject(step['arguments'])) {
      step['arguments'] = asObject(step['arguments'])
      report(`Made the arguments of ${quoted(asText(step['name']))} an object.`)
    }
  const kept = inputSteps(body).filter(
    step => step['type'] !== 'user_input' || objectsOf(step['content']).length > 0,
  )
  if (kept.length < inputSteps(body).length) report('Dropped a step without content.')
  if (kept.length === 0) report('Added an input: there was none.')
  body['input'] = kept.length > 0 ? kept : 'Continue.'
}

/** Gives calls without an id one, and the results without an id after them too, in order. */
function nameCalls(steps: readonly JsonObject[], report: Report): void {
  const waiting: string[] = []
  for (const [at, step] of steps.entries()) {
    if (step['type'] === 'function_call' && isBlank(step['id'])) {
      const id = makeId(`${at}`, 'call_')
      step['id'] = id
      waiting.push(id)
      report(`Gave the call of ${quoted(asText(step['name']))}, and its result, the id ${id}.`)
    } else if (step['type'] === 'function_result' && isBlank(step['call_id'])) {
      const id = waiting.shift()
      if (id !== undefined) step['call_id'] = id
    }
  }
}

const CONTENT = ['text', 'image', 'audio', 'video', 'document']

/** A result has the name of its call, and is text, an object or a list of content parts. */
function fixResult(step: JsonObject, name: string, report: Report): void {
  const { result = null, call_id: id } = step
  const isContent = (part: Json): boolean => isJsonObject(part) && CONTENT.includes(asText(part['type']))
  if (Array.isArray(result) && !result.every(isContent)) {
    step['result'] = JSON.stringify(result)
    report(`Wrote the result of ${quoted(asText(id))}, which is not a list of content, as text.`)
  }
  if (step['name'] !== undefined && step['name'] !== name) {
    step['name'] = name
    report(`Gave a result the name of its call, ${quoted(name)}.`)
  }
  if (result !== null && typeof result !== 'number') return
  step['result'] = result === null ? 'No output.' : String(result)
  report(`Put text into the result of ${quoted(asText(id))}.`)
}

function fixThoughts(body: JsonObject, report: Report, findings: readonly Finding[]): void {
  const wrong = findings
    .flatMap(({ message }) => /input\[(\d+)\]\.signature/.exec(message)?.[1] ?? [])
    .map(Number)
  for (const at of wrong) {
    const step = inputSteps(body)[at]
    if (step === undefined) continue
    step['signature'] = STAND_IN
    delete step['summary']
    report(
      `Signed the thought at step ${at} with the documented stand-in: its own signature is not valid here.`,
    )
  }
  if (wrong.length > 0) return
  const steps: JsonObject[] = []
  for (const [at, step] of inputSteps(body).entries()) {
    const turn = turnFrom(inputSteps(body), at)
    const opens = turn !== undefined && turn[0]?.['type'] !== 'thought'
    if (opens && turn.some(each => each['type'] === 'function_call' || each['type'] === 'thought')) {
      steps.push({ type: 'thought', signature: STAND_IN })
      report('Put the documented stand-in for a thought before an answer with calls.')
    }
    steps.push(step)
  }
  body['input'] = steps
}

/** The model's steps from `at`, if an answer begins there. */
function turnFrom(steps: readonly JsonObject[], at: number): JsonObject[] | undefined {
  const [before, first] = [steps[at - 1], steps[at]]
  if (first === undefined || !isModel(first) || (before !== undefined && isModel(before))) return undefined
  const end = steps.findIndex((step, index) => index > at && !isModel(step))
  return steps.slice(at, end < 0 ? steps.length : end)
}

function fixTools(body: JsonObject, report: Report): void {
  const tools = objectsOf(body['tools'])
  const called = inputSteps(body).filter(step => step['type'] === 'function_call')
  if (tools.length === 0) {
    const names = new Set(called.map(step => asText(step['name'])))
    if (names.size === 0) return
    body['tools'] = [...names].map(name => ({ type: 'function', name, description: 'No longer available.' }))
    const config = body['generation_config']
    body['generation_config'] = { ...(isJsonObject(config) && config), tool_choice: 'none' }
    report('Declared the tools that the history mentions, with the choice `none`.')
    return
  }
  for (const tool of tools.filter(each => each['type'] === 'function')) {
    for (const key of Object.keys(tool).filter(
      each => !['type', 'name', 'description', 'parameters'].includes(each),
    )) {
      delete tool[key]
      report(`Dropped \`${key}\` of a tool, which is no field of this API.`)
    }
    if (tool['parameters'] !== undefined && !isJsonObject(tool['parameters'])) delete tool['parameters']
  }
  body['tools'] = withoutDuplicates(tools, report)
  renameTools(GEMINI_NAMES, functionTools, nameRefs)(body, report, [])
}

const functionTools = (body: JsonObject): JsonObject[] =>
  objectsOf(body['tools']).filter(tool => tool['type'] === 'function')

const nameRefs = (body: JsonObject): FieldRef[] =>
  inputSteps(body)
    .filter(({ type }) => type === 'function_call' || type === 'function_result')
    .flatMap(step => fieldRef(step, 'name'))

export const interactionsRepairs: readonly Repair[] = [
  { rules: ['I-01', 'I-09'], apply: fixSurrogates },
  { rules: ['I-01'], apply: fixSteps },
  { rules: ['I-02'], apply: separateFlat(FORM) },
  { rules: ['I-02'], apply: pairSteps },
  { rules: ['I-05'], apply: fixThoughts },
  {
    rules: ['I-03'],
    apply: rewriteTools(
      tool => tool['type'] === 'function' && asText(tool['name']) !== '',
      tool => ({ type: 'function', ...declarationFields(tool, 'parameters') }),
    ),
  },
  { rules: ['I-03'], apply: dropTools(/^tools\[(\d+)\]\.type/) },
  { rules: ['I-03'], apply: fixTools },
  { rules: ['I-IMG'], apply: fixPictures('interactions') },
  { rules: ['I-04'], apply: dropFields(() => ['previous_interaction_id', 'background']) },
  {
    rules: ['I-08'],
    apply(body, report) {
      if (!isJsonObject(body['generation_config'])) return
      delete body['generation_config']['tool_choice']
      report('Dropped the tool choice, which this API does not have.')
    },
  },
  {
    rules: ['I-01'],
    apply: dropFields(({ message }) => /^Unknown parameter '([^']+)'/.exec(message)?.slice(1) ?? []),
  },
]
