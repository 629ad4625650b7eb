// Compares the request of a replayed step with the one that was sent: by the digest of its bytes where the log has it, and by
// the history that the model reads, of which the log has the words.
import type { ModelAnswered } from '../language/events.ts'
import type { Entry } from '../language/history.ts'
import { sha256 } from '../lib/json/hash.ts'
import { preparedFor } from '../models/index.ts'
import { type Difference, jsonDiff, readByModel } from './compare.ts'
import type { HeldRequest } from './stage.ts'

export type CheckedRequest = {
  /** The body, of a model that sends one. */
  body?: string
  /** The digest of the bytes was compared. */
  byBytes: boolean
  difference?: Difference
}

/** `known`: the body that was sent, if it could be made anew. */
export function checkRequest(
  { model, request }: HeldRequest,
  { sent, at }: ModelAnswered,
  { view, seq, known }: { view: readonly Entry[]; seq: number; known?: string },
): CheckedRequest {
  const body = preparedFor(model, request, at)?.body
  const byBytes = body !== undefined && sent !== undefined
  const checked: CheckedRequest = { byBytes, ...(body !== undefined && { body }) }
  const diff = jsonDiff(readByModel(view), readByModel(request.history))
  if (diff) return { ...checked, difference: differs(seq, 'The model is asked with another history.', diff) }
  if (!byBytes || sha256(body) === sent) return checked
  if (known !== undefined && sha256(known) === sent) {
    const [then, now] = [JSON.parse(known), JSON.parse(body)]
    return { ...checked, difference: differs(seq, 'The model is asked otherwise.', jsonDiff(then, now)) }
  }
  return { ...checked, difference: differs(seq, otherBytes) }
}

const otherBytes =
  'The bytes of the request differ, and its history does not: the instructions, the tools, the settings of the model or its encoding have changed. The log has only a digest of them.'

function differs(seq: number, text: string, diff?: Difference['diff']): Difference {
  return { seq, about: 'request', text, ...(diff && { diff }) }
}
