// What a session's log says about values: what the user said, what trusted tools found, which things were named or made,
// what a person approved, and which results outsiders wrote. It is made when it is first needed, grows with new results
// only, and is bounded: a value beyond a bound has no warrant. It reads the log and labels, so that any copy of the log
// gives the same.
import type { CallPart, CallResult, Outcome } from '../../language/calls.ts'
import { isUsers } from '../../language/flow.ts'
import type { UserEntry } from '../../language/history.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import { isJsonObject, type Json } from '../../lib/json/index.ts'
import { isEqual, moneyFields, wholeInput } from './arguments.ts'
import { chooses, numbersIn, toNumber, withoutEcho } from './echo.ts'
import { fold } from './fold.ts'
import { fieldName, type Labels } from './labels.ts'
import {
  callArguments,
  hasRun,
  isApproved,
  isTrustedResult,
  resultData,
  resultText,
  statedIntegrity,
} from './read-outcome.ts'
import { eachLeaf, eachSwitch, findId, isOne, namesIn, Records, thingsIn } from './records.ts'
import { type Day, readMoment } from './times.ts'
import { Words } from './words.ts'

/** The call whose result holds something. `number`: how many calls there were up to it. */
export type Source = { call: string; tool: string; number: number; uri?: string; outcome: Outcome }

