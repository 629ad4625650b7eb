// Calls and their results, put side by side again: a result that is missing is added, one that answers nothing is
// dropped, one that strayed is moved. The same for every vendor, over items that are in order; how a vendor nests them
// is its own business.

import type { JsonObject } from '../../lib/json.ts'
import { type Did, plainId, shown, stringOf } from './treatment.ts'

/** `said`: by the model. `given`: by whoever asks it, a result aside. */
export type Item<T> = { value: T } & (
  | { kind: 'call'; id: string; name: string }
  | { kind: 'result'; id: string }
  | { kind: 'said' }
  | { kind: 'given' }
)

export type PairOptions<T> = {
  makeResult(call: { id: string; name: string }): T
  /** Whether an item of the model begins another answer of it. */
  begins(item: Item<T>, before: Item<T> | undefined): boolean
}

type Call<T> = Extract<Item<T>, { kind: 'call' }>

export const NO_RESULT = 'No result of this call was recorded. It may or may not have been carried out.'

export function pair<T>(items: readonly Item<T>[], options: PairOptions<T>, did: Did): Item<T>[] {
  const paired: Item<T>[] = []
  const used = new Set<Item<T>>()
  let open: Call<T>[] = []
  const settle = (): void => {
    for (const call of open) paired.push(resultOf(call, items, used, options, did))
    open = []
  }
  for (const [at, item] of items.entries()) {
    if (used.has(item)) continue
    if (item.kind === 'result') {
      const index = open.findIndex(call => call.id === item.id)
      if (index < 0) {
        if (!isAwaitedLater(items, at, item.id, used)) did(dropWords(items, at, item.id))
        continue
      }
      open.splice(index, 1)
      used.add(item)
      paired.push(item)
      continue
    }
    const answering = paired.at(-1)?.kind === 'result'
    const next = item.kind === 'given' || answering || options.begins(item, paired.at(-1))
    if (open.length > 0 && next) settle()
    if (item.kind === 'call') open.push(item)
    paired.push(item)
  }
  settle()
  return paired
}

/** Flat items whose calls share an id: the later call gets another, and so does the next result. */
export function separateCalls(
  items: readonly JsonObject[],
  keys: { call: (item: JsonObject) => string | undefined; result: (item: JsonObject) => string | undefined },
  did: Did,
): void {
  const seen = new Set<string>()
  for (const [at, item] of items.entries()) {
    const key = keys.call(item)
    if (key === undefined) continue
    const id = stringOf(item[key])
    if (seen.has(id)) {
      const spelled = plainId(`${id} ${at}`, 'call_')
      item[key] = spelled
      const next = items.find((each, index) => index > at && stringOf(each[keys.result(each) ?? '']) === id)
      const resultKey = next && keys.result(next)
      if (next !== undefined && resultKey !== undefined) next[resultKey] = spelled
      did(`Renamed the second call ${shown(id)}, and the result after it, to ${spelled}.`)
    }
    seen.add(stringOf(item[key]))
  }
}

function resultOf<T>(
  call: Call<T>,
  items: readonly Item<T>[],
  used: Set<Item<T>>,
  options: PairOptions<T>,
  did: Did,
): Item<T> {
  const strayed = items.find(item => item.kind === 'result' && item.id === call.id && !used.has(item))
  if (strayed !== undefined) {
    used.add(strayed)
    did(`Moved the result of call ${shown(call.id)} to directly after the call.`)
    return strayed
  }
  did(`Added the missing result of call ${shown(call.id)} (${call.name}), which says that none is known.`)
  return { kind: 'result', id: call.id, value: options.makeResult(call) }
}

/** A result that stands before its call is taken up when the call comes. */
function isAwaitedLater<T>(
  items: readonly Item<T>[],
  at: number,
  id: string,
  used: ReadonlySet<Item<T>>,
): boolean {
  const called = items.slice(at + 1).some(item => item.kind === 'call' && item.id === id)
  const answered = items
    .slice(at + 1)
    .some(item => item.kind === 'result' && item.id === id && !used.has(item))
  return called && !answered
}

function dropWords<T>(items: readonly Item<T>[], at: number, id: string): string {
  const before = items.slice(0, at).some(item => item.kind === 'result' && item.id === id)
  return before
    ? `Dropped the second result of call ${shown(id)}.`
    : `Dropped the result of ${shown(id)}: no call before it has that id.`
}
