// Webhooks as operators see them: the programs that are told, the messages to them, and the links in such messages.
import type { NoticeType } from './notices.ts'

/** A program that is told. `disabled`: it answered 410, and nothing is sent to it. */
export type WebhookInfo = {
  name: string
  url: string
  events?: readonly string[]
  agents?: readonly string[]
  owners?: readonly string[]
  approver?: string
  disabled?: { at: number; reason: string }
}

/** `waiting`: it will be sent. */
export type DeliveryState = 'waiting' | 'delivered' | 'failed'

/** `status`: of the answer. `error`: why there was none, or why it was not enough. */
export type DeliveryAttempt = { at: number; status?: number; error?: string }

/** A message to a webhook. `nextAt`: of one that waits, when it is sent. */
export type WebhookDelivery = {
  endpoint: string
  id: string
  type: NoticeType
  at: number
  session: string
  state: DeliveryState
  attempts: number
  tries: DeliveryAttempt[]
  nextAt?: number
}

export type WebhookDeliveries = { deliveries: WebhookDelivery[]; next?: string }

/** A link by which one person decides about one call. */
export type ApprovalLink = { url: string; id: string; approver: string; expiresAt: number }
