// Counts calls for a rule with `rate`: the rule applies to calls beyond so many in so much time. Counts are in the
// memory of this process. Limits that must hold over restarts and nodes belong to the service behind the tool.
import type { Question } from '../engine/ports/index.ts'
import { IdleMap } from '../lib/async/idle-map.ts'
import { isRecord } from '../lib/checks/fields.ts'
import { invalidPolicy, refuseUnknownMembers } from './invalid-policy.ts'

const rateScopes = ['owner', 'session', 'all'] as const

export type Rate = {
  calls: number
  perMs: number
  /** One count for each owner, for each session, or for all. Default: `owner`. Each tool is counted by itself. */
  per?: (typeof rateScopes)[number]
}

const mostCalls = 10_000

export class RateCount {
  readonly #rate: Rate
  readonly #counts: IdleMap<Window>
  #now = 0

  constructor(rate: Rate) {
    this.#rate = rate
    this.#counts = new IdleMap(() => new Window(rate, () => this.#now))
  }

  /** How long until the rate allows another call; 0: it is allowed now, and counted. */
  take({ tool, owner, session, now }: Question): number {
    this.#now = now
    const { per = 'owner' } = this.#rate
    const whose = per === 'all' ? '' : per === 'owner' ? owner : session
    return this.#counts.of(JSON.stringify([tool.name, whose])).take()
  }
}

/** The times of the last calls, oldest first. */
class Window {
  readonly #rate: Rate
  readonly #clock: () => number
  #times: number[] = []

  constructor(rate: Rate, clock: () => number) {
    this.#rate = rate
    this.#clock = clock
  }

  get isIdle(): boolean {
    return (this.#times.at(-1) ?? 0) + this.#rate.perMs <= this.#clock()
  }

  take(): number {
    const now = this.#clock()
    const { calls, perMs } = this.#rate
    this.#times = this.#times.filter(time => time + perMs > now)
    if (this.#times.length >= calls) return this.#times[0]! + perMs - now
    this.#times.push(now)
    return 0
  }
}

export function checkRate(rate: unknown, name: string): void {
  if (!isRecord(rate)) invalidPolicy(name, 'must be an object such as { calls: 10, perMs: 60000 }')
  refuseUnknownMembers(rate, ['calls', 'perMs', 'per'], name)
  const { calls, perMs, per } = rate
  for (const [key, value, most] of [
    ['calls', calls, mostCalls],
    ['perMs', perMs, Number.MAX_SAFE_INTEGER],
  ] as const)
    if (!Number.isSafeInteger(value) || Number(value) < 1 || Number(value) > most)
      invalidPolicy(`${name}.${key}`, `must be a whole number from 1 to ${most}`)
  if (per !== undefined && !rateScopes.some(scope => scope === per))
    invalidPolicy(`${name}.per`, `must be one of: ${rateScopes.join(', ')}`)
}
