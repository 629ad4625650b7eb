// Rules of Interactions about how steps follow one another: calls and results, tools that must be sent again, and thoughts that
// do not come back as they were issued. The exact words of the service are little known: codes and statuses are its own, the
// messages are ours.

import type { MemoryOptions } from '../double.ts'
import { DUMMY_SIGNATURES } from '../google/common.ts'
import type { Check, Rejection, Rejections } from '../script.ts'
import { inspectSeal } from '../seal.ts'
import { asRecords, asString, type JsonRecord } from '../shape.ts'

export function refuse(rule: string, message: string, code = 'invalid_request', status = 400): Rejection {
  return { rule, status, type: code, code, message }
}

export const interactionNotFound = (id: string, why = ''): Rejection =>
  refuse('I-04', `Interaction '${id}' not found.${why}`, 'not_found', 404)

type StoredInteraction = {
  interaction: JsonRecord
  input: unknown
  isBackground: boolean
  /** Calls that wait for a result: id → name. */
  pending: Map<string, string>
  frames: { id: string; event: string; data: string }[]
}

export type InteractionsMemory = ReturnType<typeof newInteractionsMemory>

export const newInteractionsMemory = ({ trustForeign = false }: MemoryOptions = {}) => ({
  counter: 0,
  trustForeign,
  stored: new Map<string, StoredInteraction>(),
  /** Ids of interactions that were answered with `store: false`. */
  unstored: new Set<string>(),
  /** Thought signature → the thought's summary, and the first call after it. */
  thoughts: new Map<string, { summary: string; firstCall: string | null }>(),
})

// ---- how steps follow one another ---------------------------------------------------------------------------

type InteractionsCheck = Check<InteractionsMemory>

export function* checkInteractionsHistory(check: InteractionsCheck, steps: JsonRecord[]): Rejections {
  const { body, memory, mode } = check
  yield* checkStepPairs(body, steps, memory)
  const hasResults = steps.some(step => step['type'] === 'function_result')
  if (mode === 'strict' && hasResults && asRecords(body['tools']).length === 0) {
    const text = "Function results were given, but 'tools' is empty: tools are sent with every interaction."
    yield refuse('I-03', text)
  }
  yield* checkThoughts(steps, check)
}

function* checkStepPairs(body: JsonRecord, steps: JsonRecord[], memory: InteractionsMemory): Rejections {
  const previous = body['previous_interaction_id']
  const mayBeElsewhere = memory.trustForeign && previous !== undefined
  const open = new Map(memory.stored.get(asString(previous))?.pending)
  const seen = new Set<string>()
  for (const [at, step] of steps.entries()) {
    const path = `input[${at}]`
    if (step['type'] === 'function_call') {
      const id = asString(step['id'])
      if (seen.has(id)) yield refuse('I-02', `${path}.id: '${id}' was used before.`)
      seen.add(id)
      open.set(id, asString(step['name']))
    } else if (step['type'] === 'function_result') {
      const id = asString(step['call_id'])
      const name = open.get(id)
      if (name === undefined && !mayBeElsewhere) {
        const text = `${path}.call_id: '${id}' is not the id of a function call that waits for a result.`
        yield refuse('I-02', text)
      } else if (name !== undefined && step['name'] !== undefined && step['name'] !== name) {
        yield refuse('I-02', `${path}.name: function call '${id}' was made to '${name}'.`)
      }
      open.delete(id)
    } else if (step['type'] === 'user_input' && open.size > 0) {
      yield callsWithoutResult(open)
      open.clear()
    }
  }
  if (open.size > 0) yield callsWithoutResult(open)
}

const callsWithoutResult = (open: Map<string, string>): Rejection =>
  refuse('I-02', `Function calls without a function_result: ${[...open.keys()].join(', ')}.`)

/** The steps of one model turn. `at` is the index of the first. */
type ModelTurn = { at: number; steps: JsonRecord[] }

function modelTurns(steps: JsonRecord[]): ModelTurn[] {
  const turns: ModelTurn[] = []
  let isOpen = false
  for (const [at, step] of steps.entries()) {
    const isModelStep = step['type'] !== 'user_input' && step['type'] !== 'function_result'
    if (isModelStep && isOpen) turns.at(-1)?.steps.push(step)
    else if (isModelStep) turns.push({ at, steps: [step] })
    isOpen = isModelStep
  }
  return turns
}

function* checkThoughts(given: JsonRecord[], check: InteractionsCheck): Rejections {
  for (const { at: start, steps } of modelTurns(given)) {
    const firstCall = steps.findIndex(step => step['type'] === 'function_call')
    const firstThought = steps.findIndex(step => step['type'] === 'thought')
    if (firstCall >= 0 && (firstThought < 0 || firstThought > firstCall)) {
      const text = `input[${start + firstCall}]: a function_call needs the thought that came before it.`
      yield refuse('I-05', text)
    } else if (firstThought > 0) {
      yield refuse('I-05', `input[${start}]: a turn with a thought must open with it.`)
    }
    const callId = firstCall < 0 ? null : asString(steps[firstCall]?.['id'])
    for (const [at, step] of steps.entries()) {
      const problem = step['type'] === 'thought' ? thoughtProblem(step, callId, check) : null
      if (problem) yield refuse('I-05', `input[${start + at}].signature: ${problem}`)
    }
  }
}

export const summaryText = (step: JsonRecord): string =>
  asRecords(step['summary'])
    .map(part => asString(part['text']))
    .join('\n')

function thoughtProblem(step: JsonRecord, callId: string | null, check: InteractionsCheck): string | null {
  const { memory, mode } = check
  const signature = asString(step['signature'])
  if (signature === '') return callId === null ? null : 'Missing thought signature.'
  if (DUMMY_SIGNATURES.includes(signature)) return null
  const issued = memory.thoughts.get(signature)
  if (issued !== undefined) {
    if (mode === 'lenient') return null
    if (issued.summary !== summaryText(step)) return 'Corrupted thought signature.'
    return issued.firstCall === callId ? null : 'The thought is not in its place.'
  }
  const verdict = inspectSeal('thought-step', signature, summaryText(step))
  if (verdict === 'valid' || (verdict === 'altered' && mode === 'lenient') || memory.trustForeign) return null
  return 'Corrupted thought signature.'
}
