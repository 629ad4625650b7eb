// What a request adds to a session that exists: answers to what it waits for, something said, or a continuation that a
// session cannot take as it is (then the caller makes a new one of it). What is open must be answered whole, as the API
// demands: nothing is abandoned by accident.
import type { Answers, CallState, SessionState } from '../../engine/index.ts'
import type { InputPart } from '../../language/content.ts'
import { noApproval, noCall, noOutput } from './decode-history.ts'
import type { Item } from './decode-items.ts'
import { approvalId } from './ids.ts'
import { refuse } from './refuse.ts'

export type Continuation =
  | { do: 'say'; parts: InputPart[] }
  | ({ do: 'respond' } & Pick<Answers, 'results' | 'decisions'>)
  /** It holds more than one turn of a session can take at once. */
  | { do: 'branch' }

export function continuationOf(items: readonly Item[], state: SessionState, by: string): Continuation {
  const answers = answersIn(items, state, by)
  const rest = items.filter(item => item.kind !== 'output' && item.kind !== 'approval')
  if (answers) return rest.length === 0 ? { do: 'respond', ...answers } : { do: 'branch' }
  if (!rest.every(item => item.kind === 'user')) return { do: 'branch' }
  return { do: 'say', parts: rest.flatMap(item => (item.kind === 'user' ? item.parts : [])) }
}

/** Undefined when the session waits for nothing. */
function answersIn(
  items: readonly Item[],
  { batch }: SessionState,
  by: string,
): Pick<Answers, 'results' | 'decisions'> | undefined {
  const open = new Map(batch.flatMap(call => (isOpen(call) ? [[call.part.id, call] as const] : [])))
  const waited = open.size > 0
  const answers: Pick<Answers, 'results' | 'decisions'> = { results: [], decisions: [] }
  for (const item of items) {
    if (item.kind === 'output') {
      if (open.get(item.callId)?.stage !== 'handed') noCall(item.noun, item.callId)
      open.delete(item.callId)
      answers.results.push({ callId: item.callId, parts: item.output })
    } else if (item.kind === 'approval') {
      const { callId, approve, reason } = item
      if (open.get(callId)?.stage !== 'asking') noApproval(item.id)
      open.delete(callId)
      answers.decisions.push({ callId, granted: approve, by, ...(reason !== undefined && { reason }) })
    }
  }
  for (const { part, stage } of open.values()) {
    if (stage === 'handed') noOutput(part)
    refuse(
      `No approval response found for approval request ${approvalId(part.id)}.`,
      'input',
      'approval_not_found',
    )
  }
  return waited ? answers : undefined
}

function isOpen({ stage }: CallState): boolean {
  return stage === 'handed' || stage === 'asking'
}
