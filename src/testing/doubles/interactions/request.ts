/**
 * What Gemini Interactions refuses: the shape of input and tools, results that answer no call, stored state
 * that is not there, and thoughts that do not come back. The exact words of the service are little known;
 * codes and statuses are its own, the messages are ours.
 */
import { DUMMY_SIGNATURES, needsSignatures, pictureProblem } from '../gemini/history.ts'
import type { Mode, Rejection } from '../script.ts'
import { inspectSeal } from '../seal.ts'
import { extraKeys, isRecord, type JsonRecord, listOf, recordsOf, stringOf } from '../shape.ts'

export type StoredInteraction = {
  interaction: JsonRecord
  input: unknown
  isBackground: boolean
  /** Calls that wait for a result: id → name. */
  pending: Map<string, string>
  frames: { id: string; event: string; data: string }[]
}

export type InteractionsMemory = {
  counter: number
  trustForeign: boolean
  stored: Map<string, StoredInteraction>
  /** Ids that were answered but, by `store: false`, never kept. */
  unstored: Set<string>
  /** Thought signature → what it was handed out for. */
  thoughts: Map<string, { summary: string; firstCall: string | null }>
}

export const newInteractionsMemory = (options: { trustForeign?: boolean } = {}): InteractionsMemory => ({
  counter: 0,
  trustForeign: options.trustForeign ?? false,
  stored: new Map(),
  unstored: new Set(),
  thoughts: new Map(),
})

export const refused = (
  rule: string,
  message: string,
  code = 'invalid_request',
  status = 400,
): Rejection => ({
  rule,
  status,
  type: code,
  code,
  message,
})

const FIELDS = [
  'model',
  'agent',
  'agent_config',
  'input',
  'previous_interaction_id',
  'tools',
  'system_instruction',
  'generation_config',
  'response_format',
  'response_mime_type',
  'response_modalities',
  'store',
  'background',
  'stream',
  'environment',
  'webhook_config',
  'continuation_token',
  'cached_content',
  'labels',
  'safety_settings',
  'service_tier',
]
const CONTENT = ['text', 'image', 'audio', 'video', 'document']
const SERVER = [
  'mcp_server_tool',
  'google_search',
  'code_execution',
  'url_context',
  'file_search',
  'google_maps',
  'retrieval',
  'processing',
]
const STEPS = [
  'user_input',
  'model_output',
  'thought',
  'function_call',
  'function_result',
  ...SERVER.flatMap(name => [`${name}_call`, `${name}_result`]),
]
const TOOLS = [
  'function',
  'mcp_server',
  'google_search',
  'code_execution',
  'url_context',
  'file_search',
  'google_maps',
  'computer_use',
  'retrieval',
]
const CHOICES = ['auto', 'any', 'none', 'validated']

export function checkInteraction(body: JsonRecord, memory: InteractionsMemory, mode: Mode): Rejection[] {
  const steps = stepsOf(body['input'])
  return [
    ...checkShape(body),
    ...checkTools(body),
    ...checkChoice(body['generation_config']),
    ...steps.flatMap(checkStep),
    ...checkState(body, memory),
    ...checkPairing(body, steps, memory),
    ...checkResent(body, steps, mode),
    ...checkThoughts(body, steps, memory, mode),
  ]
}

/** The steps of an input; plain content counts as what the user said. */
export function stepsOf(input: unknown): JsonRecord[] {
  if (typeof input === 'string') return [{ type: 'user_input', content: [{ type: 'text', text: input }] }]
  const items = recordsOf(Array.isArray(input) ? input : [input])
  const isContent = items.length > 0 && items.every(item => CONTENT.includes(stringOf(item['type'])))
  return isContent ? [{ type: 'user_input', content: items }] : items
}

function checkShape(body: JsonRecord): Rejection[] {
  const found = extraKeys(body, FIELDS).map(key => refused('I-01', `Unknown parameter '${key}'.`))
  if (typeof body['model'] !== 'string' && typeof body['agent'] !== 'string') {
    found.push(refused('I-01', "One of 'model' and 'agent' is required."))
  }
  const input = body['input']
  if (input === undefined && body['continuation_token'] === undefined) {
    found.push(refused('I-01', "'input' is required."))
  } else if (input === '' || (Array.isArray(input) && input.length === 0)) {
    found.push(refused('I-01', "'input' must not be empty."))
  } else if (input !== undefined && typeof input !== 'string' && typeof input !== 'object') {
    found.push(refused('I-01', "'input' must be a string, content, or a list of content or steps."))
  }
  return found
}

