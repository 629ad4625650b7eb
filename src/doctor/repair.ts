// A repair: the history is read leniently into entries, and encoded anew for its vendor. Then every change that the vendor
// does not need is taken back: the search tries large groups of changes first, so that it asks the check few times.

import { isJsonObject, type Json, type JsonObject } from '../lib/json/index.ts'
import { asObject, asString, listObjects } from '../models/common/json-read.ts'
import { alignedRuns, differences } from './differences.ts'
import { type HistoryItem, toEntries } from './items.ts'
import { declarationsIn, readChoice, readTools, toJsonText } from './read.ts'
import { type DoctorVendor, type Keep, systemItems, type VendorForm, vendorForms } from './vendors.ts'

/** `message` is the vendor's own wording. */
export type Finding = { rule: string; message: string; param?: string | null }
export type RepairCheck = (body: JsonObject) => readonly Finding[]

export type Repaired = {
  body: JsonObject
  /** One sentence per difference, in order. */
  changes: string[]
  /** Findings that no repair could resolve. */
  left: readonly Finding[]
}

export function repair(vendor: DoctorVendor, given: JsonObject, check: RepairCheck): Repaired {
  const left = check(given)
  if (left.length === 0) return { body: given, changes: [], left }
  const form = vendorForms[vendor]
  const isSound = (body: JsonObject): boolean => check(body).length === 0
  for (const fresh of encodings(form, given)) {
    if (!isSound(fresh)) continue
    const isWhole = keepsContent(form, given, fresh)
    const body = leastChange(form, given, fresh, each => isSound(each) && isWhole(each))
    return { body, changes: differences(given, body), left: [] }
  }
  return { body: given, changes: [], left }
}

// ---- encoding anew -----------------------------------------------------------------------------------------

/** First with the vendor's own blocks and settings, then without those that it may refuse. */
function* encodings(form: VendorForm, given: JsonObject): Generator<JsonObject> {
  const kept = settings(given)
  const ways: [hasArtifacts: boolean, settings: JsonObject][] = [
    [true, kept],
    [false, kept],
    [false, {}],
  ]
  for (const [hasArtifacts, body] of ways) {
    const fresh = encode(form, given, hasArtifacts, body)
    if (fresh !== undefined) yield fresh
  }
}

/** Undefined if nothing of the history can be read, or only blocks that the vendor alone understands. */
function encode(
  form: VendorForm,
  given: JsonObject,
  hasArtifacts: boolean,
  body: JsonObject,
): JsonObject | undefined {
  const origin = { protocol: form.protocol.name, family: 'doctor' }
  const list = given[form.list]
  const items = historyItems(form, list, data => (hasArtifacts ? { origin, data } : undefined))
  const isOwnBlock = (item: HistoryItem): boolean => item.kind === 'said' && item.part.type !== 'text'
  if (items.every(isOwnBlock) && listObjects(list).length > 0) return undefined
  const { tools, hosted } = readTools(given['tools'])
  const limits = [given['max_tokens'], given['max_completion_tokens'], given['max_output_tokens']]
  const maxTokens = limits.find(limit => typeof limit === 'number')
  const prepared = form.protocol.prepare(
    {
      session: '',
      system: systemText(form, given),
      history: toEntries(items, origin),
      tools,
      choice: readChoice(given['tool_choice'], tools),
      parallel: true,
      ...(maxTokens !== undefined && { maxTokens }),
      options: {},
    },
    {
      model: asString(given['model']) || form.model,
      family: origin.family,
      maxTokens: 0,
      body,
      hosted: hasArtifacts ? hosted : [],
      quirks: new Set(['no-cache-marks']),
      stateful: false,
    },
  )
  const fields = Object.entries(asObject(JSON.parse(prepared.body))).filter(([key]) => !TRANSPORT.has(key))
  return Object.fromEntries(fields.map(([key, value]) => [spelledAs(given, key), value]))
}

/** Fields that are about the transport, not about the history. */
const TRANSPORT = new Set(['stream', 'stream_options', 'store', 'include'])

function historyItems(form: VendorForm, list: Json | undefined, keep: Keep): HistoryItem[] {
  if (Array.isArray(list)) return listObjects(list).flatMap(element => form.items(element, keep))
  return list === undefined || list === null
    ? []
    : [{ kind: 'input', part: { type: 'text', text: toJsonText(list) } }]
}

function systemText(form: VendorForm, body: JsonObject): string {
  const key = form.system && spelledAs(body, form.system)
  const texts = systemItems(key === undefined ? undefined : body[key])
  return texts.map(item => (item.kind === 'system' ? item.text : '')).join('\n\n')
}

/** Google's APIs accept camelCase and snake_case. */
function spelledAs(given: JsonObject, key: string): string {
  const snake = key.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
  return Object.hasOwn(given, snake) ? snake : key
}

/** The form of the answer without strictness, and settings without a choice of tools. */
function settings(given: JsonObject): JsonObject {
  const kept: JsonObject = {}
  for (const key of ['text', 'response_format', 'generation_config', 'generationConfig'])
    if (isJsonObject(given[key])) kept[key] = loosened(given[key])
  return kept
}

function loosened(value: Json): Json {
  if (!isJsonObject(value)) return value
  const { tool_choice: _, ...fields } = value
  return Object.fromEntries(
    Object.entries(fields).map(([key, each]) => [key, key === 'strict' ? false : loosened(each)]),
  )
}

