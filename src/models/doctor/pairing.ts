// Pairs calls with results: adds missing results, drops results without a call, moves results to their call. It works on
// a flat list of items in order; each vendor's file converts its own nesting to items and back.

import type { JsonObject } from '../../lib/json.ts'
import { asText, makeId, messagesIn, objectsOf, quoted, type Repair, type Report } from './repair.ts'

/** `said`: any other output of the model. `given`: any other input. */
export type PairItem<T> = { value: T } & (
  | { kind: 'call'; id: string; name: string }
  | { kind: 'result'; id: string }
  | { kind: 'said' }
  | { kind: 'given' }
)
type PairCall<T> = Extract<PairItem<T>, { kind: 'call' }>

export type PairOptions<T> = {
  makeResult(call: PairCall<T>): T
  /** Whether an item of the model begins another answer. Default: never. */
  begins?(item: PairItem<T>, before: PairItem<T> | undefined): boolean
}

export const NO_RESULT = 'No result of this call was recorded. It may or may not have been carried out.'

export function pairCalls<T>(
  items: readonly PairItem<T>[],
  options: PairOptions<T>,
  report: Report,
): PairItem<T>[] {
  const paired: PairItem<T>[] = []
  const used = new Set<PairItem<T>>()
  let open: PairCall<T>[] = []
  const settle = (): void => {
    for (const call of open) paired.push(resultFor(call, items, used, options, report))
    open = []
  }
  for (const [at, item] of items.entries()) {
    if (used.has(item)) continue
    if (item.kind === 'result') {
      const index = open.findIndex(call => call.id === item.id)
      if (index < 0) {
        if (!isNeededLater(items, at, item.id, used)) report(droppedResult(items, at, item.id))
        continue
      }
      open.splice(index, 1)
      used.add(item)
      paired.push(item)
      continue
    }
    const isAfterResult = paired.at(-1)?.kind === 'result'
    const isNext = item.kind === 'given' || isAfterResult || options.begins?.(item, paired.at(-1)) === true
    if (open.length > 0 && isNext) settle()
    if (item.kind === 'call') open.push(item)
    paired.push(item)
  }
  settle()
  return paired
}

function resultFor<T>(
  call: PairCall<T>,
  items: readonly PairItem<T>[],
  used: Set<PairItem<T>>,
  options: PairOptions<T>,
  report: Report,
): PairItem<T> {
  const stray = items.find(item => item.kind === 'result' && item.id === call.id && !used.has(item))
  if (stray !== undefined) {
    used.add(stray)
    report(`Moved the result of call ${quoted(call.id)} to directly after the call.`)
    return stray
  }
  report(`Added the missing result of call ${quoted(call.id)} (${call.name}), which says that none is known.`)
  return { kind: 'result', id: call.id, value: options.makeResult(call) }
}

/** A result before its call is kept for that call, unless another result follows. */
function isNeededLater<T>(
  items: readonly PairItem<T>[],
  at: number,
  id: string,
  used: ReadonlySet<PairItem<T>>,
): boolean {
  const later = items.slice(at + 1).filter(item => 'id' in item && item.id === id && !used.has(item))
  return later.some(({ kind }) => kind === 'call') && !later.some(({ kind }) => kind === 'result')
}

function droppedResult<T>(items: readonly PairItem<T>[], at: number, id: string): string {
  const isSecond = items.slice(0, at).some(item => item.kind === 'result' && item.id === id)
  return isSecond
    ? `Dropped the second result of call ${quoted(id)}.`
    : `Dropped the result of ${quoted(id)}: no call before it has that id.`
}

// ---- flat histories ----------------------------------------------------------------------------------------

/** A history whose calls and results are items of one list, `input`. */
export type FlatForm = {
  isCall: (item: JsonObject) => boolean
  isResult: (item: JsonObject) => boolean
  /** Any other item that is not of the model. */
  isGiven: (item: JsonObject) => boolean
  /** The key of a call's id. Results have it under `call_id`. */
  callId: string
  makeResult: (call: JsonObject) => JsonObject
}

export function pairFlat(form: FlatForm): Repair['apply'] {
  return (body, report) => {
    const items = objectsOf(body['input']).map((value): PairItem<JsonObject> => {
      if (form.isResult(value)) return { kind: 'result', id: asText(value['call_id']), value }
      if (form.isCall(value))
        return { kind: 'call', id: asText(value[form.callId]), name: asText(value['name']), value }
      return { kind: form.isGiven(value) ? 'given' : 'said', value }
    })
    const makeResult = (call: PairCall<JsonObject>): JsonObject => form.makeResult(call.value)
    body['input'] = pairCalls(items, { makeResult }, report).map(({ value }) => value)
  }
}

/** Gives the second of two calls with one id a new id, and the next result with that id too. */
export function separateFlat({ isCall, isResult, callId }: FlatForm): Repair['apply'] {
  return (body, report) => {
    const items = objectsOf(body['input'])
    const seen = new Set<string>()
    for (const [at, item] of items.entries()) {
      const id = asText(item[callId])
      if (!isCall(item)) continue
      if (seen.has(id)) {
        const result = items.find((each, index) => index > at && isResult(each) && each['call_id'] === id)
        item[callId] = makeId(`${id} ${at}`, 'call_')
        if (result !== undefined) result['call_id'] = asText(item[callId])
        report(`Renamed the second call ${quoted(id)}, and the result after it, to ${asText(item[callId])}.`)
      }
      seen.add(asText(item[callId]))
    }
  }
}

// ---- nested histories --------------------------------------------------------------------------------------

/** A history whose calls are parts of messages. */
export type NestedForm = {
  calls: (message: JsonObject) => JsonObject[]
  /** The results directly after a message. */
  results: (messages: readonly JsonObject[], at: number) => JsonObject[]
  resultId: string
  prefix: string
  /** Whether an id may occur again in another message. */
  isPerMessage: boolean
}

/** Gives the second of two calls with one id a new id, and its result too. */
export function separateNested(form: NestedForm): Repair['apply'] {
  return (body, report) => {
    const messages = messagesIn(body)
    let seen = new Set<string>()
    for (const [at, message] of messages.entries()) {
      const before = form.isPerMessage ? new Set<string>() : new Set(seen)
      if (form.isPerMessage) seen = new Set()
      for (const [place, call] of form.calls(message).entries()) {
        const id = asText(call['id'])
        if (seen.has(id)) {
          const renamed = makeId(`${id} ${at} ${place}`, form.prefix)
          const results = form.results(messages, at).filter(result => result[form.resultId] === id)
          // If the other call is in this message too, the first result belongs to it.
          const own = results[before.has(id) ? 0 : 1]
          call['id'] = renamed
          if (own !== undefined) own[form.resultId] = renamed
          report(`Renamed the second call ${quoted(id)}, and its result, to ${renamed}.`)
        }
        seen.add(asText(call['id']))
      }
    }
  }
}