/** In an agent's instructions. */
const namedToday =
  /(?<!\p{L})(?:today(?:['’]s date)?|current (?:date|day|time))(?!\p{L})[^\d\n]{0,20}(\d{4}-\d{2}-\d{2})/u

const most = { values: 50_000, sources: 10_000, approved: 20_000 }

export type IndexOptions = {
  isInsider: (tool: string) => boolean
  /** A tool of this name of an agent that gave the conversation to this one. `disputed`: there are two, with other labels. */
  findEarlier: (tool: string) => ToolDeclaration | 'disputed' | undefined
}
/** What is trusted before anything happens. `user`: words that another index holds too. */
type Trusted = { system?: string; said?: readonly string[]; user?: Words }

export class LogIndex {
  readonly user: Words
  readonly records = new Records()
  // Most sessions need none of these: each is made when something is put into it.
  #lookups: Map<string, Source> | undefined
  /** Their own ids, by which they may be looked up again: other values of theirs lead to other things. */
  #foundIds: Set<string> | undefined
  #amounts: Map<number, Set<string>> | undefined
  #created: Map<string, Set<string>> | undefined
  #approved: Set<string> | undefined
  #approvedTools: Set<string> | undefined
  #operator: Words | undefined
  #trusted: Words | undefined
  #confidential: Words | undefined
  #unread: { call: CallPart | undefined; outcome: Outcome; isPrivate: boolean }[] | undefined
  /** Results that outsiders wrote, newest last. */
  readonly untrusted: Source[] = []
  /** Null: the instructions name none. */
  #today: Day | null | undefined
  readonly #system: string | undefined
  #calls = 0
  readonly #options: IndexOptions

  constructor(options: IndexOptions, { system, said = [], user = new Words() }: Trusted = {}) {
    this.#options = options
    this.user = user
    this.#system = system
    if (system !== undefined) this.addOperator(system)
    for (const words of said) this.user.add(words)
  }

  get operator(): Words {
    return this.#operator ?? nothing.words
  }

  addOperator(text: string): void {
    this.#operator ??= new Words()
    this.#operator.add(text)
  }

  /** As a trusted tool gave it last, or as it stands in the instructions. */
  get today(): Day | undefined {
    if (this.#today === undefined) {
      const [, day = ''] = namedToday.exec(fold(this.#system ?? '')) ?? []
      this.#today = readMoment(day)?.day ?? null
    }
    return this.#today ?? undefined
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

  /** Tools of which a person approved a call. */
  get approvedTools(): ReadonlySet<string> {
    return this.#approvedTools ?? nothing.approved
  }

  /** Ids of things that this turn made, by kind. */
  get created(): ReadonlyMap<string, ReadonlySet<string>> {
    return this.#created ?? nothing.created
  }

  /** `isRead`: the model still reads it; otherwise nothing in it is a warrant any more. `isTask`: another agent wrote it. */
  addUser(entry: UserEntry, isRead: boolean, isTask: boolean): void {
    this.#created = undefined
    if (!isRead || isTask) return
    for (const part of entry.parts) if (isUsers(part)) this.user.add(part.text)
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
    this.#approvedTools ??= new Set()
    this.#approvedTools.add(call.name)
    for (const { path, value } of [...eachLeaf(input, undefined, '', ''), ...eachSwitch(input)])
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
    let isGiven: boolean | undefined
    for (const thing of thingsIn(data)) {
      for (const { field, value } of eachLeaf(thing)) {
        if (typeof value !== 'number' || !isClosed(field)) continue
        own ??= numbersIn(call)
        isGiven ??= this.#takesAmount(call, labels)
        if (!isGiven && !own.has(value)) this.#addAmount(value, field)
      }
      if (record === undefined) continue
      const id = findId(thing, record, isClosed)
      if (id === undefined) continue
      this.records.add(record, id, namesIn(thing))
      if (creates && isRead) this.#create(record, id)
    }
  }

  /** The call was given an amount that is neither the user's nor the system's: what is computed from it is the model's choice. */
  #takesAmount(call: CallPart | undefined, { args }: Labels): boolean {
    const named = [...args].flatMap(([name, role]) => (role === 'amount' ? [fieldName(name)] : []))
    return [...eachLeaf(call && callArguments(call))].some(({ field, path, value }) => {
      if (!moneyFields.has(field) && !named.includes(path.split('.')[0] ?? '')) return false
      const amount = toNumber(value)
      return !this.user.hasAmount(amount, [field]) && !this.amounts.has(amount)
    })
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

  /** Results of trusted tools that are for everybody. */
  get trusted(): Words {
    this.#readResults()
    return this.#trusted ?? nothing.words
  }

  /** Results of trusted tools that read what is not for everybody. */
  get confidential(): Words {
    this.#readResults()
    return this.#confidential ?? nothing.words
  }

  /** Few calls need them, so they are read when one does. Words of the call itself come back in many results: they are no more trusted. */
  #readResults(): void {
    if (!this.#unread) return
    for (const { call, outcome, isPrivate } of this.#unread) {
      const text = withoutEcho(call, outcome)
      if (isPrivate) {
        this.#confidential ??= new Words()
        this.#confidential.add(text)
      } else {
        this.#trusted ??= new Words()
        this.#trusted.add(text)
      }
    }
    this.#unread = undefined
  }

  #addTrusted(call: CallPart | undefined, data: Json | undefined, labels: Labels, source: Source): void {
    const { outcome } = source
    this.#unread ??= []
    if (this.#unread.length < most.sources) this.#unread.push({ call, outcome, isPrivate: labels.private })
    if (labels.acts || this.lookups.size > most.values) return
    const input = withoutDefaults(call && callArguments(call), labels)
    const keys = [...eachLeaf(input)].filter(({ value }) => value !== '')
    if (keys.length === 0) {
      const text = resultText(outcome)
      const alone = text.length < 40 ? readMoment(fold(text)) : undefined
      if (alone?.day) this.#today = alone.day
      return
    }
    if (chooses(input, labels)) return
    if (keys.every(({ field, value }) => this.#isKey(value, field))) this.#addLookup(data, labels, source)
  }

  #isKey(value: string | number, field: string): boolean {
    const folded = fold(String(value))
    // A short one may be a count as well.
    if (this.#foundIds?.has(folded) && (!/^\d{1,4}$/.test(folded) || field.endsWith('id'))) return true
    if (typeof value === 'number')
      return this.user.hasNumber(value, [field], field.endsWith('id') ? 'id' : 'any')
    if (this.user.hasValue(folded, [field])) return true
    const moment = readMoment(folded)
    return moment !== undefined && moment.offset === undefined && this.user.hasMoment(moment, this.today)
  }

  /** Only an answer that is the only one is what the user meant. */
  #addLookup(data: Json | undefined, { outsiders, record }: Labels, source: Source): void {
    const things = thingsIn(data)
    if (things.length > 1 || (Array.isArray(data) && data.length !== 1)) return
    const [thing] = things
    const text = fold(resultText(source.outcome))
    const id = thing
      ? findId(thing, record, field => !outsiders?.has(field))
      : /^\S*[\d@]\S*$/.exec(text)?.[0]
    if (id !== undefined) {
      this.#foundIds ??= new Set()
      this.#foundIds.add(id)
    }
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

function withoutDefaults(input: Json | undefined, { defaults }: Labels): Json | undefined {
  if (!isJsonObject(input) || defaults.size === 0) return input
  const given = Object.entries(input).filter(
    ([name, value]) => !defaults.has(name) || !isEqual(defaults.get(name), value),
  )
  return Object.fromEntries(given)
}

const nothing = {
  lookups: new Map<string, Source>(),
  amounts: new Map<number, Set<string>>(),
  created: new Map<string, Set<string>>(),
  approved: new Set<string>(),
  words: new Words(),
} as const

/** A short value counts only for the same argument of the same tool. `path`: with or without places in lists. */
export function approvedKeys(tool: string, path: string, value: string | number | boolean): string[] {
  const folded = fold(String(value))
  const fields = path
    .replace(/\[\d+\]/g, '')
    .split('.')
    .map(fieldName)
  const own = `${tool}\0${fields.join('.')}\0${folded}`
  return folded.length >= 6 && typeof value === 'string' ? [own, folded] : [own]
}
