// Endpoints as operators see them: which are disabled, the messages of each, and a message that is sent once more. An endpoint that
// answered 410 is disabled until an operator enables it, or gives it another address.
import type { KeptRecord, RecordStore } from '../engine/ports/index.ts'
import { TurnwireError } from '../language/errors.ts'
import type { WebhookDeliveries, WebhookDelivery, WebhookInfo } from '../language/webhooks.ts'
import type { WebhooksConfig } from './config.ts'
import { deliveryKind, readDelivery } from './delivery.ts'
import { endpointSecrets } from './signature.ts'

const disabledKind = 'disabled webhook'

type Disabled = { url: string; at: number; reason: string }

export async function isDisabled(records: RecordStore, endpoint: string, url: string): Promise<boolean> {
  return (await readDisabled(records, endpoint, url)) !== undefined
}

export async function disableEndpoint(
  records: RecordStore,
  endpoint: string,
  url: string,
  at: number,
  reason: string,
): Promise<void> {
  const body = JSON.stringify({ url, at, reason } satisfies Disabled)
  if (await records.add({ kind: disabledKind, name: endpoint, at, body })) return
  const before = await records.find(disabledKind, endpoint)
  if (before) await records.change(before, { body })
}

async function readDisabled(
  records: RecordStore,
  endpoint: string,
  url: string,
): Promise<Disabled | undefined> {
  const kept = await records.find(disabledKind, endpoint)
  const disabled = kept && (JSON.parse(kept.body) as Disabled) // Written by disableEndpoint.
  return disabled?.url === url ? disabled : undefined
}

/** What an operator does with webhooks. `changed` is called when a message is to be sent now. */
export class WebhookDesk {
  readonly #endpoints: WebhooksConfig
  readonly #records: RecordStore
  readonly #now: () => number
  readonly #changed: () => void

  constructor(
    endpoints: WebhooksConfig,
    records: RecordStore,
    now: () => number,
    changed: () => void = () => {},
  ) {
    this.#endpoints = endpoints
    this.#records = records
    this.#now = now
    this.#changed = changed
  }

  async list(): Promise<WebhookInfo[]> {
    const infos: WebhookInfo[] = []
    for (const [name, { url, events, agents, owners, links }] of Object.entries(this.#endpoints)) {
      const disabled = await readDisabled(this.#records, name, url)
      infos.push({
        name,
        url,
        ...(events && { events }),
        ...(agents && { agents }),
        ...(owners && { owners }),
        ...(links && { approver: links.approver }),
        ...(disabled && { disabled: { at: disabled.at, reason: disabled.reason } }),
      })
    }
    return infos
  }

  /** Newest first. */
  async deliveries(endpoint: string, page: { limit: number; after?: string }): Promise<WebhookDeliveries> {
    checkName(this.#endpoints, endpoint)
    const { rows, next } = await this.#records.list({ kind: deliveryKind(endpoint), ...page })
    return {
      deliveries: rows.map(row => describeDelivery(endpoint, row)),
      ...(next !== undefined && { next }),
    }
  }

  /** Sends it once more, also if it was delivered, with the same id. Its attempts begin anew. */
  async resend(endpoint: string, id: string): Promise<WebhookDelivery> {
    checkName(this.#endpoints, endpoint)
    for (;;) {
      const kept = await this.#records.find(deliveryKind(endpoint), id)
      if (!kept)
        throw new TurnwireError(
          'not_found',
          `The endpoint "${endpoint}" has no message "${id}". Delivered messages are kept for a week.`,
        )
      const delivery = { ...readDelivery(kept), state: 'waiting' as const, attempts: 0 }
      const change = { body: JSON.stringify(delivery), dueAt: this.#now() }
      const changed = await this.#records.change(kept, change)
      if (!changed) continue
      this.#changed()
      return describeDelivery(endpoint, changed)
    }
  }

  /** False: it was not disabled. */
  async enable(endpoint: string): Promise<boolean> {
    checkName(this.#endpoints, endpoint)
    const kept = await this.#records.find(disabledKind, endpoint)
    return kept !== undefined && (await this.#records.remove(kept))
  }
}

/** The secret that signs messages, or the first of several. Throws `not_found` for an endpoint that is not configured. */
export function endpointSecret(
  endpoints: WebhooksConfig,
  endpoint: string,
  sign: (text: string) => string,
): string {
  checkName(endpoints, endpoint)
  return endpointSecrets(endpoint, endpoints[endpoint]?.secret, sign)[0]!
}

function checkName(endpoints: WebhooksConfig, endpoint: string): void {
  if (Object.hasOwn(endpoints, endpoint)) return
  throw new TurnwireError(
    'not_found',
    `There is no webhook named "${endpoint}" in the configuration. There are: ${Object.keys(endpoints).join(', ') || 'none'}.`,
  )
}

function describeDelivery(endpoint: string, record: KeptRecord): WebhookDelivery {
  const { notice, state, attempts, tries } = readDelivery(record)
  return {
    endpoint,
    id: record.name,
    type: notice.type,
    at: notice.at,
    session: notice.session,
    state,
    attempts,
    tries,
    ...(state === 'waiting' && record.dueAt !== undefined && { nextAt: record.dueAt }),
  }
}
