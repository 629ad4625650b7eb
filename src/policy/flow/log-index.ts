// What a session's log says about values: what the user said, what trusted tools found, which things were named or made,
// what a person approved, and which results outsiders wrote. It is made when it is first needed, grows with new results
// only, and is bounded: a value beyond a bound has no warrant. It reads the log and labels, so that any copy of the log
// gives the same.
import type { FlowLog } from '../../engine/ports/flow.ts'
import type { CallPart, CallResult, Outcome } from '../../language/calls.ts'
import type { InputPart, TextPart } from '../../language/content.ts'
import { planActionsName, summaryQuestion } from '../../language/flow.ts'
import { type Entry, listCalls } from '../../language/history.ts'
import { isJsonObject, type Json } from '../../lib/json/index.ts'
import { wholeInput } from './arguments.ts'
import { chooses, numbersIn, withoutEcho } from './echo.ts'
import { fold } from './fold.ts'
import { fieldName, type Labels, resolveLabels } from './labels.ts'
import { callArguments, hasRun, isApproved, resultData, resultText, statedIntegrity } from './read-outcome.ts'
import { eachLeaf, findId, isOne, namesIn, Records, thingsIn } from './records.ts'
import { type Day, readMoment } from './times.ts'
import { Words } from './words.ts'

/** The call whose result holds something. `number`: how many calls there were up to it. */
export type Source = { call: string; tool: string; number: number; uri?: string; outcome: Outcome }

