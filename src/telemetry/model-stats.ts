// Statistics of the configured models: requests, failures, the last error, how long answers take. Kept in memory since
// the start, for operators. It watches a model from outside and changes nothing of what it answers.

import type { TurnwireConfig } from '../config/config.ts'
import type { Model } from '../engine/ports/index.ts'
import { wordsOf } from '../language/errors.ts'
import type { Telemetry } from './index.ts'

export type ModelRecord = {
  requests: number
  failures: number
  tokens: number
  lastError?: string
  lastErrorAt?: number
  medianMs?: number
}

/** The times of this many answers are kept for the median. */
const mostTimes = 128

export class ModelStats {
  readonly #records = new Map<string, WatchedModel>()
  readonly #telemetry: Telemetry

  constructor(telemetry: Telemetry) {
    this.#telemetry = telemetry
  }

  /** The same model, watched. Models with the same id share a record. Of a model that asks others, each of those is watched. */
  watch(model: Model): Model {
    if (model.members && model.withMembers)
      return model.withMembers(model.members.map(member => this.watch(member)))
    const record = this.#records.get(model.id) ?? new WatchedModel(this.#telemetry)
    this.#records.set(model.id, record)
    return Object.create(model, {
      respond: {
        enumerable: true,
        value: (...asked: Parameters<Model['respond']>) => record.respond(model, asked),
      },
    }) as Model // It has every member of the model, and its own `respond`.
  }

  /** The same configuration with every model watched. */
  watchAll(config: TurnwireConfig): TurnwireConfig {
    const watched = <Named extends Model | string>(model: Named): Model | Named =>
      typeof model === 'string' ? model : this.watch(model)
    const { models, agents } = config
    return {
      ...config,
      agents: agents.map(agent => ({ ...agent, model: watched(agent.model) })),
      ...(models && {
        models: Object.fromEntries(Object.entries(models).map(([name, model]) => [name, watched(model)])),
      }),
    }
  }

  of(id: string): ModelRecord {
    return this.#records.get(id)?.shown() ?? { requests: 0, failures: 0, tokens: 0 }
  }
}

class WatchedModel {
  readonly #record: ModelRecord = { requests: 0, failures: 0, tokens: 0 }
  readonly #times: number[] = []
  readonly #telemetry: Telemetry

  constructor(telemetry: Telemetry) {
    this.#telemetry = telemetry
  }

  async respond(model: Model, asked: Parameters<Model['respond']>): ReturnType<Model['respond']> {
    const record = this.#record
    const [request, watch, signal] = asked
    const { spans, measures } = this.#telemetry
    const begun = performance.now()
    record.requests += 1
    try {
      const answer = await (spans
        ? spans.ask(model, request, watch, (sent, watched) => model.respond(sent, watched, signal))
        : model.respond(request, watch, signal))
      const ms = performance.now() - begun
      record.tokens += (answer.usage?.input ?? 0) + (answer.usage?.output ?? 0)
      this.#times[record.requests % mostTimes] = ms
      measures?.asked(model.id, ms / 1000, answer)
      return answer
    } catch (error) {
      measures?.asked(model.id, (performance.now() - begun) / 1000, signal.aborted ? 'cancelled' : 'failed')
      // An answer that its caller no longer wants is no failure of the model.
      if (!signal.aborted) {
        record.failures += 1
        record.lastError = wordsOf(error).slice(0, 500)
        record.lastErrorAt = Date.now()
      }
      throw error
    }
  }

  shown(): ModelRecord {
    const times = Object.values(this.#times).sort((one, other) => one - other)
    const median = times[times.length >> 1]
    return { ...this.#record, ...(median !== undefined && { medianMs: Math.round(median) }) }
  }
}