function checkStep(step: JsonRecord, at: number): Rejection[] {
  const type = stringOf(step['type'])
  const place = `input[${at}]`
  if (!STEPS.includes(type)) return [refused('I-01', `${place}.type: '${type}' is not a step type.`)]
  const found: Rejection[] = []
  const need = (name: string): void => {
    if (typeof step[name] !== 'string' || step[name] === '')
      found.push(refused('I-01', `${place}.${name} is required.`))
  }
  if (type === 'function_call') {
    need('id')
    need('name')
    if (!isRecord(step['arguments'])) found.push(refused('I-01', `${place}.arguments must be an object.`))
  } else if (type === 'function_result') {
    need('call_id')
    const result = step['result']
    const isResult = typeof result === 'string' || isRecord(result) || Array.isArray(result)
    if (!isResult)
      found.push(refused('I-02', `${place}.result must be a string, an object or a list of content.`))
    for (const part of listOf(result)) {
      if (!isRecord(part) || !CONTENT.includes(stringOf(part['type']))) {
        found.push(refused('I-02', `${place}.result: a list must hold content only.`))
      }
    }
  } else if (type === 'user_input' && recordsOf(step['content']).length === 0) {
    found.push(refused('I-01', `${place}.content must not be empty.`))
  }
  for (const part of [...recordsOf(step['content']), ...recordsOf(step['result'])]) {
    if (part['type'] !== 'image' || typeof part['data'] !== 'string') continue
    const problem = pictureProblem(part['mime_type'], part['data'])
    if (problem !== null) found.push(refused('I-IMG', problem))
  }
  return found
}

function checkTools(body: JsonRecord): Rejection[] {
  const names: string[] = []
  const found = recordsOf(body['tools']).flatMap((tool, at): Rejection[] => {
    const type = stringOf(tool['type'])
    if (!TOOLS.includes(type)) return [refused('I-03', `tools[${at}].type: '${type}' is not a tool type.`)]
    if (type !== 'function') return []
    const name = stringOf(tool['name'])
    names.push(name)
    const bad: Rejection[] = extraKeys(tool, ['type', 'name', 'description', 'parameters']).map(key =>
      refused('I-03', `tools[${at}]: unknown parameter '${key}'.`),
    )
    if (!/^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/.test(name)) {
      bad.push(refused('I-03', `tools[${at}].name: Invalid function name.`))
    }
    if (tool['parameters'] !== undefined && !isRecord(tool['parameters'])) {
      bad.push(refused('I-03', `tools[${at}].parameters must be a JSON schema.`))
    }
    return bad
  })
  const twice = names.find((name, at) => names.indexOf(name) !== at)
  return twice === undefined
    ? found
    : [...found, refused('I-03', `Duplicate function declaration found: ${twice}`)]
}

function checkChoice(config: unknown): Rejection[] {
  const choice = isRecord(config) ? config['tool_choice'] : undefined
  if (choice === undefined) return []
  const isMode = (value: unknown): boolean => CHOICES.includes(stringOf(value))
  if (isRecord(choice)) {
    const allowed = choice['allowed_tools']
    const isRight = isRecord(allowed) && isMode(allowed['mode'] ?? 'auto') && Array.isArray(allowed['tools'])
    return isRight
      ? []
      : [refused('I-08', 'generation_config.tool_choice: expected { allowed_tools: { mode, tools } }.')]
  }
  return isMode(choice)
    ? []
    : [refused('I-08', `generation_config.tool_choice must be one of ${CHOICES.join(', ')} or an object.`)]
}

function checkState(body: JsonRecord, memory: InteractionsMemory): Rejection[] {
  const found: Rejection[] = []
  if (body['store'] === false && body['background'] === true) {
    found.push(refused('I-04', "'background' needs 'store'."))
  }
  const previous = body['previous_interaction_id']
  if (previous === undefined || memory.stored.has(stringOf(previous)) || memory.trustForeign) return found
  const why = memory.unstored.has(stringOf(previous)) ? " It was made with 'store: false'." : ''
  return [...found, refused('I-04', `Interaction '${stringOf(previous)}' not found.${why}`, 'not_found', 404)]
}

