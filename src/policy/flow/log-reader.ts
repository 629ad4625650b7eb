// Reads the log of a session: whether untrusted text stands in it, which tools the model named before, and the index of what is
// known, once it is needed. Each entry is read once.
import type { FlowLog } from '../../engine/ports/flow.ts'
import { isSpoken } from '../../language/content.ts'
import { planActionsName, summaryQuestion } from '../../language/flow.ts'
import { type Entry, listCalls } from '../../language/history.ts'
import { isJsonObject } from '../../lib/json/index.ts'
import { fold } from './fold.ts'
import { type Labels, resolveLabels } from './labels.ts'
import { type IndexOptions, LogIndex } from './log-index.ts'
import { callArguments, hasRun, isTrustedResult } from './read-outcome.ts'
import { eachLeaf } from './records.ts'

const undeclared: ReadonlyMap<string, undefined> = new Map()

/** How far a session's log was read. `index`: once it was needed. */
export class LogReader {
  readonly #options: IndexOptions
  /** Untrusted text was read. */
  tainted = false
  #declared: Map<string, ReadonlySet<string> | undefined> | undefined
  #scanned = 0
  #view: readonly Entry[] | undefined
  #index: LogIndex | undefined
  #indexed = 0

  constructor(options: IndexOptions) {
    this.#options = options
  }

  /** The tools that the model named before that, and the values that it named for them, if it did. */
  get declared(): ReadonlyMap<string, ReadonlySet<string> | undefined> {
    return this.#declared ?? undeclared
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
        if (hasRun(outcome) && !isTrustedResult(labelsFor(log, name, this.#options), outcome))
          this.tainted = true
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
      this.#declared ??= new Map()
      const before = this.#declared.get(name)
      const named = [...eachLeaf(own)].map(leaf => fold(String(leaf.value)))
      this.#declared.set(name, own === undefined ? before : new Set([...(before ?? []), ...named]))
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
      addEntry(this.#index, log, log.entries, this.#indexed, this.#options, read)
    return this.#index
  }

  /** Entries that only the view has: those of a client that changed the history. */
  #addForeign(log: FlowLog, index: LogIndex): void {
    if (log.view === log.entries) return
    const own = new Set(log.entries)
    for (let at = 0; at < log.view.length; at += 1)
      if (!own.has(log.view[at] as Entry)) addEntry(index, log, log.view, at, this.#options)
  }
}

function isSummary(entries: readonly Entry[], at: number): boolean {
  const before = entries[at - 1]
  if (before?.role !== 'user') return false
  const [only] = before.parts
  return before.parts.length === 1 && only?.type === 'text' && only.text === summaryQuestion
}

/** Undefined: nobody can say which labels the tool had that gave a result. */
export function labelsFor(log: FlowLog, name: string, { findEarlier }: IndexOptions): Labels | undefined {
  const earlier = findEarlier(name)
  if (earlier === 'disputed') return undefined
  const tool = log.find(name) ?? earlier
  return tool && resolveLabels(tool)
}

/** `read`: the entries that the model still reads; absent: all of them. */
function addEntry(
  index: LogIndex,
  log: FlowLog,
  entries: readonly Entry[],
  at: number,
  options: IndexOptions,
  read?: ReadonlySet<Entry>,
): void {
  const entry = entries[at]
  if (!entry) return
  const isRead = read?.has(entry) ?? true
  if (entry.role === 'user') index.addUser(entry, isRead, log.parent !== undefined)
  else if (entry.role === 'system' && isRead) index.addOperator(entry.text)
  else if (entry.role === 'tool') {
    const answer = entries[at - 1]
    const calls = answer?.role === 'assistant' ? listCalls(answer) : []
    for (const result of entry.results)
      index.addResult(
        calls.find(({ id }) => id === result.callId),
        result,
        labelsFor(log, result.name, options),
        isRead,
      )
  }
}
