// A script as plain data, and the rule that finds the step for a request. Streaming is in scripted.ts, checks of a
// request are in expect.ts: a script may come from code or from a file.

import type { ModelAnswer, ModelRequest } from '../../engine/ports/index.ts'
import type { CallForm, OutcomeKind } from '../../language/calls.ts'
import { joinText, type Native } from '../../language/content.ts'
import { TurnwireError, wordsOf } from '../../language/errors.ts'
import type { Usage } from '../../language/events.ts'
import type { AssistantEntry, Entry } from '../../language/history.ts'
import type { Json } from '../../lib/json/index.ts'

/** A string is searched literally; a file writes a regular expression as `{ pattern, flags }`. */
export type Pattern = string | RegExp | { pattern: string; flags?: string }

export type StepCall = {
  name: string
  /** The arguments as a value. Neither `input` nor `text`: an empty object. */
  input?: Json
  /** The arguments as raw text, or the text of a text tool. Wins over `input`. */
  text?: string
  /** Absent: as the tool of this name was declared, else `json`. */
  form?: CallForm
  /** The native id. */
  id?: string
  /** The stream ends inside the arguments: of `input` the first half is sent, `text` is sent as it is. */
  cut?: true
  native?: Native
}

export type ExpectedResult = { name?: string; kind?: OutcomeKind; text?: Pattern }

export type Expectation = {
  lastUser?: Pattern
  /** The offered tools, by name, in any order. */
  tools?: string[]
  /** The results of the last batch, in order. */
  results?: ExpectedResult[]
}

/** Returns a sentence if the request is not the expected one. `false` or an exception also counts as a mismatch. */
export type ExpectFunction = (request: ModelRequest) => unknown

export type ScriptFailure = {
  code: 'model_failed' | 'model_limited' | 'model_rejected' | 'model_timeout'
  message: string
  /** Deltas sent before the failure. Absent: none. More than there are: all. */
  after?: number
}

export type ScriptStep = {
  thinking?: string
  text?: string
  calls?: StepCall[]
  /** Absent: `calls` when there are calls (`length` when one is cut), else `end`. */
  stop?: ModelAnswer['stop']
  usage?: Usage
  /** Characters per delta. Absent: one delta per text. */
  chunk?: number
  /** Milliseconds before each delta but the first. */
  delayMs?: number
  /** Milliseconds before the first delta. */
  stepDelayMs?: number
  /** A mismatch rejects the request with `model_rejected`. */
  expect?: Expectation | ExpectFunction
  fail?: ScriptFailure
  /** Sends its deltas, then never answers: only the signal ends it. */
  hang?: true
  /** Sends the first half of its deltas, a reset, then all of them. */
  reset?: true
  /** Attached to the first part of the answer. Its origin becomes the answer's. */
  native?: Native
}

/** Undefined: the script is over. */
export type ScriptFunction = (
  request: ModelRequest,
  step: number,
) => ScriptStep | undefined | Promise<ScriptStep | undefined>

export type ScriptDocument = { steps: readonly ScriptStep[]; position?: Position; whenOver?: WhenOver }
export type Script = readonly ScriptStep[] | ScriptDocument | ScriptFunction

/**
 * `history`: the step is the number of assistant entries in the request's history, so the same history always
 * gets the same step, also after a crash and in another process. `counter`: the step is the number of times that
 * this model was asked before, for scripts that answer a retry differently.
 */
export type Position = 'history' | 'counter'
export type WhenOver = 'repeat-last' | 'end' | 'fail'

export const OVER: ScriptStep = { text: '(script over)' }

/** `seeded`: assistant entries that the session was created with; they are not counted. */
export function scriptPosition(history: readonly Entry[], seeded: number): number {
  let count = -seeded
  for (const entry of history) if (entry.role === 'assistant') count += playedIn(entry)
  return Math.max(0, count)
}

const MARK = /\((\d+) steps? of the script played\)$/

/** A summary counts as many steps as it replaced. */
function playedIn(entry: AssistantEntry): number {
  const [only, ...others] = entry.parts
  const mark = only?.type === 'text' && others.length === 0 ? MARK.exec(only.text) : null
  return mark === null ? 1 : Number(mark[1])
}

/** The answer to a request for a summary, which is not a step of the script. */
export function summaryStep(history: readonly Entry[]): ScriptStep {
  const played = scriptPosition(history, 0)
  const wishes = history.slice(0, -1).flatMap(entry => (entry.role === 'user' ? joinText(entry.parts) : []))
  const last = wishes.findLast(text => text.trim() !== '') ?? 'nothing'
  const asked = last.length > 200 ? `${last.slice(0, 200).toWellFormed()}…` : last
  return {
    text: `So far, last asked for: ${asked} (${played} ${played === 1 ? 'step' : 'steps'} of the script played)`,
  }
}

export async function findStep(
  script: ScriptFunction,
  request: ModelRequest,
  at: number,
): Promise<ScriptStep | undefined> {
  try {
    return await script(request, at)
  } catch (error) {
    if (error instanceof TurnwireError) throw error
    throw new TurnwireError('model_failed', `The script failed at step ${at + 1}: ${wordsOf(error)}`, {
      cause: error,
    })
  }
}
