// A call of the last answer and its questions to a person, as readers outside the engine see them: a part of
// boundary.ts. The engine's own state of a call has more members.
import type { Restriction } from '../../language/approvers.ts'
import type { CallPart, Outcome } from '../../language/calls.ts'
import type { FlowFact } from '../../language/flow.ts'
import type { FormSchema } from '../../language/questions.ts'
import type { Report } from '../../language/report.ts'

/**
 * proposed: the model asked, the gate has not looked. handed: the application runs it. asking: a person decides.
 * approved: may run. started: its intent is durable. suspended: its own calls wait for someone, and it runs again when one
 * of them is settled. postponed: it ran, and its result comes later. settled: it has its outcome.
 */
export type CallStage =
  | 'proposed'
  | 'handed'
  | 'asking'
  | 'approved'
  | 'started'
  | 'suspended'
  | 'postponed'
  | 'settled'

export type SessionCall = Restriction & {
  part: CallPart
  /** Its place among the calls of the same answer; those that calls made themselves come after them. */
  index: number
  /** The call that made it. Absent: the model did. */
  parent?: string
  /** The session that works for it, and the last event there whose use was counted. */
  delegated?: { session: string; agent: string; upTo: number }
  stage: CallStage
  /** The arguments that count: the model's, or what a person made of them. */
  text: string
  editedBy?: string
  argsHash?: string
  toolHash?: string
  rule?: string
  reason?: string
  expiresAt?: number
  /** The tool's preview of the call, while the call waits for a person. */
  preview?: Report
  /** Where its arguments came from, while it waits for a person because of that. */
  flow?: FlowFact[]
  attempt: number
  /** The questions that it asked a person while it ran. */
  questions?: SessionQuestion[]
  outcome?: Outcome
}

export type SessionQuestion = {
  id: string
  key: string
  message: string
  schema?: FormSchema
  url?: string
  expiresAt?: number
  /** Absent: it waits for an answer. */
  closed?: 'answered' | 'expired' | 'withdrawn'
}
