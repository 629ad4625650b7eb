// Repairs of Interactions requests, rule by rule. An answer that calls something opens with a thought; where another
// model wrote it, the documented stand-in does.

import { isJsonObject, type JsonObject } from '../../lib/json.ts'
import { dropTools, reformTools } from './foreign.ts'
import { dropSecond, respellNames, STAND_IN } from './google.ts'
import { type Item, NO_RESULT, pair, separateCalls } from './pairing.ts'
import { mendPictures } from './pictures.ts'
import {
  asObject,
  type Did,
  type Finding,
  isBlank,
  mendText,
  objectsOf,
  plainId,
  removeAt,
  shown,
  slot,
  stringOf,
  type Treatment,
} from './treatment.ts'

const stepsOf = (body: JsonObject): JsonObject[] => objectsOf(body['input'])
const isModel = (step: JsonObject): boolean =>
  !['user_input', 'function_result'].includes(stringOf(step['type']))

const separateSteps: Treatment['apply'] = (body, did) =>
  separateCalls(
    stepsOf(body),
    {
      call: step => (step['type'] === 'function_call' ? 'id' : undefined),
      result: step => (step['type'] === 'function_result' ? 'call_id' : undefined),
    },
    did,
  )

function pairSteps(body: JsonObject, did: Did): void {
  const names = new Map<string, string>()
  const items = stepsOf(body).map((value): Item<JsonObject> => {
    const name = stringOf(value['name'])
    if (value['type'] === 'function_call') {
      names.set(stringOf(value['id']), name)
      return { kind: 'call', id: stringOf(value['id']), name, value }
    }
    if (value['type'] === 'function_result') return { kind: 'result', id: stringOf(value['call_id']), value }
    return { kind: isModel(value) ? 'said' : 'given', value }
  })
  const paired = pair(
    items,
    {
      makeResult: ({ id, name }) => ({
        type: 'function_result',
        call_id: id,
        name,
        result: NO_RESULT,
        is_error: true,
      }),
      begins: () => false,
    },
    did,
  )
  body['input'] = paired.map(({ value }) => value)
  for (const step of stepsOf(body)) {
    const name = names.get(stringOf(step['call_id']))
    if (step['type'] !== 'function_result' || name === undefined) continue
    fixResult(step, did)
    if (step['name'] !== undefined && step['name'] !== name) {
      step['name'] = name
      did(`Gave a result the name of its call, ${shown(name)}.`)
    }
    if (step['result'] !== undefined && step['result'] !== null && typeof step['result'] !== 'number')
      continue
    step['result'] =
      step['result'] === undefined || step['result'] === null ? 'No output.' : String(step['result'])
    did(`Put words into the result of ${shown(stringOf(step['call_id']))}.`)
  }
}

function fixSteps(body: JsonObject, did: Did): void {
  if (isBlank(body['model']) && isBlank(body['agent'])) {
    body['model'] = 'gemini-3-pro'
    did('Added a model.')
  }
  if (typeof body['input'] === 'number' || typeof body['input'] === 'boolean') {
    body['input'] = String(body['input'])
    did('Made the input a text.')
  }
  if (!Array.isArray(body['input'])) return
  nameCalls(stepsOf(body), did)
  for (const step of stepsOf(body))
    if (step['type'] === 'function_call' && !isJsonObject(step['arguments'])) {
      step['arguments'] = asObject(step['arguments'])
      did(`Made the arguments of ${shown(stringOf(step['name']))} an object.`)
    }
  const kept = stepsOf(body).filter(
    step => step['type'] !== 'user_input' || objectsOf(step['content']).length > 0,
  )
  if (kept.length < stepsOf(body).length) did('Dropped a step without content.')
  if (kept.length === 0) did('Made an input: there was none.')
  body['input'] = kept.length > 0 ? kept : 'Continue.'
}

/** Calls without an id get one, and so do the results after them that name none, in their order. */
function nameCalls(steps: readonly JsonObject[], did: Did): void {
  const waiting: string[] = []
  for (const [at, step] of steps.entries()) {
    if (step['type'] === 'function_call' && isBlank(step['id'])) {
      const id = plainId(`${at}`, 'call_')
      step['id'] = id
      waiting.push(id)
      did(`Gave the call of ${shown(stringOf(step['name']))}, and its result, the id ${id}.`)
    } else if (step['type'] === 'function_result' && isBlank(step['call_id'])) {
      const id = waiting.shift()
      if (id !== undefined) step['call_id'] = id
    }
  }
}

const CONTENT = ['text', 'image', 'audio', 'video', 'document']

/** A list as a result holds content; of any other list the words are told. */
function fixResult(step: JsonObject, did: Did): void {
  const { result } = step
  if (!Array.isArray(result)) return
  if (result.every(part => isJsonObject(part) && CONTENT.includes(stringOf(part['type'])))) return
  step['result'] = JSON.stringify(result)
  did(`Wrote the result of ${shown(stringOf(step['call_id']))}, which is a list of no content, as text.`)
}

