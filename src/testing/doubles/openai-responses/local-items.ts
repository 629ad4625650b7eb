// Items of the tools that OpenAI defines and its caller runs: shells and patches. Their shapes are those of the vendor's type
// declarations; an output that leaves out a field, or has one more, is refused.
import { type Fields, type Form, list, object, oneOf, optional, required, text } from '../openai/forms.ts'
import { invalidType, missingParameter } from '../openai/refusals.ts'
import type { Rejections } from '../script.ts'
import { isAbsent, isRecord, type JsonRecord } from '../shape.ts'

export type ItemKind = {
  /** How an id of this kind begins, where the vendor checks it. */
  prefix?: string
  /** How our ids of this kind begin, where it does not. */
  mints?: string
  /** Its fields besides `type` and `id` that have a form, and the names of the others. Without names, any are accepted. */
  fields?: Fields
  others?: string
  /** The model made it, not the caller. */
  output?: boolean
  check?: (item: JsonRecord, path: string) => Rejections
}

export const ID_LIMIT = 64
export const callId = required('R-03', text('R-03', { max: ID_LIMIT }))

const word = (words: string[]): Form => required('R-00', oneOf('R-00', words))
const someObject = (fields: Fields, others?: string): Form => required('R-00', object('R-00', fields, others))
const anyText = text('R-05', { mayBeEmpty: true })
const words = required('R-00', (value, path) =>
  Array.isArray(value) && value.every(each => typeof each === 'string')
    ? []
    : [invalidType('R-00', path, 'an array of strings', value)],
)

const outcome: Form = function* (value, path) {
  yield* someObject({ type: word(['exit', 'timeout']) }, 'exit_code')(value, path)
  if (!isRecord(value) || value['type'] !== 'exit' || Number.isInteger(value['exit_code'])) return
  yield invalidType('R-05', `${path}.exit_code`, 'an integer', value['exit_code'])
}

const operation: Form = function* (value, path) {
  const isDeletion = isRecord(value) && value['type'] === 'delete_file'
  const diff = isDeletion ? {} : { diff: text('R-00', { mayBeEmpty: true }) }
  const type = word(['create_file', 'update_file', 'delete_file'])
  yield* someObject({ type, path: text('R-00'), ...diff }, 'diff')(value, path)
}

export const LOCAL_ITEMS: Record<string, ItemKind> = {
  shell_call: {
    mints: 'sh',
    output: true,
    fields: { call_id: callId, action: someObject({ commands: words }, 'max_output_length timeout_ms') },
    others: 'environment status caller created_by',
  },
  shell_call_output: {
    fields: {
      call_id: callId,
      output: required('R-05', list('R-05', someObject({ stdout: anyText, stderr: anyText, outcome }, ''))),
    },
    others: 'max_output_length status caller',
  },
  local_shell_call: {
    mints: 'lsh',
    output: true,
    fields: {
      call_id: callId,
      id: text('R-03'),
      action: someObject(
        { type: word(['exec']), command: words, env: someObject({}) },
        'timeout_ms user working_directory',
      ),
    },
    others: 'status',
  },
  // The declarations have only `id`, the vendor's examples only `call_id`: both name the call.
  local_shell_call_output: {
    fields: { output: anyText },
    others: 'call_id status',
    *check({ id, call_id }, path) {
      if (isAbsent(id) && isAbsent(call_id)) yield missingParameter('R-03', `${path}.id`)
    },
  },
  apply_patch_call: {
    mints: 'apc',
    output: true,
    fields: { call_id: callId, operation, status: word(['in_progress', 'completed']) },
    others: 'caller created_by',
  },
  apply_patch_call_output: {
    fields: { call_id: callId, status: word(['completed', 'failed']), output: optional(anyText) },
    others: 'caller',
  },
}