// ---- taking changes back -----------------------------------------------------------------------------------

/** Fields that stay or change together, or a run of elements of a list, as it was and as it was encoded anew. */
type RepairChange = { fields: readonly string[] } | { list: string; old: Json[]; fresh: Json[] }

/** In one of these a request says how long an answer may be. */
const LIMITS = ['max_tokens', 'max_completion_tokens', 'max_output_tokens']

function leastChange(
  form: VendorForm,
  given: JsonObject,
  fresh: JsonObject,
  isRight: (body: JsonObject) => boolean,
): JsonObject {
  const fields = fieldChanges(form, given, fresh)
  const changes = [...fields, ...listChanges(form, given, fresh)]
  let isOld = changes.map(() => false)
  const takeBack = (from: number, to: number): void => {
    const tried = isOld.map((is, at) => is || (at >= from && at < to))
    if (isRight(assembled(given, fresh, changes, tried))) isOld = tried
    else if (to - from > 1) {
      const middle = (from + to) >> 1
      takeBack(from, middle)
      takeBack(middle, to)
    }
  }
  takeBack(0, fields.length)
  takeBack(fields.length, changes.length)
  return assembled(given, fresh, changes, isOld)
}

const isListField = (form: VendorForm, given: JsonObject, fresh: JsonObject, key: string): boolean =>
  (key === form.list || key === 'tools') && Array.isArray(given[key]) && Array.isArray(fresh[key])

function fieldChanges(form: VendorForm, given: JsonObject, fresh: JsonObject): RepairChange[] {
  // Stand-ins for tools that are gone come with a choice that forbids to call them.
  const isStandIn = listObjects(given['tools']).length === 0 && fresh['tools'] !== undefined
  const groups = [LIMITS, ...(isStandIn ? [['tools', 'tool_choice', 'generation_config']] : [])]
  // Instructions that were moved out of the list would be lost without their new place.
  const isMoved = form.system !== undefined && systemText(form, given) !== systemText(form, fresh)
  const placed = new Set([...groups.flat(), ...(isMoved ? [spelledAs(given, form.system ?? '')] : [])])
  const single = [...new Set([...Object.keys(given), ...Object.keys(fresh)])].filter(
    key => !placed.has(key) && !isListField(form, given, fresh, key),
  )
  return [...groups, ...single.map(key => [key])].map(fields => ({ fields }))
}

/** Elements are compared by their content. */
function listChanges(form: VendorForm, given: JsonObject, fresh: JsonObject): RepairChange[] {
  return ['tools', form.list].flatMap(list => {
    const [old, other] = [given[list], fresh[list]]
    if (!Array.isArray(old) || !Array.isArray(other)) return []
    const meaning = list === 'tools' ? toolMeaning : (element: Json): string => elementMeaning(form, element)
    return alignedRuns(old.map(meaning), other.map(meaning)).map(run => ({
      list,
      old: run.old.map(at => old[at] ?? null),
      fresh: run.fresh.map(at => other[at] ?? null),
    }))
  })
}

function toolMeaning(tool: Json): string {
  const { type, name } = asObject(tool)
  const names = declarationsIn(asObject(tool))?.map(each => each.name)
  return JSON.stringify(names ?? [type, name])
}

const elementMeaning = (form: VendorForm, element: Json): string => meanings(form, [element]).join()

/** The content of elements as texts to compare, without ids and artifacts. */
function meanings(form: VendorForm, list: Json | undefined): string[] {
  const items = historyItems(form, list, () => undefined)
  return items.map(item => JSON.stringify({ ...item, id: '' }))
}

/** Whether a body still has all content that was given and encoded: no moved message may be lost. */
function keepsContent(form: VendorForm, given: JsonObject, fresh: JsonObject): (body: JsonObject) => boolean {
  const count = (body: JsonObject): Map<string, number> => counted(meanings(form, body[form.list]))
  const [before, after] = [count(given), count(fresh)]
  return body => {
    const found = count(body)
    const isThere = (meaning: string, times: number): boolean => (found.get(meaning) ?? 0) >= times
    return [...before].every(([meaning, times]) => isThere(meaning, Math.min(times, after.get(meaning) ?? 0)))
  }
}

function counted(values: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return counts
}

function assembled(
  given: JsonObject,
  fresh: JsonObject,
  changes: readonly RepairChange[],
  isOld: readonly boolean[],
): JsonObject {
  const chosen: JsonObject = { ...fresh }
  const lists = new Map<string, Json[]>()
  for (const [at, change] of changes.entries()) {
    if ('list' in change) {
      const list = lists.get(change.list) ?? []
      list.push(...(isOld[at] === true ? change.old : change.fresh))
      lists.set(change.list, list)
    } else if (isOld[at] === true)
      for (const key of change.fields) {
        const value = given[key]
        if (value === undefined) delete chosen[key]
        else chosen[key] = value
      }
  }
  for (const [key, list] of lists)
    if (key === 'tools' && list.length === 0) delete chosen[key]
    else chosen[key] = list
  // In the order of the given body.
  const keys = new Set([...Object.keys(given), ...Object.keys(chosen)])
  return Object.fromEntries([...keys].flatMap(key => (chosen[key] === undefined ? [] : [[key, chosen[key]]])))
}
