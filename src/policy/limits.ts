// The limits that end every loop: their defaults, and the check of an operator's own values. The engine counts against
// them, because only it sees a whole turn.

import type { Limits } from '../engine/ports/index.ts'
import { TurnwireError } from '../language/errors.ts'
import { type LimitName, limitNames } from '../language/events.ts'

export const defaultLimits: Limits = Object.freeze({
  /** Answers of the model in one turn. */
  steps: 50,
  /** Calls in one turn. */
  calls: 200,
  /** Calls of one tool with the same arguments in one turn. */
  identicalCalls: 5,
  /** Milliseconds of one turn, without the time spent waiting for people and clients. */
  time: 10 * 60 * 1000,
  /**
   * Bytes that models and tools produce in one turn, also those that no model is shown. An output that is streamed to the
   * store counts with its preview: the limit of the session bounds it.
   */
  bytes: 10_000_000,
  /** Tokens read and written in one turn, as the provider counts them. */
  tokens: 2_000_000,
  /** The cost of the models in one turn, in US dollars. */
  money: 20,
  /** Bytes of a session for life, with the whole results that are kept beside its log. */
  sessionBytes: 128 * 1024 * 1024,
})

/** Fills in the defaults. A limit cannot be switched off, because every loop must end. */
export function checkLimits(partial: Partial<Limits> = {}): Limits {
  const limits: Limits = { ...defaultLimits }
  for (const [name, value] of Object.entries(partial)) {
    if (!isLimitName(name))
      throw new TurnwireError(
        'config_invalid',
        `There is no limit named ${JSON.stringify(name)}. The limits are: ${limitNames.join(', ')}.`,
      )
    if (value === undefined) continue
    const allowed =
      name === 'money' ? Number.isFinite(value) && value > 0 : Number.isSafeInteger(value) && value >= 1
    if (!allowed)
      throw new TurnwireError(
        'config_invalid',
        `The limit "${name}" must be a ${name === 'money' ? 'number above 0' : 'whole number from 1 up'}, not ${String(value)}. To allow more, set a larger number; it cannot be switched off.`,
      )
    limits[name] = value
  }
  return limits
}

function isLimitName(name: string): name is LimitName {
  return limitNames.some(known => known === name)
}
