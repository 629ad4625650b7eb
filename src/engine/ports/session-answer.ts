// The answers that calls of a session wait for: decisions, results, answers to questions. A part of boundary.ts.
import type { Person } from '../../language/approvers.ts'
import type { ResultPart } from '../../language/content.ts'
import type { AnswerAction, FormContent } from '../../language/questions.ts'
import type { JsonObject } from '../../lib/json/index.ts'

/** A person's decision about a call that waits for approval. */
export type GivenDecision = {
  callId: string
  granted: boolean
  by: string
  reason?: string
  /** Other arguments to run the call with: their text, or a JSON object. Free text goes into its member `input`. */
  edit?: string | JsonObject
  /** The hash of the arguments that the approver saw, if the wire carries one. */
  seen?: string
  /** The decision also holds for every further call of this tool in this session, until it is revoked. */
  remember?: true
  /**
   * Those who decide, as the server knows them, never as a client says: callers/bound-engine.ts sets it for every wire. Absent:
   * `by`, without roles.
   */
  people?: readonly Person[]
}

/** The result of a client's tool. `loads`: of a search, the client's deferred tools that it found. */
export type GivenResult = { callId: string; parts: ResultPart[]; failed?: boolean; loads?: string[] }

/** A person's answer to a question of a running call. `content`: of a form that was accepted. */
export type GivenAnswer = { question: string; action: AnswerAction; content?: FormContent; by: string }
