// Notices: what a program outside is told of a session, because something waits for someone, or is over, or may have happened. A
// notice names things and says why; it holds no arguments, no results and no words of the conversation.
import type { LimitName, TurnStop } from './events.ts'

export const noticeTypes = [
  'approval.requested',
  'question.asked',
  'client_tool.requested',
  'budget.reached',
  'turn.ended',
  'turn.failed',
  'call.unknown',
] as const
export type NoticeType = (typeof noticeTypes)[number]

/** `seq`: the number of the event that it is about. */
export type Notice = {
  type: NoticeType
  at: number
  session: string
  seq: number
  owner: string
  agent: string
  turn?: string
  call?: string
  tool?: string
  /** Of an approval: what the person is shown, by hash, and the policy's words. */
  argsHash?: string
  toolHash?: string
  rule?: string
  reason?: string
  /** Of an approval or a question: until when it can be answered. */
  expiresAt?: number
  /** Of a question or a budget. */
  question?: string
  message?: string
  /** Of a turn. */
  stop?: TurnStop
  limit?: LimitName
  error?: string
}
