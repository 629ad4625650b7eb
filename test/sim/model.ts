// A model that answers at random: calls of every kind, streams that are slow, cut, empty or dead. First it checks that
// every vendor would accept the history that it was given.
import type { Model, ModelAnswer, ModelCall, ModelDelta, ModelRequest } from '../../src/engine/ports/index.ts'
import { TurnwireError } from '../../src/language/errors.ts'
import type { Entry } from '../../src/language/history.ts'
import type { Chance } from './chance.ts'
import type { Machine, Scheduler } from './scheduler.ts'
import type { Trace } from './trace.ts'

export type ModelParts = { scheduler: Scheduler; chance: Chance; trace: Trace; calm: () => boolean }

export function modelOf(machine: Machine, parts: ModelParts): Model {
  const { chance, trace } = parts
  return {
    id: 'sim',
    respond(request, watch, signal) {
      if (!machine.alive) return new Promise(() => {})
      trace.note(`model asked by ${machine.name} with ${request.history.length} entries`)
      const wrong = wrongHistory(request.history)
      if (wrong !== undefined) trace.breach(`a history that no vendor accepts: ${wrong}`)
      if (parts.calm()) return play({ parts: [{ type: 'text', text: 'All well.' }], stop: 'end' }, watch)
      if (request.purpose === 'summary') return summarise(signal, machine, parts)
      if (chance.maybe(0.02)) throw new TypeError('the model threw at once')
      return perform(request, watch, signal, machine, parts)
    },
  }
}

function play(answer: ModelAnswer, watch: (delta: ModelDelta) => void): Promise<ModelAnswer> {
  for (const delta of deltasOf(answer)) watch(delta)
  return Promise.resolve(answer)
}

async function summarise(
  signal: AbortSignal,
  machine: Machine,
  { chance, scheduler }: ModelParts,
): Promise<ModelAnswer> {
  const mood = chance.weighted({ good: 12, empty: 1, refused: 1, failed: 1, hang: 1 })
  await scheduler.sleep(chance.whole(0, 60), machine)
  stopIf(signal)
  if (mood === 'hang') await new Promise<void>(() => {})
  if (mood === 'failed') throw new TurnwireError('model_failed', 'No summary.')
  if (mood === 'refused') throw new TurnwireError('model_rejected', 'Too long.')
  const text = mood === 'empty' ? ' ' : 'In short.'
  return { parts: [{ type: 'text', text }], stop: 'end', usage: { input: 9, output: 3 } }
}

/** The reason why a vendor would refuse a history: every call must be answered right after it, once, in order. */
export function wrongHistory(history: readonly Entry[]): string | undefined {
  const seen = new Set<string>()
  let open: string[] = []
  for (const [at, entry] of history.entries()) {
    if (entry.role === 'tool') {
      const given = entry.results.map(result => result.callId)
      if (given.join() !== open.join() || given.length === 0)
        return `entry ${at} answers [${given.join(' ')}], not [${open.join(' ')}]`
      if (entry.results.some(result => result.outcome.parts.length === 0))
        return `entry ${at} has an empty result`
      open = []
      continue
    }
    if (open.length > 0) return `entry ${at} follows the unanswered calls [${open.join(' ')}]`
    if (entry.role !== 'system' && entry.parts.length === 0) return `entry ${at} is empty`
    if (entry.role !== 'assistant') continue
    for (const part of entry.parts) {
      if (part.type !== 'call') continue
      if (seen.has(part.id)) return `entry ${at} repeats the call id ${part.id}`
      seen.add(part.id)
      open.push(part.id)
    }
  }
  if (open.length > 0) return `it ends with the unanswered calls [${open.join(' ')}]`
  const last = history.at(-1)?.role
  return history.length > 0 && last === 'system' ? 'it ends with a system entry' : undefined
}

type Mood = 'good' | 'fail' | 'defect' | 'hang' | 'deaf' | 'dead' | 'reset'