/** In an agent's instructions. */
const namedToday =
  /(?<!\p{L})(?:today(?:['’]s date)?|current (?:date|day|time))(?!\p{L})[^\d\n]{0,20}(\d{4}-\d{2}-\d{2})/u

const most = { values: 50_000, sources: 10_000, approved: 20_000 }

export type IndexOptions = { isInsider(tool: string): boolean }
/** What is trusted before anything happens. `user`: words that another index holds too. */
type Trusted = { system?: string; said?: readonly string[]; user?: Words }

export class LogIndex {
  readonly user: Words
  readonly operator = new Words()
  readonly records = new Records()
  // Most sessions need none of these: each is made when something is put into it.
  #lookups: Map<string, Source> | undefined
  #amounts: Map<number, Set<string>> | undefined
  #created: Map<string, Set<string>> | undefined
  #approved: Set<string> | undefined
  readonly #trusted = new Words()
  #unread: { call: CallPart | undefined; outcome: Outcome }[] = []
  /** Results that outsiders wrote, newest last. */
  readonly untrusted: Source[] = []
  today: Day | undefined
  #calls = 0
  readonly #options: IndexOptions

  constructor(options: IndexOptions, { system, said = [], user = new Words() }: Trusted = {}) {
    this.#options = options
    this.user = user
    if (system !== undefined) {
      this.operator.add(system)
      const [, day = ''] = namedToday.exec(fold(system)) ?? []
      this.today = readMoment(day)?.day
    }
    for (const words of said) this.user.add(words)
  }

  /** By folded value: what a trusted tool found under a key of the user's. */
  get lookups(): ReadonlyMap<string, Source> {
    return this.#lookups ?? nothing.lookups
  }

  /** By amount: the fields that only the system fills in which it stands. */
  get amounts(): ReadonlyMap<number, ReadonlySet<string>> {
    return this.#amounts ?? nothing.amounts
  }

  get approved(): ReadonlySet<string> {
    return this.#approved ?? nothing.approved
  }

  /** Ids of things that this turn made, by kind. */
  get created(): ReadonlyMap<string, ReadonlySet<string>> {
    return this.#created ?? nothing.created
  }

  /** `isRead`: the model still reads it; otherwise nothing in it is a warrant any more. `isTask`: another agent wrote it. */
  addUser(entry: Extract<Entry, { role: 'user' }>, isRead: boolean, isTask: boolean): void {
    this.#created = undefined
    if (!isRead || isTask) return
    for (const part of entry.parts) if (isSpoken(part)) this.user.add(part.text)
  }

  addResult(
    call: CallPart | undefined,
    result: CallResult,
    labels: Labels | undefined,
    isRead: boolean,
  ): void {
    this.#calls += 1
    const { outcome, callId, name } = result
    if (call && isRead && isApproved(outcome)) this.#approve(call)
    if (!hasRun(outcome)) return
    const uri = outcome.provenance?.sources?.[0]?.uri
    const source: Source = { call: callId, tool: name, number: this.#calls, outcome, ...(uri && { uri }) }
    const isTrusted = isTrustedResult(labels, outcome)
    if (!isTrusted) this.#addUntrusted(source)
    if (!labels || outcome.kind !== 'ok') return
    const data = resultData(outcome)
    this.#addThings(call, data, labels, isTrusted, isRead)
    if (!isRead) return
    if (this.#options.isInsider(name) && statedIntegrity(outcome) !== 'untrusted')
      this.user.add(withoutEcho(call, outcome))
    // Which tools there are, and what the model planned, is no fact about the world.
    if (isTrusted && !labels.isAboutTools) this.#addTrusted(call, data, labels, source)
  }

  #approve(call: CallPart): void {
    const input = callArguments(call)
    if (this.approved.size > most.approved) return
    for (const { path, value } of eachLeaf(input, undefined, '', ''))
      for (const key of approvedKeys(call.name, path || wholeInput, value)) {
        this.#approved ??= new Set()
        this.#approved.add(key)
      }
  }

  #addUntrusted(source: Source): void {
    if (this.untrusted.length >= most.sources) this.untrusted.splice(0, most.sources / 2)
    this.untrusted.push(source)
  }

  #addThings(
    call: CallPart | undefined,
    data: Json | undefined,
    labels: Labels,
    isTrusted: boolean,
    isRead: boolean,
  ): void {
    const { outsiders, record, creates } = labels
    if (!isTrusted && !outsiders) return
    const isClosed = (field: string): boolean => !outsiders?.has(field)
    let own: ReadonlySet<number> | undefined
    for (const thing of thingsIn(data)) {
      for (const { field, value } of eachLeaf(thing)) {
        if (typeof value !== 'number' || !isClosed(field)) continue
        own ??= numbersIn(call)
        if (!own.has(value)) this.#addAmount(value, field)
      }
      if (record === undefined) continue
      const id = findId(thing, record, isClosed)
      if (id === undefined) continue
      this.records.add(record, id, namesIn(thing))
      if (creates && isRead) this.#create(record, id)
    }
  }

  #addAmount(value: number, field: string): void {
    this.#amounts ??= new Map()
    const fields = this.#amounts.get(value)
    if (fields) fields.add(field)
    else if (this.#amounts.size < most.values) this.#amounts.set(value, new Set([field]))
  }

  #create(kind: string, id: string): void {
    this.#created ??= new Map()
    const ids = this.#created.get(kind) ?? new Set()
    ids.add(id)
    this.#created.set(kind, ids)
  }

  /**
   * Results of trusted tools. Words of the call itself come back in many results: they are no more trusted for that. Few calls
   * need them, so they are read when one does.
   */
  get trusted(): Words {
    for (const { call, outcome } of this.#unread) this.#trusted.add(withoutEcho(call, outcome))
    this.#unread = []
    return this.#trusted
  }

  #addTrusted(call: CallPart | undefined, data: Json | undefined, labels: Labels, source: Source): void {
    const { outcome } = source
    if (this.#unread.length < most.sources) this.#unread.push({ call, outcome })
    if (labels.acts || this.lookups.size > most.values) return
    const input = call && callArguments(call)
    const keys = [...eachLeaf(input)].filter(({ value }) => value !== '')
    if (keys.length === 0) {
      const text = resultText(outcome)
      const alone = text.length < 40 ? readMoment(fold(text)) : undefined
      if (alone?.day) this.today = alone.day
      return
    }
    if (chooses(input, labels)) return
    if (keys.every(({ field, value }) => this.#isKey(value, field))) this.#addLookup(data, labels, source)
  }

  #isKey(value: string | number, field: string): boolean {
    if (typeof value === 'number') return this.user.hasNumber(value, [field])
    const folded = fold(value)
    return this.user.hasText(folded, [field]) || this.lookups.has(folded)
  }

  /** Only an answer that is the only one is what the user meant. */
  #addLookup(data: Json | undefined, { outsiders }: Labels, source: Source): void {
    const things = thingsIn(data)
    if (things.length > 1 || (Array.isArray(data) && data.length !== 1)) return
    const found =
      data === undefined ? [{ field: '', value: resultText(source.outcome) }] : eachLeaf(data, isOne)
    for (const { field, value } of found) {
      if (outsiders?.has(field)) continue
      const key = fold(String(value))
      if (key === '' || this.lookups.has(key)) continue
      this.#lookups ??= new Map()
      this.#lookups.set(key, source)
    }
  }
}

const nothing = {
  lookups: new Map<string, Source>(),
  amounts: new Map<number, Set<string>>(),
  created: new Map<string, Set<string>>(),
  approved: new Set<string>(),
} as const

/** A short value counts only for the same argument of the same tool. `path`: with or without places in lists. */
export function approvedKeys(tool: string, path: string, value: string | number): string[] {
  const folded = fold(String(value))
  const fields = path
    .replace(/\[\d+\]/g, '')
    .split('.')
    .map(fieldName)
  const own = `${tool}\0${fields.join('.')}\0${folded}`
  return folded.length >= 6 && typeof value === 'string' ? [own, folded] : [own]
}

export function isTrustedResult(labels: Labels | undefined, outcome: Outcome): boolean {
  if (!labels) return false
  const stated = statedIntegrity(outcome)
  if (stated === 'untrusted') return false
  return labels.trusted || (labels.stated && stated === 'trusted')
}

// ---- the log -------------------------------------------------------------------------------------------------------

/** How far a session's log was read. `index`: once it was needed. */
export class LogReader {
  readonly #options: IndexOptions
  /** Untrusted text was read. */
  tainted = false
  /** The tools that the model named before that, and the values that it named for them, if it did. */
  readonly declared = new Map<string, ReadonlySet<string> | undefined>()
  #scanned = 0
  #view: readonly Entry[] | undefined
  #index: LogIndex | undefined
  #indexed = 0

  constructor(options: IndexOptions) {
    this.#options = options
  }

  /** Looks at new entries, for no more than whether outsiders wrote something in them. */
  scan(log: FlowLog): void {
    if (log.parent?.tainted) this.tainted = true
    if (this.#view !== log.view) this.#changedView(log)
    for (; this.#scanned < log.entries.length; this.#scanned += 1)
      this.#scanEntry(log, log.entries, this.#scanned)
  }

  /** The view was replaced: a summary or a client's own history may stand in it. */
  #changedView(log: FlowLog): void {
    this.#view = log.view
    this.#index = undefined
    if (log.view === log.entries) return
    const own = new Set(log.entries)
    for (let at = 0; at < log.view.length; at += 1)
      if (!own.has(log.view[at] as Entry)) this.#scanEntry(log, log.view, at)
  }

  #scanEntry(log: FlowLog, entries: readonly Entry[], at: number): void {
    const entry = entries[at]
    if (!entry) return
    if (entry.role === 'tool') {
      for (const { callId, name, outcome } of entry.results) {
        if (name === planActionsName && !this.tainted && outcome.kind === 'ok')
          this.#declare(entries[at - 1], callId)
        if (hasRun(outcome) && !isTrustedResult(labelsFor(log, name), outcome)) this.tainted = true
      }
    } else if (entry.role === 'assistant') {
      // A vendor's own tool read something, or the model wrote down what tools had returned.
      if (entry.parts.some(part => part.type === 'hosted') || isSummary(entries, at)) this.tainted = true
    } else if (entry.role === 'user' && !entry.parts.every(isSpoken)) this.tainted = true
  }

  #declare(answer: Entry | undefined, callId: string): void {
    const call = answer?.role === 'assistant' ? listCalls(answer).find(({ id }) => id === callId) : undefined
    const plan = call && callArguments(call)
    if (!isJsonObject(plan)) return
    const { tools, values } = plan
    for (const { value } of eachLeaf(tools)) {
      const name = String(value)
      const own = isJsonObject(values) && Object.hasOwn(values, name) ? values[name] : undefined
      const before = this.declared.get(name) ?? []
      const named = [...eachLeaf(own)].map(leaf => fold(String(leaf.value)))
      this.declared.set(name, own === undefined ? this.declared.get(name) : new Set([...before, ...named]))
    }
  }

  /** The index of everything up to now. */
  read(log: FlowLog): LogIndex {
    if (!this.#index) {
      this.#index = new LogIndex(this.#options, {
        ...(log.system !== undefined && { system: log.system }),
        ...(log.parent && { said: log.parent.words }),
      })
      this.#indexed = 0
      this.#addForeign(log, this.#index)
    }
    if (this.#indexed === log.entries.length) return this.#index
    const read = log.view === log.entries ? undefined : new Set(log.view)
    for (; this.#indexed < log.entries.length; this.#indexed += 1)
      addEntry(this.#index, log, log.entries, this.#indexed, read)
    return this.#index
  }

  /** Entries that only the view has: those of a client that changed the history. */
  #addForeign(log: FlowLog, index: LogIndex): void {
    if (log.view === log.entries) return
    const own = new Set(log.entries)
    for (let at = 0; at < log.view.length; at += 1)
      if (!own.has(log.view[at] as Entry)) addEntry(index, log, log.view, at, undefined)
  }
}

/** Not what a file or a picture says that the user attached. */
function isSpoken(part: InputPart): part is TextPart {
  return part.type === 'text' && !part.attached
}

function isSummary(entries: readonly Entry[], at: number): boolean {
  const before = entries[at - 1]
  if (before?.role !== 'user') return false
  const [only] = before.parts
  return before.parts.length === 1 && only?.type === 'text' && only.text === summaryQuestion
}

function labelsFor(log: FlowLog, name: string): Labels | undefined {
  const tool = log.find(name)
  return tool && resolveLabels(tool)
}

/** `read`: the entries that the model still reads; absent: all of them. */
function addEntry(
  index: LogIndex,
  log: FlowLog,
  entries: readonly Entry[],
  at: number,
  read: ReadonlySet<Entry> | undefined,
): void {
  const entry = entries[at]
  if (!entry) return
  const isRead = read?.has(entry) ?? true
  if (entry.role === 'user') index.addUser(entry, isRead, log.parent !== undefined)
  else if (entry.role === 'system' && isRead) index.operator.add(entry.text)
  else if (entry.role === 'tool') {
    const answer = entries[at - 1]
    const calls = answer?.role === 'assistant' ? listCalls(answer) : []
    for (const result of entry.results)
      index.addResult(
        calls.find(({ id }) => id === result.callId),
        result,
        labelsFor(log, result.name),
        isRead,
      )
  }
}
