// Everything that Interactions refuses, in the order in which it looks. This file checks the fields and the stored
// state; tools, steps and history have files of their own.
import type { Mode, Rejections } from '../script.ts'
import { asString, extraKeys, isRecord, type JsonRecord, wordList } from '../shape.ts'
import { checkInteractionsHistory } from './history.ts'
import type { InteractionsMemory } from './memory.ts'
import { checkStep, readSteps } from './messages.ts'
import { interactionNotFound, interactionsError } from './refusals.ts'
import { checkInteractionsChoice, checkInteractionsTools } from './tools.ts'

const INTERACTIONS_FIELDS = wordList(`
  model agent agent_config input previous_interaction_id tools system_instruction generation_config response_format
  response_mime_type response_modalities store background stream environment webhook_config continuation_token
  cached_content labels safety_settings service_tier`)

export function* checkInteraction(body: unknown, memory: InteractionsMemory, mode: Mode): Rejections {
  if (!isRecord(body)) return yield interactionsError('I-01', 'The body must be a JSON object.')
  const steps = readSteps(body['input'])
  yield* checkFields(body)
  yield* checkResponseFormat(body['response_format'])
  yield* checkInteractionsTools(body['tools'])
  yield* checkInteractionsChoice(body['generation_config'])
  for (const [at, step] of steps.entries()) yield* checkStep(step, `input[${at}]`)
  yield* checkState(body, memory)
  yield* checkInteractionsHistory({ body, memory, mode }, steps)
}

function* checkFields(body: JsonRecord): Rejections {
  for (const key of extraKeys(body, INTERACTIONS_FIELDS))
    yield interactionsError('I-01', `Unknown parameter '${key}'.`)
  if (typeof body['model'] !== 'string' && typeof body['agent'] !== 'string') {
    yield interactionsError('I-01', "One of 'model' and 'agent' is required.")
  }
  const input = body['input']
  if (input === undefined) {
    if (body['continuation_token'] === undefined) yield interactionsError('I-01', "'input' is required.")
  } else if (input === '' || (Array.isArray(input) && input.length === 0)) {
    yield interactionsError('I-01', "'input' must not be empty.")
  } else if (typeof input !== 'string' && typeof input !== 'object') {
    yield interactionsError('I-01', "'input' must be a string, content, or a list of content or steps.")
  }
}

function* checkResponseFormat(given: unknown): Rejections {
  if (given === undefined) return
  for (const format of Array.isArray(given) ? given : [given]) {
    if (!isRecord(format) || typeof format['type'] !== 'string')
      yield interactionsError('I-01', "'response_format' must have a 'type'.")
    else if (format['type'] === 'text') {
      for (const key of extraKeys(format, wordList('type mime_type schema')))
        yield interactionsError('I-01', `Unknown parameter 'response_format.${key}'.`)
      if (format['schema'] !== undefined && format['mime_type'] !== 'application/json')
        yield interactionsError('I-01', "'response_format.schema' needs the mime_type application/json.")
    }
  }
}

function* checkState(body: JsonRecord, memory: InteractionsMemory): Rejections {
  if (body['store'] === false && body['background'] === true) {
    yield interactionsError('I-04', "'background' needs 'store'.")
  }
  if (body['previous_interaction_id'] === undefined || memory.trustForeign) return
  const previous = asString(body['previous_interaction_id'])
  if (memory.stored.has(previous)) return
  const why = memory.unstored.has(previous) ? " It was made with 'store: false'." : ''
  yield interactionNotFound(previous, why)
}
