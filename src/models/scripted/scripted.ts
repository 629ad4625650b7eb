// A model that plays a script: for tests, demonstrations and trials that need a model to say exactly this. It
// reads nothing but the step that it is given; a model that makes up its own answers is the rehearsal model.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Model, ModelAnswer, ModelCall, ModelDelta, ModelRequest } from '../../engine/ports.ts'
import type { Native, TextPart, ThinkingPart } from '../../language/content.ts'
import { TurnwireError } from '../../language/errors.ts'
import { unmet } from './expect.ts'
import {
  OVER,
  type Position,
  positionOf,
  type Script,
  type ScriptDocument,
  type Step,
  type StepCall,
  stepOf,
  summaryStep,
  type WhenOver,
} from './script.ts'

export type ScriptedOptions = {
  /** Default `scripted`. */
  id?: string
  /** Default `history`. */
  position?: Position
  /** What comes after the last step. Default `fail`. */
  whenOver?: WhenOver
  /** Assistant entries that the session was created with and that the script does not count. Default 0. */
  seeded?: number
  /** How delays pass. Default: real time. It must reject when the signal aborts. */
  sleep?: (ms: number, signal: AbortSignal) => Promise<unknown>
}

type Watch = (delta: ModelDelta) => void

export function scripted(script: Script, options: ScriptedOptions = {}): Model {
  const fixed = typeof script === 'function' ? undefined : documentOf(script)
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
        stopIf(signal)
        const summary = answerOf(summaryStep(request.history), request)
        await play({}, summary, watch, signal, pass)
        return summary
      }
      const at = position === 'counter' ? asked++ : positionOf(request.history, options.seeded ?? 0)
      stopIf(signal)
      const found = typeof script === 'function' ? await stepOf(script, request, at) : fixed?.steps[at]
      stopIf(signal)
      const step = found ?? afterLast(over, id, at, fixed?.steps)
      const broken = step.expect === undefined ? undefined : await unmet(step.expect, request)
      if (broken !== undefined)
        throw new TurnwireError(
          'model_rejected',
          `The script of ${id} expects at step ${at + 1} ${broken}. Mend the script, or what leads up to it.`,
        )
      const answer = answerOf(step, request)
      await play(step, answer, watch, signal, pass)
      return answer
    },
  }
}

function documentOf(script: readonly Step[] | ScriptDocument): ScriptDocument {
  return 'steps' in script ? script : { steps: script }
}

function afterLast(over: WhenOver, id: string, at: number, steps: readonly Step[] | undefined): Step {
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

function answerOf(step: Step, request: ModelRequest): ModelAnswer {
  const parts: (TextPart | ThinkingPart | ModelCall)[] = []
  if (step.thinking !== undefined) parts.push({ type: 'thinking', text: step.thinking })
  if (step.text !== undefined) parts.push({ type: 'text', text: step.text })
  for (const call of step.calls ?? []) parts.push(callOf(call, request))
  const native: Native | undefined = step.native
  if (native !== undefined && parts[0] !== undefined) parts[0].native = native
  const origin = native?.origin ?? step.calls?.find(call => call.native !== undefined)?.native?.origin
  return {
    parts,
    stop: step.stop ?? stopOf(step),
    ...(origin === undefined ? {} : { origin }),
    ...(step.usage === undefined ? {} : { usage: step.usage }),
  }
}

function stopOf(step: Step): ModelAnswer['stop'] {
  if (step.calls === undefined || step.calls.length === 0) return 'end'
  return step.calls.some(call => call.cut) ? 'length' : 'calls'
}

function callOf(call: StepCall, request: ModelRequest): ModelCall {
  const declared = request.tools.find(tool => tool.name === call.name)
  const made: ModelCall = {
    type: 'call',
    name: call.name,
    form: call.form ?? declared?.input.form ?? 'json',
    text: call.text ?? written(call),
  }
  if (call.cut) made.cut = true
  if (call.id !== undefined) made.nativeId = call.id
  if (call.native !== undefined) made.native = call.native
  return made
}

function written(call: StepCall): string {
  const whole = JSON.stringify(call.input ?? {})
  return call.cut ? whole.slice(0, Math.floor(whole.length / 2)).toWellFormed() : whole
}

// ---- the stream ------------------------------------------------------------------------------------------

async function play(
  step: Step,
  answer: ModelAnswer,
  watch: Watch,
  signal: AbortSignal,
  pass: NonNullable<ScriptedOptions['sleep']>,
): Promise<void> {
  const deltas = deltasOf(answer, step.chunk)
  const shown = step.reset
    ? [...deltas.slice(0, Math.ceil(deltas.length / 2)), { type: 'reset' } as const, ...deltas]
    : deltas
  const until = step.fail === undefined ? shown.length : Math.min(step.fail.after ?? 0, shown.length)
  if (step.stepDelayMs) await delay(step.stepDelayMs, signal, pass)
  for (let at = 0; at < until; at++) {
    if (at > 0 && step.delayMs) await delay(step.delayMs, signal, pass)
    watch(shown[at]!)
    // Whoever watches may abort from within.
    stopIf(signal)
  }
  if (step.fail !== undefined) throw new TurnwireError(step.fail.code, step.fail.message)
  if (step.hang) await aborted(signal)
}

function deltasOf(answer: ModelAnswer, chunk: number | undefined): ModelDelta[] {
  const deltas: ModelDelta[] = []
  let index = 0
  for (const part of answer.parts) {
    if (part.type === 'call') {
      deltas.push({ type: 'call', index, name: part.name, form: part.form })
      for (const text of pieces(part.text, chunk)) deltas.push({ type: 'arguments', index, text })
      index++
    } else if (part.type !== 'hosted') {
      for (const text of pieces(part.text, chunk)) deltas.push({ type: part.type, text })
    }
  }
  return deltas
}

/** A pair of surrogates is never torn: a delta must survive UTF-8 on its own. */
function pieces(text: string, chunk: number | undefined): string[] {
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

// ---- waiting ---------------------------------------------------------------------------------------------

async function delay(
  ms: number,
  signal: AbortSignal,
  pass: NonNullable<ScriptedOptions['sleep']>,
): Promise<void> {
  try {
    await pass(ms, signal)
  } catch (error) {
    stopIf(signal)
    throw error
  }
  stopIf(signal)
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const stop = () => reject(stopped(signal))
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
}

function stopIf(signal: AbortSignal): void {
  if (signal.aborted) throw stopped(signal)
}

function stopped(signal: AbortSignal): TurnwireError {
  return new TurnwireError('model_failed', 'The model was stopped before it had answered.', {
    cause: signal.reason,
  })
}
