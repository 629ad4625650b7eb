// The differences between two JSON values, one sentence each, with the path of the place.

import { isJsonObject, type Json, type JsonObject } from '../lib/json/index.ts'
import { alignLines } from '../lib/text/line-diff.ts'

const MOST_CHARS = 200

export function differences(before: Json, after: Json, path = ''): string[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return []
  if (Array.isArray(before) && Array.isArray(after)) return listDifferences(before, after, path)
  if (isJsonObject(before) && isJsonObject(after)) return fieldDifferences(before, after, path)
  return [`Changed ${path} from ${describeValue(before)} to ${describeValue(after)}.`]
}

function fieldDifferences(before: JsonObject, after: JsonObject, path: string): string[] {
  const keys = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...keys].flatMap(key => {
    const at = path === '' ? key : `${path}.${key}`
    const [old, fresh] = [before[key], after[key]]
    if (old === undefined) return fresh === undefined ? [] : [added(at, fresh)]
    return fresh === undefined ? [describeDropped(at, old)] : differences(old, fresh, at)
  })
}

/** Elements that follow one another, by index: one that stayed, or some that were replaced by others. */
type Run = { old: number[]; fresh: number[]; stayed: boolean }

export function alignedRuns(before: readonly string[], after: readonly string[]): Run[] {
  const runs: Run[] = []
  let [i, j] = [0, 0]
  for (const { mark } of alignLines(before, after)) {
    const stayed = mark === ' '
    if (stayed || runs.at(-1)?.stayed !== false) runs.push({ old: [], fresh: [], stayed })
    if (mark !== '+') runs.at(-1)?.old.push(i++)
    if (mark !== '-') runs.at(-1)?.fresh.push(j++)
  }
  return runs
}

/** Elements that were replaced are compared one by one as far as they are alike. */
function listDifferences(before: readonly Json[], after: readonly Json[], path: string): string[] {
  const changed: string[] = []
  const [gone, come]: [number[], number[]] = [[], []]
  const runs = alignedRuns(before.map(json), after.map(json))
  for (const { old, fresh } of runs.filter(({ stayed }) => !stayed)) {
    for (const at of old) {
      const like = fresh.findIndex(other => isAlike(before[at], after[other]))
      if (like < 0) gone.push(at)
      else {
        come.push(...fresh.splice(0, like))
        const other = after[fresh.shift() ?? 0] ?? null
        changed.push(...differences(before[at] ?? null, other, `${path}[${at}]`))
      }
    }
    come.push(...fresh)
  }
  return [...changed, ...movedOrDropped(before, after, gone, come, path)]
}

function movedOrDropped(
  before: readonly Json[],
  after: readonly Json[],
  gone: readonly number[],
  come: number[],
  path: string,
): string[] {
  const left = gone.map(at => {
    const to = come.findIndex(other => json(after[other] ?? null) === json(before[at] ?? null))
    if (to < 0) return describeDropped(`${path}[${at}]`, before[at] ?? null)
    return `Moved ${path}[${at}] to ${path}[${come.splice(to, 1)[0]}].`
  })
  return [...left, ...come.map(at => added(`${path}[${at}]`, after[at] ?? null))]
}

const json = (value: Json): string => JSON.stringify(value)

/** Objects of one kind: the same role, type and members. */
function isAlike(a: Json | undefined, b: Json | undefined): boolean {
  if (!isJsonObject(a) || !isJsonObject(b)) return false
  if (a['role'] !== b['role'] || a['type'] !== b['type']) return false
  return Object.keys(a).filter(key => Object.hasOwn(b, key)).length > 0
}

const added = (path: string, value: Json): string => `Added ${path}: ${describeValue(value)}.`
const describeDropped = (path: string, value: Json): string => `Dropped ${path}: ${describeValue(value)}.`

function describeValue(value: Json): string {
  const text = JSON.stringify(value).toWellFormed()
  return text.length > MOST_CHARS ? `${text.slice(0, MOST_CHARS - 1)}…` : text
}
