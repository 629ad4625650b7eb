// The records of a store in memory.
import type { KeptRecord, NewRecord, RecordStore } from '../engine/ports/index.ts'
import { changedRecord, pageBefore, recordPage } from './record-rows.ts'

/** Its methods are fields, as those of the store are. */
export class MemoryRecords implements RecordStore {
  readonly #all = new Map<string, KeptRecord>()

  addAll(records: readonly NewRecord[]): void {
    for (const record of records) {
      const key = recordKey(record.kind, record.name)
      if (!this.#all.has(key)) this.#all.set(key, { ...record, version: 1 })
    }
  }

  removeOf(session: string): void {
    for (const [key, record] of this.#all) if (record.session === session) this.#all.delete(key)
  }

  readonly add: RecordStore['add'] = async record => {
    const isNew = !this.#all.has(recordKey(record.kind, record.name))
    this.addAll([record])
    return isNew
  }

  readonly change: RecordStore['change'] = async (kept, to) => {
    if (!this.#isCurrent(kept)) return undefined
    const changed = changedRecord(kept, to)
    this.#all.set(recordKey(kept.kind, kept.name), changed)
    return changed
  }

  readonly remove: RecordStore['remove'] = async kept =>
    this.#isCurrent(kept) && this.#all.delete(recordKey(kept.kind, kept.name))

  readonly find: RecordStore['find'] = async (kind, name) => this.#all.get(recordKey(kind, name))

  readonly list: RecordStore['list'] = async page => {
    const { at, name, rows } = pageBefore(page)
    const isBefore = (one: KeptRecord): boolean => one.at < at || (one.at === at && one.name < name)
    const found = this.#of(page.kind)
      .filter(isBefore)
      .sort((one, two) => two.at - one.at || (two.name < one.name ? -1 : 1))
    return recordPage(found.slice(0, rows), page.limit)
  }

  readonly due: RecordStore['due'] = async (kind, limit) =>
    this.#of(kind)
      .filter(({ dueAt }) => dueAt !== undefined)
      .sort((one, two) => (one.dueAt ?? 0) - (two.dueAt ?? 0) || (one.name < two.name ? -1 : 1))
      .slice(0, limit)

  #of(kind: string): KeptRecord[] {
    return [...this.#all.values()].filter(record => record.kind === kind)
  }

  #isCurrent({ kind, name, version }: KeptRecord): boolean {
    return this.#all.get(recordKey(kind, name))?.version === version
  }
}

function recordKey(kind: string, name: string): string {
  return JSON.stringify([kind, name])
}
