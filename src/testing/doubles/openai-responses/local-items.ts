// Items of the tools that OpenAI defines and its caller runs: shells and patches. Their shapes are those of the vendor's type
// declarations; an output that leaves out a field, or has one more, is refused.
import { invalidType, missingParameter, unknownParameter, unsupportedValue } from '../openai/refusals.ts'
import { checkString } from '../openai/shapes.ts'
import type { Rejections } from '../script.ts'
import { extraKeys, isAbsent, isRecord, type JsonRecord, shownText, wordList } from '../shape.ts'

export type ItemKind = {
  /** How an id of this kind begins, where the vendor checks it. */
  prefix?: string
  /** How our ids of this kind begin, where it does not. */
  mints?: string
  /** Its fields besides `type` and `id`. Without it, any fields are accepted. */
  keys?: string
  /** The model made it, not the caller. */
  output?: boolean
  check?: (item: JsonRecord, path: string) => Rejections
}

export const ID_LIMIT = 64

export function checkCallId(item: JsonRecord, path: string): Rejections {
  return checkString('R-03', `${path}.call_id`, item['call_id'] ?? undefined, { max: ID_LIMIT })
}

export const LOCAL_ITEMS: Record<string, ItemKind> = {
  shell_call: {
    mints: 'sh',
    output: true,
    keys: 'call_id action environment status caller created_by',
    check: checkShellCall,
  },
  shell_call_output: {
    keys: 'call_id output max_output_length status caller',
    check: checkShellOutput,
  },
  local_shell_call: {
    mints: 'lsh',
    output: true,
    keys: 'call_id action status',
    check: checkLocalShellCall,
  },
  // The declarations have only `id`, the vendor's examples only `call_id`: both name the call.
  local_shell_call_output: { keys: 'call_id output status', check: checkLocalShellOutput },
  apply_patch_call: {
    mints: 'apc',
    output: true,
    keys: 'call_id operation status caller created_by',
    check: checkPatchCall,
  },
  apply_patch_call_output: { keys: 'call_id status output caller', check: checkPatchOutput },
}

function* checkObject(value: unknown, path: string, keys: string): Rejections {
  if (value === undefined) return yield missingParameter('R-00', path)
  if (!isRecord(value)) return yield invalidType('R-00', path, 'an object', value)
  for (const key of extraKeys(value, wordList(keys))) yield unknownParameter('R-00', `${path}.${key}`)
}

function* checkWords(value: unknown, path: string): Rejections {
  if (value === undefined) return yield missingParameter('R-00', path)
  const isList = Array.isArray(value) && value.every(word => typeof word === 'string')
  if (!isList) yield invalidType('R-00', path, 'an array of strings', value)
}

function* checkOneOf(value: unknown, path: string, known: string): Rejections {
  if (value === undefined) yield missingParameter('R-00', path)
  else if (!wordList(known).includes(shownText(value)))
    yield unsupportedValue('R-00', path, value, wordList(known))
}

const asObject = (value: unknown): JsonRecord => (isRecord(value) ? value : {})

function* checkShellCall(item: JsonRecord, path: string): Rejections {
  yield* checkCallId(item, path)
  yield* checkObject(item['action'], `${path}.action`, 'commands max_output_length timeout_ms')
  yield* checkWords(asObject(item['action'])['commands'], `${path}.action.commands`)
}

function* checkShellOutput(item: JsonRecord, path: string): Rejections {
  yield* checkCallId(item, path)
  const { output } = item
  if (output === undefined) return yield missingParameter('R-05', `${path}.output`)
  if (!Array.isArray(output))
    return yield invalidType('R-05', `${path}.output`, 'an array of objects', output)
  for (const [at, each] of output.entries()) {
    const place = `${path}.output[${at}]`
    yield* checkObject(each, place, 'stdout stderr outcome')
    const { stdout, stderr, outcome } = asObject(each)
    yield* checkString('R-05', `${place}.stdout`, stdout, { allowEmpty: true })
    yield* checkString('R-05', `${place}.stderr`, stderr, { allowEmpty: true })
    yield* checkObject(outcome, `${place}.outcome`, 'type exit_code')
    const { type, exit_code: code } = asObject(outcome)
    yield* checkOneOf(type, `${place}.outcome.type`, 'exit timeout')
    if (type === 'exit' && !Number.isInteger(code))
      yield invalidType('R-05', `${place}.outcome.exit_code`, 'an integer', code)
  }
}

function* checkLocalShellCall(item: JsonRecord, path: string): Rejections {
  yield* checkCallId(item, path)
  yield* checkString('R-03', `${path}.id`, item['id'])
  const keys = 'type command env timeout_ms user working_directory'
  yield* checkObject(item['action'], `${path}.action`, keys)
  const action = asObject(item['action'])
  yield* checkOneOf(action['type'], `${path}.action.type`, 'exec')
  yield* checkWords(action['command'], `${path}.action.command`)
  yield* checkObject(action['env'], `${path}.action.env`, Object.keys(asObject(action['env'])).join(' '))
}

function* checkLocalShellOutput(item: JsonRecord, path: string): Rejections {
  if (isAbsent(item['id']) && isAbsent(item['call_id'])) yield missingParameter('R-03', `${path}.id`)
  yield* checkString('R-05', `${path}.output`, item['output'], { allowEmpty: true })
}

function* checkPatchCall(item: JsonRecord, path: string): Rejections {
  yield* checkCallId(item, path)
  const place = `${path}.operation`
  yield* checkObject(item['operation'], place, 'type path diff')
  const { type, path: file, diff } = asObject(item['operation'])
  yield* checkOneOf(type, `${place}.type`, 'create_file update_file delete_file')
  yield* checkString('R-00', `${place}.path`, file)
  if (type !== 'delete_file') yield* checkString('R-00', `${place}.diff`, diff, { allowEmpty: true })
  yield* checkOneOf(item['status'], `${path}.status`, 'in_progress completed')
}

function* checkPatchOutput(item: JsonRecord, path: string): Rejections {
  yield* checkCallId(item, path)
  yield* checkOneOf(item['status'], `${path}.status`, 'completed failed')
  const { output } = item
  if (!isAbsent(output)) yield* checkString('R-05', `${path}.output`, output, { allowEmpty: true })
}
