// A message to one endpoint, as it is kept: the notice, and how its attempts went. Its record is made together with the event that
// it is about, so there is one if and only if the event is in the log.
import type { KeptRecord, NewRecord } from '../engine/ports/index.ts'
import type { Notice } from '../language/notices.ts'
import type { DeliveryAttempt, DeliveryState } from '../language/webhooks.ts'
import { fitsStars } from '../lib/text/star-names.ts'
import type { WebhookConfig, WebhooksConfig } from './config.ts'

/** One that waits is sent at `dueAt` of its record. */
export type Delivery = { notice: Notice; state: DeliveryState; attempts: number; tries: DeliveryAttempt[] }

/** Only the newest are kept. */
const mostTries = 12

export const deliveryKind = (endpoint: string): string => `webhook ${endpoint}`

/** The records of a notice: one for each endpoint that wants it. A notice has the same id everywhere and for ever. */
export function addressNotice(endpoints: WebhooksConfig, notice: Notice): NewRecord[] {
  const found: NewRecord[] = []
  for (const [name, endpoint] of Object.entries(endpoints)) {
    if (!wants(endpoint, notice)) continue
    const delivery: Delivery = { notice, state: 'waiting', attempts: 0, tries: [] }
    found.push({
      kind: deliveryKind(name),
      name: messageId(notice),
      at: notice.at,
      dueAt: notice.at,
      session: notice.session,
      body: JSON.stringify(delivery),
    })
  }
  return found
}

export function messageId({ session, seq }: Notice): string {
  return `msg_${session}_${seq}`
}

export function readDelivery({ body }: KeptRecord): Delivery {
  return JSON.parse(body) as Delivery // Written from one.
}

export function withTry(delivery: Delivery, state: DeliveryState, attempt: DeliveryAttempt): string {
  const tries = [...delivery.tries, attempt].slice(-mostTries)
  return JSON.stringify({ ...delivery, state, tries })
}

/** What is posted. The same for each attempt, but for a link, which is never stored. */
export function messageBody({ type, at, ...data }: Notice, link: object | undefined): string {
  return JSON.stringify({
    type,
    timestamp: new Date(at).toISOString(),
    data: { ...data, ...(link && { link }) },
  })
}

function wants({ events, agents, owners }: WebhookConfig, { type, agent, owner }: Notice): boolean {
  return isNamed(events, type) && isNamed(agents, agent) && isNamed(owners, owner)
}

function isNamed(patterns: readonly string[] | undefined, name: string): boolean {
  return patterns === undefined || patterns.some(pattern => fitsStars(pattern, name))
}
