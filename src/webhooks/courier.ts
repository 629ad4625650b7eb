// Sends the messages that wait, endpoint by endpoint. It stands beside the engine: records are made with the events that they are
// about, and this takes them from the store. Before an attempt a message is taken for a time, by a change that only one process
// can make; if the process ends meanwhile, that time ends, and the message is sent again, by any node and with the same id.
import type { KeptRecord, RecordStore, World } from '../engine/ports/index.ts'
import { wordsOf } from '../language/errors.ts'
import type { Notice } from '../language/notices.ts'
import type { DeliveryAttempt } from '../language/webhooks.ts'
import type { Json } from '../lib/json/index.ts'
import { readRetryAfter } from '../lib/net/retry-after.ts'
import { printable } from '../lib/text/index.ts'
import { nextWait } from './back-off.ts'
import type { WebhookConfig, WebhooksConfig } from './config.ts'
import { type Delivery, deliveryKind, messageBody, readDelivery, withTry } from './delivery.ts'
import { disableEndpoint, isDisabled } from './endpoints.ts'
import { type SignedMessage, signMessage } from './signature.ts'

export type CourierPorts = {
  records: RecordStore
  world: Pick<World, 'now' | 'timer'>
  /** Posts within the egress rule. Rejects if there is no answer. */
  post: (url: string, message: SignedMessage, signal: AbortSignal) => Promise<Response>
  secrets: (endpoint: string) => readonly string[]
  /** The link for the approver of an endpoint. Undefined: nobody can open one. */
  link: (notice: Notice, endpoint: WebhookConfig, id: string) => object | undefined
  log(level: 'info' | 'warn' | 'error', message: string, fields: Record<string, Json>): void
  /** From 0 to 1. */
  chance(): number
  /** How often messages of other nodes, and those whose process ended, are looked for. Default: every ten seconds. */
  pollMs?: number
  reached?: (point: CourierPoint) => void
}

/** Where a test may end the process. */
export const courierPoints = ['webhook-taken', 'webhook-sent', 'webhook-recorded'] as const
export type CourierPoint = (typeof courierPoints)[number]

/** How long one attempt may take, and for how long a message is taken for it. */
const attemptMs = 15_000
const takenMs = 45_000
const defaultPollMs = 10_000
/** Attempts of one endpoint at the same time. */
const atOnce = 8
/** Messages that were delivered, or given up, can be listed and sent again for so long. */
export const keptMs = 7 * 24 * 60 * 60 * 1000

export class Courier {
  readonly #lanes: Lane[]

  constructor(endpoints: WebhooksConfig, ports: CourierPorts) {
    this.#lanes = Object.entries(endpoints).map(([name, endpoint]) => new Lane(name, endpoint, ports))
  }