function fixThoughts(body: JsonObject, did: Did, findings: readonly Finding[]): void {
  const wrong = findings
    .flatMap(({ message }) => /input\[(\d+)\]\.signature/.exec(message)?.[1] ?? [])
    .map(Number)
  for (const at of wrong) {
    const step = stepsOf(body)[at]
    if (step === undefined) continue
    step['signature'] = STAND_IN
    delete step['summary']
    did(`Signed the thought at step ${at} with the documented stand-in: its own signature is not valid here.`)
  }
  if (wrong.length > 0) return
  const steps: JsonObject[] = []
  for (const [at, step] of stepsOf(body).entries()) {
    const turn = turnFrom(stepsOf(body), at)
    const opens = turn !== undefined && turn[0]?.['type'] !== 'thought'
    if (opens && turn.some(each => each['type'] === 'function_call' || each['type'] === 'thought')) {
      steps.push({ type: 'thought', signature: STAND_IN })
      did('Put the documented stand-in for a thought before an answer that calls something.')
    }
    steps.push(step)
  }
  body['input'] = steps
}

/** The run of the model's steps that begins at `at`, if one does. */
function turnFrom(steps: readonly JsonObject[], at: number): JsonObject[] | undefined {
  const [before, first] = [steps[at - 1], steps[at]]
  if (first === undefined || !isModel(first) || (before !== undefined && isModel(before))) return undefined
  const end = steps.findIndex((step, index) => index > at && !isModel(step))
  return steps.slice(at, end < 0 ? steps.length : end)
}

function fixTools(body: JsonObject, did: Did): void {
  const tools = objectsOf(body['tools'])
  const called = stepsOf(body).filter(step => step['type'] === 'function_call')
  if (tools.length === 0) {
    const names = new Set(called.map(step => stringOf(step['name'])))
    if (names.size === 0) return
    body['tools'] = [...names].map(name => ({ type: 'function', name, description: 'No longer available.' }))
    const config = body['generation_config']
    body['generation_config'] = { ...(isJsonObject(config) && config), tool_choice: 'none' }
    did('Declared the tools that the history mentions, with the choice `none`.')
    return
  }
  for (const tool of tools.filter(each => each['type'] === 'function')) {
    for (const key of Object.keys(tool).filter(
      each => !['type', 'name', 'description', 'parameters'].includes(each),
    )) {
      delete tool[key]
      did(`Dropped \`${key}\` of a tool, which is no field of this API.`)
    }
    if (tool['parameters'] !== undefined && !isJsonObject(tool['parameters'])) delete tool['parameters']
  }
  body['tools'] = dropSecond(tools, did)
  const results = stepsOf(body).filter(step => step['type'] === 'function_result')
  const slots = [...called, ...results].flatMap(step => slot(step, 'name'))
  respellNames(
    objectsOf(body['tools']).filter(tool => tool['type'] === 'function'),
    slots,
    did,
  )
}

export const interactionsTreatments: readonly Treatment[] = [
  { rules: ['I-01', 'I-09'], apply: mendText },
  { rules: ['I-01'], apply: fixSteps },
  { rules: ['I-02'], apply: separateSteps },
  { rules: ['I-02'], apply: pairSteps },
  { rules: ['I-05'], apply: fixThoughts },
  {
    rules: ['I-03'],
    apply: reformTools(
      tool => tool['type'] === 'function' && stringOf(tool['name']) !== '',
      ({ name, description, schema }) => ({
        type: 'function',
        name,
        ...(description !== undefined && { description }),
        ...(schema && { parameters: schema }),
      }),
    ),
  },
  { rules: ['I-03'], apply: dropTools(/^tools\[(\d+)\]\.type/) },
  { rules: ['I-03'], apply: fixTools },
  { rules: ['I-IMG'], apply: mendPictures('interactions') },
  {
    rules: ['I-04'],
    apply(body, did) {
      for (const key of ['previous_interaction_id', 'background']) {
        if (body[key] === undefined) continue
        delete body[key]
        did(`Dropped \`${key}\`: the vendor does not keep that conversation.`)
      }
    },
  },
  {
    rules: ['I-08'],
    apply(body, did) {
      if (!isJsonObject(body['generation_config'])) return
      delete body['generation_config']['tool_choice']
      did('Dropped the tool choice, which is not one of this API.')
    },
  },
  {
    rules: ['I-01'],
    apply(body, did, findings) {
      for (const { message } of findings) {
        const name = /^Unknown parameter '([^']+)'/.exec(message)?.[1]
        if (name !== undefined && removeAt(body, name))
          did(`Dropped \`${name}\`, which is no field of this API.`)
      }
    },
  },
]
