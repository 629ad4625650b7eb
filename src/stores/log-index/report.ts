// Counts of hours, as the index keeps them, made into the report that an overview shows.
import type { ActivityQuery } from '../../engine/ports/index.ts'
import type {
  ActivityReport,
  ActivitySlot,
  CallCounts,
  StepCounts,
  TurnCounts,
} from '../../language/activity.ts'
import type { OutcomeKind } from '../../language/calls.ts'
import { present } from '../../lib/json/present.ts'
import type { ActivityRow } from './digest.ts'
import { Durations } from './times.ts'

export function activityReport(
  { since, until, slotMs, zoneMs }: ActivityQuery,
  rows: readonly ActivityRow[],
  behind: number,
): ActivityReport {
  const all = new Counter()
  const slots = new Counters<number>()
  const agents = new Counters<string>()
  const models = new Counters<string>()
  const tools = new Counters<string>()
  const used = new Map<string, ActivityReport['used'][number]>()
  for (const row of rows) {
    const at = Math.floor((row.hour + zoneMs) / slotMs) * slotMs - zoneMs
    for (const counter of [all, slots.of(at), agents.of(row.agent)]) counter.add(row)
    if (row.kind === 'call') tools.of(row.name).add(row)
    if (row.kind !== 'step') continue
    models.of(row.name).add(row)
    const { agent, name: model } = row
    const key = JSON.stringify([at, agent, model])
    const sum = used.get(key) ?? { at, agent, model, tokens: 0, cost: 0 }
    sum.tokens += row.input + row.output
    sum.cost += row.cost
    used.set(key, sum)
  }
  return {
    since,
    until,
    slotMs,
    slots: slots
      .list((at, counts): ActivitySlot => ({ at, ...counts.all() }))
      .sort((one, two) => one.at - two.at),
    all: all.all(),
    agents: agents
      .list((name, counts) => ({ name, ...counts.all() }))
      .sort((a, b) => b.turns.turns - a.turns.turns),
    models: models.list((name, counts) => ({ name, ...counts.steps() })).sort((a, b) => b.steps - a.steps),
    tools: tools.list((name, counts) => ({ name, ...counts.calls() })).sort((a, b) => b.calls - a.calls),
    used: [...used.values()].filter(({ tokens, cost }) => tokens > 0 || cost > 0).sort((a, b) => a.at - b.at),
    behind,
  }
}

class Counters<Name> {
  readonly #counters = new Map<Name, Counter>()

  of(name: Name): Counter {
    const counter = this.#counters.get(name) ?? new Counter()
    this.#counters.set(name, counter)
    return counter
  }

  list<T>(describe: (name: Name, counter: Counter) => T): T[] {
    return [...this.#counters].map(([name, counter]) => describe(name, counter))
  }
}

class Counter {
  readonly #turns = { turns: 0, failed: 0 }
  readonly #steps = { steps: 0, failed: 0, input: 0, output: 0, cost: 0, unpriced: 0 }
  readonly #calls: { calls: number; outcomes: Partial<Record<OutcomeKind, number>> } = {
    calls: 0,
    outcomes: {},
  }
  readonly #times = { turn: new Durations(), step: new Durations(), call: new Durations() }

  add({ kind, outcome, bucket, n, input, output, cost, unpriced }: ActivityRow): void {
    this.#times[kind].add(bucket, n)
    if (kind === 'turn') {
      this.#turns.turns += n
      this.#turns.failed += outcome === 'failed' ? n : 0
    } else if (kind === 'call') {
      const as = outcome as OutcomeKind // the digest wrote it from one
      this.#calls.calls += n
      this.#calls.outcomes[as] = (this.#calls.outcomes[as] ?? 0) + n
    } else {
      this.#steps[outcome === 'failed' ? 'failed' : 'steps'] += n
      this.#steps.input += input
      this.#steps.output += output
      this.#steps.cost += cost
      this.#steps.unpriced += unpriced
    }
  }

  all(): Omit<ActivitySlot, 'at'> {
    return {
      turns: { ...this.#turns, ...this.#percentiles('turn') } satisfies TurnCounts,
      steps: this.steps(),
      calls: this.calls(),
    }
  }

  steps(): StepCounts {
    return { ...this.#steps, ...this.#percentiles('step') }
  }

  calls(): CallCounts {
    return { ...this.#calls, ...this.#percentiles('call') }
  }

  #percentiles(kind: 'turn' | 'step' | 'call'): { p50?: number; p95?: number } {
    const times = this.#times[kind]
    return present({ p50: times.percentile(0.5), p95: times.percentile(0.95) })
  }
}