  /** Messages may wait. */
  wake(): void {
    for (const lane of this.#lanes) lane.wake()
  }

  /** Attempts that are under way get `graceMs` to end. */
  async stop(graceMs: number): Promise<void> {
    await Promise.all(this.#lanes.map(lane => lane.stop(graceMs)))
  }
}

class Lane {
  readonly #name: string
  readonly #endpoint: WebhookConfig
  readonly #ports: CourierPorts
  readonly #abort = new AbortController()
  #working: Promise<void> | undefined
  #again = false
  #stopped = false
  #cancelTimer: (() => void) | undefined

  constructor(name: string, endpoint: WebhookConfig, ports: CourierPorts) {
    this.#name = name
    this.#endpoint = endpoint
    this.#ports = ports
  }

  wake(): void {
    this.#again = true
    if (this.#stopped || this.#working) return
    this.#cancelTimer?.()
    this.#working = this.#work().then(waitMs => {
      this.#working = undefined
      if (this.#stopped) return
      if (this.#again) this.wake()
      else this.#cancelTimer = this.#ports.world.timer(waitMs, () => this.wake())
    })
  }

  async stop(graceMs: number): Promise<void> {
    this.#stopped = true
    this.#cancelTimer?.()
    const late = setTimeout(() => this.#abort.abort(), graceMs)
    await this.#working
    clearTimeout(late)
  }

  /** Gives how long nothing is to be done. */
  async #work(): Promise<number> {
    const { pollMs = defaultPollMs } = this.#ports
    try {
      for (;;) {
        this.#again = false
        const first = await this.#ports.records.due(deliveryKind(this.#name), atOnce)
        const now = this.#ports.world.now()
        const ready = first.filter(({ dueAt = 0 }) => dueAt <= now)
        if (ready.length === 0 || this.#stopped)
          return Math.min(pollMs, Math.max(0, (first[0]?.dueAt ?? Infinity) - now))
        await Promise.all(ready.map(record => this.#handle(record)))
      }
    } catch (error) {
      this.#ports.log('error', 'Messages to a webhook cannot be read or recorded now.', {
        endpoint: this.#name,
        error: wordsOf(error),
      })
      return pollMs
    }
  }

  async #handle(record: KeptRecord): Promise<void> {
    const { records, world } = this.#ports
    const delivery = readDelivery(record)
    if (delivery.state !== 'waiting') {
      await records.remove(record)
      return
    }
    if (await isDisabled(records, this.#name, this.#endpoint.url)) {
      const attempt = { at: world.now(), error: 'The endpoint is disabled.' }
      await records.change(record, this.#givenUp(delivery, attempt))
      return
    }
    const attempted = { ...delivery, attempts: delivery.attempts + 1 }
    const taken = await records.change(record, {
      body: JSON.stringify(attempted),
      dueAt: world.now() + takenMs,
    })
    // Another node was quicker.
    if (taken) await this.#deliver(taken, attempted)
  }

  async #deliver(taken: KeptRecord, delivery: Delivery): Promise<void> {
    const { records, reached } = this.#ports
    reached?.('webhook-taken')
    const outcome = await this.#attempt(taken.name, delivery)
    reached?.('webhook-sent')
    if (outcome.isGone)
      await disableEndpoint(records, this.#name, this.#endpoint.url, outcome.attempt.at, 'It answered 410.')
    await records.change(taken, this.#after(delivery, outcome))
    reached?.('webhook-recorded')
    if (outcome.isTaken) return
    const { status, error } = outcome.attempt
    this.#ports.log('warn', 'A message to a webhook was not taken.', {
      endpoint: this.#name,
      message: taken.name,
      attempt: delivery.attempts,
      ...(status !== undefined && { status }),
      ...(error !== undefined && { error }),
    })
  }

  async #attempt(id: string, { notice }: Delivery): Promise<Outcome> {
    const { world, post, secrets, link } = this.#ports
    const at = world.now()
    const shown = notice.type === 'approval.requested' ? link(notice, this.#endpoint, id) : undefined
    const message = signMessage({ id, body: messageBody(notice, shown) }, at, secrets(this.#name))
    try {
      const signal = AbortSignal.any([this.#abort.signal, AbortSignal.timeout(attemptMs)])
      const answer = await post(this.#endpoint.url, message, signal)
      const { status, headers } = answer
      await answer.body?.cancel()
      const retryAfterMs = readRetryAfter(headers, at)
      return {
        attempt: { at, status },
        isTaken: status >= 200 && status < 300,
        isGone: status === 410,
        ...(retryAfterMs !== undefined && { retryAfterMs }),
      }
    } catch (error) {
      return { attempt: { at, error: printable(wordsOf(error), 300) }, isTaken: false, isGone: false }
    }
  }

  /** The record after an attempt. */
  #after(
    delivery: Delivery,
    { attempt, isTaken, isGone, retryAfterMs }: Outcome,
  ): { body: string; dueAt: number } {
    const now = this.#ports.world.now()
    if (isTaken) return { body: withTry(delivery, 'delivered', attempt), dueAt: now + keptMs }
    const wait = isGone ? undefined : nextWait(delivery.attempts, this.#ports.chance(), retryAfterMs)
    if (wait === undefined) return this.#givenUp(delivery, attempt)
    return { body: withTry(delivery, 'waiting', attempt), dueAt: now + wait }
  }

  #givenUp(delivery: Delivery, attempt: DeliveryAttempt): { body: string; dueAt: number } {
    return { body: withTry(delivery, 'failed', attempt), dueAt: this.#ports.world.now() + keptMs }
  }
}

type Outcome = { attempt: DeliveryAttempt; isTaken: boolean; isGone: boolean; retryAfterMs?: number }
