// The metrics of this process for /metrics: turns, calls, approvals, models, the store, the event loop. Counted from
// recorded events and from reports of the adapters. No metric holds text of users or models.
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { ModelAnswer, ObservedSession } from '../engine/ports/index.ts'
import type { Event } from '../language/events.ts'
import { MetricRegistry } from '../lib/text/prometheus.ts'

/** Gauges that the server reads when it is scraped. */
export type Gauges = {
  queuedCalls(): number
  streams(): number
  storeUp(): boolean
}

/** Waiting sessions and approvals in the whole store, those of other processes included. */
export type WaitingCounts = { sessions: number; approvals: number }

const quick = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5]
const slow = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300]

export class Measures {
  readonly registry = new MetricRegistry()
  waiting: WaitingCounts = { sessions: 0, approvals: 0 }
  /** The sessions at work. */
  readonly #running = new Set<string>()
  #lag: ReturnType<typeof monitorEventLoopDelay> | undefined
  readonly #started = this.registry.counter('turnwire_turns_started_total', 'Turns that started.', [
    'agent',
    'wire',
  ])
  readonly #turns = this.registry.counter('turnwire_turns_total', 'Turns that ended, by why.', [
    'agent',
    'stop',
  ])
  readonly #calls = this.registry.counter('turnwire_calls_total', 'Calls that were settled, by outcome.', [
    'agent',
    'outcome',
  ])
  readonly #callSeconds = this.registry.histogram(
    'turnwire_call_seconds',
    'How long tools of the server ran.',
    slow,
    ['agent'],
  )
  readonly #approvals = this.registry.counter(
    'turnwire_approvals_total',
    'Questions about calls: asked, granted, refused, expired.',
    ['agent', 'event'],
  )
  readonly #modelRequests = this.registry.counter(
    'turnwire_model_requests_total',
    'Requests to models, by result.',
    ['model', 'result'],
  )
  readonly #modelSeconds = this.registry.histogram(
    'turnwire_model_seconds',
    'How long models took to answer.',
    slow,
    ['model'],
  )
  readonly #tokens = this.registry.counter('turnwire_tokens_total', 'Tokens of models.', [
    'model',
    'direction',
  ])
  readonly #cost = this.registry.counter('turnwire_cost_total', 'Cost of models in US dollars.', ['model'])
  readonly #storeSeconds = this.registry.histogram(
    'turnwire_store_write_seconds',
    'How long durable writes took.',
    quick,
  )

  constructor(gauges: Gauges) {
    const { registry } = this
    registry.gauge('turnwire_running_turns', 'Turns at work in this process.', () => this.#running.size)
    registry.gauge('turnwire_queued_calls', 'Sessions whose calls wait for a free place.', () =>
      gauges.queuedCalls(),
    )
    registry.gauge('turnwire_open_requests', 'Requests and streams that are open.', () => gauges.streams())
    registry.gauge('turnwire_store_up', '1: the store can be written.', () => Number(gauges.storeUp()))
    registry.gauge(
      'turnwire_waiting_sessions',
      'Sessions in the store that wait for someone.',
      () => this.waiting.sessions,
    )
    registry.gauge(
      'turnwire_waiting_approvals',
      'Calls in the store that wait for a person.',
      () => this.waiting.approvals,
    )
    registry.gauge('turnwire_event_loop_lag_seconds', '99th percentile since the last scrape.', () =>
      this.#readLag(),
    )
    registry.gauge('process_resident_memory_bytes', 'Resident memory.', () => process.memoryUsage.rss())
    registry.gauge('nodejs_heap_used_bytes', 'Used heap.', () => process.memoryUsage().heapUsed)
    registry.counted('process_cpu_seconds_total', 'CPU time, user and system.', () => {
      const { user, system } = process.cpuUsage()
      return (user + system) / 1e6
    })
  }

  readonly recorded = ({ state: { id, agent, status } }: ObservedSession, events: readonly Event[]): void => {
    for (const event of events)
      switch (event.type) {
        case 'turn.started':
          this.#started.of({ agent, wire: event.wire }).value += 1
          break
        case 'turn.ended':
          this.#turns.of({ agent, stop: event.stop }).value += 1
          break
        case 'call.settled':
          this.#calls.of({ agent, outcome: event.outcome.kind }).value += 1
          if (event.outcome.from.source === 'tool')
            this.#callSeconds.observe((event.outcome.ms ?? 0) / 1000, { agent })
          break
        case 'approval.requested':
          this.#approvals.of({ agent, event: 'asked' }).value += 1
          break
        case 'approval.decided':
          this.#approvals.of({ agent, event: event.granted ? 'granted' : 'refused' }).value += 1
          break
        case 'approval.expired':
          this.#approvals.of({ agent, event: 'expired' }).value += 1
          break
      }
    if (status === 'running') this.#running.add(id)
    else this.#running.delete(id)
  }

  lost(session: string): void {
    this.#running.delete(session)
  }

  /** `result`: the answer, or why there is none. */
  asked(model: string, seconds: number, result: ModelAnswer | 'failed' | 'cancelled'): void {
    const isAnswer = typeof result !== 'string'
    this.#modelRequests.of({ model, result: isAnswer ? 'ok' : result }).value += 1
    this.#modelSeconds.observe(seconds, { model })
    if (!isAnswer || !result.usage) return
    const { input, output, cost } = result.usage
    this.#tokens.of({ model, direction: 'input' }).value += input ?? 0
    this.#tokens.of({ model, direction: 'output' }).value += output ?? 0
    if (cost !== undefined) this.#cost.of({ model }).value += cost
  }

  readonly wrote = (seconds: number): void => {
    this.#storeSeconds.observe(seconds)
  }

  /** Measured from the first scrape on: a server that nobody scrapes has no such timer. */
  #readLag(): number {
    if (!this.#lag) {
      this.#lag = monitorEventLoopDelay({ resolution: 20 })
      this.#lag.enable()
      return 0
    }
    const lag = this.#lag.percentile(99) / 1e9
    this.#lag.reset()
    return Number.isFinite(lag) ? lag : 0
  }

  close(): void {
    this.#lag?.disable()
  }
}