async function perform(
  request: ModelRequest,
  watch: (delta: ModelDelta) => void,
  signal: AbortSignal,
  machine: Machine,
  { chance, scheduler }: ModelParts,
): Promise<ModelAnswer> {
  const mood = chance.weighted<Mood>({ good: 30, fail: 2, defect: 1, hang: 1, deaf: 2, dead: 1, reset: 2 })
  const answer = makeAnswer(request, chance)
  const deltas = deltasOf(answer)
  const shown: ModelDelta[] =
    mood === 'reset'
      ? [...deltas.slice(0, chance.whole(0, deltas.length)), { type: 'reset' }, ...deltas]
      : deltas
  const until = mood === 'fail' || mood === 'defect' ? chance.whole(0, shown.length) : shown.length
  for (const delta of shown.slice(0, until)) {
    if (chance.maybe(0.4)) await scheduler.sleep(chance.whole(1, 40), machine)
    if (mood !== 'deaf') stopIf(signal)
    watch(delta)
  }
  if (mood === 'fail')
    throw new TurnwireError(chance.pick(['model_failed', 'model_timeout', 'model_rejected']), 'No.')
  if (mood === 'defect') throw new TypeError('undefined is not a model')
  if (mood === 'hang') await new Promise<void>(resolve => signal.addEventListener('abort', () => resolve()))
  if (mood === 'dead') await new Promise<never>(() => {})
  if (mood === 'deaf') await scheduler.sleep(chance.whole(50, 5000), machine)
  else stopIf(signal)
  return answer
}

function stopIf(signal: AbortSignal): void {
  if (signal.aborted) throw new TurnwireError('model_failed', 'The model was stopped.')
}

function makeAnswer(request: ModelRequest, chance: Chance): ModelAnswer {
  const parts: ModelAnswer['parts'] = []
  if (chance.maybe(0.2)) parts.push({ type: 'thinking', text: 'Let me think. ' })
  if (chance.maybe(0.6)) parts.push({ type: 'text', text: `Words ${chance.whole(1, 99)}. ` })
  const count = chance.maybe(0.7) ? chance.whole(1, 4) : 0
  for (let index = 0; index < count; index += 1) {
    const last = parts.at(-1)
    parts.push(last?.type === 'call' && chance.maybe(0.15) ? { ...last } : makeCall(request, chance))
  }
  if (count > 0) {
    const cut = parts.some(part => part.type === 'call' && part.cut)
    return { parts, stop: cut ? 'length' : 'calls', usage: { input: 10, output: 5 } }
  }
  if (chance.maybe(0.05)) parts.length = 0
  const stop = chance.weighted({ end: 12, length: 1, refusal: 1, filter: 1, pause: 2, calls: 1 })
  return { parts, stop, ...(chance.maybe(0.5) && { usage: { input: 12, output: 6 } }) }
}

function makeCall(request: ModelRequest, chance: Chance): ModelCall {
  const kind = chance.weighted({ good: 20, unknown: 2, never: 1, invalid: 3, cut: 1, form: 1 })
  if (kind === 'unknown') return { type: 'call', name: 'nope', form: 'json', text: '{}' }
  if (kind === 'never') return { type: 'call', name: 'never', form: 'json', text: '{"n":1}' }
  const tool = request.tools.length === 0 ? undefined : chance.pick(request.tools)
  if (!tool) return { type: 'call', name: 'nope', form: 'json', text: '{}' }
  const { name, input } = tool
  const nativeId = chance.maybe(0.3) ? { nativeId: 'same' } : {}
  if (kind === 'form')
    return { type: 'call', name, form: input.form === 'json' ? 'text' : 'json', text: '{"n":1}', ...nativeId }
  if (input.form === 'text')
    return { type: 'call', name, form: 'text', text: `free ${chance.whole(1, 3)}`, ...nativeId }
  if (kind === 'invalid')
    return {
      type: 'call',
      name,
      form: 'json',
      text: chance.pick(['{"n":"x"}', '{"n":1', '[]', '{"n":1,"n":2}', '']),
    }
  const call: ModelCall = {
    type: 'call',
    name,
    form: 'json',
    text: `{"n":${chance.whole(1, 4)}}`,
    ...nativeId,
  }
  return kind === 'cut' ? { ...call, text: '{"n"', cut: true } : call
}

/** The deltas of an answer. Each text comes in two pieces. */
function deltasOf(answer: ModelAnswer): ModelDelta[] {
  const deltas: ModelDelta[] = []
  let index = 0
  for (const part of answer.parts) {
    if (part.type === 'call') {
      deltas.push({ type: 'call', index, name: part.name, form: part.form })
      deltas.push({ type: 'arguments', index, text: part.text })
      index += 1
    } else if (part.type !== 'hosted') {
      const half = part.text.length >> 1
      deltas.push({ type: part.type, text: part.text.slice(0, half) })
      deltas.push({ type: part.type, text: part.text.slice(half) })
    }
  }
  return deltas
}
