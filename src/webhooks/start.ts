// The webhooks of one process that has an engine: notices are addressed while events are recorded, and a courier sends them.
import type { NoticePort, RecordStore } from '../engine/ports/index.ts'
import { TurnwireError } from '../language/errors.ts'
import { Egress, type EgressRules } from '../lib/net/egress.ts'
import type { WebhooksConfig } from './config.ts'
import { Courier, type CourierPorts } from './courier.ts'
import { addressNotice } from './delivery.ts'
import { endpointSecrets } from './signature.ts'

export type WebhooksSetup = Pick<CourierPorts, 'world' | 'link' | 'log' | 'reached'> & {
  endpoints: WebhooksConfig
  /** Absent: the store keeps none. */
  records: RecordStore | undefined
  egress: EgressRules | undefined
  sign: (text: string) => string
}

export type Webhooks = { notices: NoticePort; wake(): void; stop(): Promise<void> }

/** Attempts that are under way when the process stops get so long to end. */
const graceMs = 3_000

/** Throws `config_invalid` if the store keeps no records. */
export function startWebhooks({ endpoints, records, egress, sign, ...ports }: WebhooksSetup): Webhooks {
  if (!records)
    throw new TurnwireError(
      'config_invalid',
      'The store of `data` cannot keep messages of webhooks (it has no `records`). Remove `webhooks`, or use another store.',
    )
  // A redirect would send what was signed for one receiver to another.
  const network = new Egress({ ...egress, maxRedirects: 0 })
  const courier = new Courier(endpoints, {
    ...ports,
    records,
    post: (url, { body, headers }, signal) => network.fetch(url, { method: 'POST', body, headers, signal }),
    secrets: name => endpointSecrets(name, endpoints[name]?.secret, sign),
    chance: Math.random,
  })
  courier.wake()
  return {
    notices: { address: notice => addressNotice(endpoints, notice), stored: () => courier.wake() },
    wake: () => courier.wake(),
    async stop() {
      await courier.stop(graceMs)
      network.close()
    },
  }
}