function checkPairing(body: JsonRecord, steps: JsonRecord[], memory: InteractionsMemory): Rejection[] {
  const previous = memory.stored.get(stringOf(body['previous_interaction_id']))
  const mayBeElsewhere = memory.trustForeign && body['previous_interaction_id'] !== undefined
  const open = new Map(previous?.pending)
  const seen = new Set<string>()
  const found: Rejection[] = []
  for (const [at, step] of steps.entries()) {
    if (step['type'] === 'function_call') {
      const id = stringOf(step['id'])
      if (seen.has(id)) found.push(refused('I-02', `input[${at}].id: '${id}' was used before.`))
      seen.add(id)
      open.set(id, stringOf(step['name']))
    } else if (step['type'] === 'function_result') {
      const id = stringOf(step['call_id'])
      const name = open.get(id)
      if (name === undefined && !mayBeElsewhere) {
        found.push(
          refused(
            'I-02',
            `input[${at}].call_id: '${id}' is not the id of a function call that waits for a result.`,
          ),
        )
      } else if (name !== undefined && step['name'] !== undefined && step['name'] !== name) {
        found.push(refused('I-02', `input[${at}].name: function call '${id}' was made to '${name}'.`))
      }
      open.delete(id)
    } else if (step['type'] === 'user_input' && open.size > 0) {
      found.push(unanswered(open))
      open.clear()
    }
  }
  return open.size > 0 ? [...found, unanswered(open)] : found
}

const unanswered = (open: Map<string, string>): Rejection =>
  refused('I-02', `Function calls without a function_result: ${[...open.keys()].join(', ')}.`)

/** Tools are not part of the history that an id carries over. */
function checkResent(body: JsonRecord, steps: JsonRecord[], mode: Mode): Rejection[] {
  const hasResults = steps.some(step => step['type'] === 'function_result')
  return mode === 'strict' && hasResults && recordsOf(body['tools']).length === 0
    ? [
        refused(
          'I-03',
          "Function results were given, but 'tools' is empty: tools are sent with every interaction.",
        ),
      ]
    : []
}

const isModelStep = (step: JsonRecord): boolean =>
  step['type'] !== 'user_input' && step['type'] !== 'function_result'

/** Runs of model steps between what the caller gave. */
function modelTurns(steps: JsonRecord[]): { at: number; steps: JsonRecord[] }[] {
  const turns: { at: number; steps: JsonRecord[] }[] = []
  for (const [at, step] of steps.entries()) {
    const before = steps[at - 1]
    if (!isModelStep(step)) continue
    if (before !== undefined && isModelStep(before)) turns.at(-1)?.steps.push(step)
    else turns.push({ at, steps: [step] })
  }
  return turns
}

function checkThoughts(
  body: JsonRecord,
  steps: JsonRecord[],
  memory: InteractionsMemory,
  mode: Mode,
): Rejection[] {
  if (!needsSignatures(stringOf(body['model']))) return []
  return modelTurns(steps).flatMap(turn => {
    const firstCall = turn.steps.findIndex(step => step['type'] === 'function_call')
    const firstThought = turn.steps.findIndex(step => step['type'] === 'thought')
    const found: Rejection[] = []
    if (firstCall >= 0 && (firstThought < 0 || firstThought > firstCall)) {
      found.push(
        refused(
          'I-05',
          `input[${turn.at + firstCall}]: a function_call needs the thought that came before it.`,
        ),
      )
    } else if (firstThought > 0) {
      found.push(refused('I-05', `input[${turn.at}]: a turn with a thought must open with it.`))
    }
    const callId = firstCall < 0 ? null : stringOf(turn.steps[firstCall]?.['id'])
    for (const [at, step] of turn.steps.entries()) {
      if (step['type'] !== 'thought') continue
      const problem = thoughtProblem(step, callId, memory, mode)
      if (problem) found.push(refused('I-05', `input[${turn.at + at}].signature: ${problem}`))
    }
    return found
  })
}

export const summaryText = (step: JsonRecord): string =>
  recordsOf(step['summary'])
    .map(part => stringOf(part['text']))
    .join('\n')

function thoughtProblem(
  step: JsonRecord,
  callId: string | null,
  memory: InteractionsMemory,
  mode: Mode,
): string | null {
  const signature = stringOf(step['signature'])
  if (signature === '') return callId === null ? null : 'Missing thought signature.'
  if (DUMMY_SIGNATURES.includes(signature)) return null
  const handed = memory.thoughts.get(signature)
  if (handed !== undefined) {
    if (mode === 'lenient') return null
    if (handed.summary !== summaryText(step)) return 'Corrupted thought signature.'
    return handed.firstCall === callId ? null : 'The thought is not in its place.'
  }
  const verdict = inspectSeal('thought-step', signature, summaryText(step))
  if (verdict === 'valid' || (verdict === 'altered' && mode === 'lenient') || memory.trustForeign) return null
  return 'Corrupted thought signature.'
}
