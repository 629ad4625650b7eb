// A model that plays a script, for tests and demonstrations that need exact answers. It reads nothing but the step of
// the script; the model that composes its own answers is the rehearsal model.
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Model, ModelAnswer, ModelCall, ModelDelta, ModelRequest } from '../../engine/ports/index.ts'
import type { Native, TextPart, ThinkingPart } from '../../language/content.ts'
import { TurnwireError } from '../../language/errors.ts'
import { answerDeltas, throwIfAborted } from '../common/answer-deltas.ts'
import { findMismatch } from './expect.ts'
import {
  findStep,
  OVER,
  type Position,
  type Script,
  type ScriptDocument,
  type ScriptStep,
  type StepCall,
  scriptPosition,
  summaryStep,
  type WhenOver,
} from './script.ts'

export type ScriptedOptions = {
  /** Default `scripted`. */
  id?: string
  /** Default `history`. */
  position?: Position
  /** The behaviour after the last step. Default `fail`. */
  whenOver?: WhenOver
  /** Assistant entries that the session was created with and that the script does not count. Default 0. */
  seeded?: number
  /** Waits. Default: a timer. It must reject when the signal aborts. */
  sleep?: (ms: number, signal: AbortSignal) => Promise<unknown>
}

type Watch = (delta: ModelDelta) => void

export function scripted(script: Script, options: ScriptedOptions = {}): Model {
  const fixed = typeof script === 'function' ? undefined : toDocument(script)
  const over = options.whenOver ?? fixed?.whenOver ?? 'fail'
  const position = options.position ?? fixed?.position ?? 'history'
  const id = options.id ?? 'scripted'
  const pass = options.sleep ?? ((ms, signal) => sleep(ms, undefined, { signal }))
  if (over === 'repeat-last' && fixed?.steps.length === 0)
    throw new TurnwireError(
      'config_invalid',
      `The script of ${id} has no step to repeat. Give it at least one.`,
    )
  let asked = 0

  return {
    id,
    async respond(request, watch, signal) {
      if (request.purpose === 'summary') {
        throwIfAborted(signal)
        const summary = scriptedAnswer(summaryStep(request.history), request)
        await streamStep({}, summary, watch, signal, pass)
        return summary
      }
      const at = position === 'counter' ? asked++ : scriptPosition(request.history, options.seeded ?? 0)
      throwIfAborted(signal)
      const found = typeof script === 'function' ? await findStep(script, request, at) : fixed?.steps[at]
      throwIfAborted(signal)
      const step = found ?? afterLast(over, id, at, fixed?.steps)
      const broken = step.expect === undefined ? undefined : await findMismatch(step.expect, request)
      if (broken !== undefined)
        throw new TurnwireError(
          'model_rejected',
          `The script of ${id} expects at step ${at + 1} ${broken}. Mend the script, or what leads up to it.`,
        )
      const answer = scriptedAnswer(step, request)
      await streamStep(step, answer, watch, signal, pass)
      return answer
    },
  }
}

function toDocument(script: readonly ScriptStep[] | ScriptDocument): ScriptDocument {
  return 'steps' in script ? script : { steps: script }
}

function afterLast(
  over: WhenOver,
  id: string,
  at: number,
  steps: readonly ScriptStep[] | undefined,
): ScriptStep {
  const last = steps?.at(-1)
  if (over === 'repeat-last' && last !== undefined) return last
  if (over === 'end') return OVER
  throw new TurnwireError(
    'model_failed',
    `The script of ${id} is over: it was asked for step ${at + 1}${steps === undefined ? '' : ` of ${steps.length}`}. ` +
      `Add a step, or say what comes after the last one (whenOver: repeat-last, or whenOver: end).`,
  )
}

// ---- the answer ------------------------------------------------------------------------------------------

function scriptedAnswer(step: ScriptStep, request: ModelRequest): ModelAnswer {
  const parts: (TextPart | ThinkingPart | ModelCall)[] = []
  if (step.thinking !== undefined) parts.push({ type: 'thinking', text: step.thinking })
  if (step.text !== undefined) parts.push({ type: 'text', text: step.text })
  for (const call of step.calls ?? []) parts.push(scriptedCall(call, request))
  const native: Native | undefined = step.native
  if (native !== undefined && parts[0] !== undefined) parts[0].native = native
  const origin = native?.origin ?? step.calls?.find(call => call.native !== undefined)?.native?.origin
  return {
    parts,
    stop: step.stop ?? scriptedStop(step),
    ...(origin === undefined ? {} : { origin }),
    ...(step.usage === undefined ? {} : { usage: step.usage }),
  }
}

function scriptedStop(step: ScriptStep): ModelAnswer['stop'] {
  if (step.calls === undefined || step.calls.length === 0) return 'end'
  return step.calls.some(call => call.cut) ? 'length' : 'calls'
}

function scriptedCall(call: StepCall, request: ModelRequest): ModelCall {
  const declared = request.tools.find(tool => tool.name === call.name)
  const made: ModelCall = {
    type: 'call',
    name: call.name,
    form: call.form ?? declared?.input.form ?? 'json',
    text: call.text ?? argumentsText(call),
  }
  if (call.cut) made.cut = true
  if (call.id !== undefined) made.nativeId = call.id
  if (call.native !== undefined) made.native = call.native
  return made
}

function argumentsText(call: StepCall): string {
  const whole = JSON.stringify(call.input ?? {})
  return call.cut ? whole.slice(0, Math.floor(whole.length / 2)).toWellFormed() : whole
}

// ---- the stream ------------------------------------------------------------------------------------------

type Sleep = NonNullable<ScriptedOptions['sleep']>

async function streamStep(
  step: ScriptStep,
  answer: ModelAnswer,
  watch: Watch,
  signal: AbortSignal,
  pass: Sleep,
): Promise<void> {
  const deltas = [...answerDeltas(answer.parts, text => splitText(text, step.chunk))]
  const half = deltas.slice(0, Math.ceil(deltas.length / 2))
  const all = step.reset ? [...half, { type: 'reset' } as const, ...deltas] : deltas
  const sent = step.fail === undefined ? all : all.slice(0, step.fail.after ?? 0)
  if (step.stepDelayMs) await delay(step.stepDelayMs, signal, pass)
  for (const [at, delta] of sent.entries()) {
    if (at > 0 && step.delayMs) await delay(step.delayMs, signal, pass)
    watch(delta)
    throwIfAborted(signal) // `watch` may have aborted.
  }
  if (step.fail !== undefined) throw new TurnwireError(step.fail.code, step.fail.message)
  if (step.hang && !signal.aborted) await once(signal, 'abort')
  throwIfAborted(signal)
}

/** Never cuts a surrogate pair: each delta must survive UTF-8 on its own. */
function splitText(text: string, chunk: number | undefined): string[] {
  if (text === '') return []
  if (chunk === undefined || chunk >= text.length) return [text]
  const size = Math.max(1, Math.floor(chunk))
  const list: string[] = []
  for (let from = 0; from < text.length; ) {
    let to = Math.min(text.length, from + size)
    const next = text.charCodeAt(to)
    const last = text.charCodeAt(to - 1)
    if (last >= 0xd800 && last <= 0xdbff && next >= 0xdc00 && next <= 0xdfff) to++
    list.push(text.slice(from, to))
    from = to
  }
  return list
}

async function delay(ms: number, signal: AbortSignal, pass: Sleep): Promise<void> {
  try {
    await pass(ms, signal)
  } finally {
    throwIfAborted(signal)
  }
}
