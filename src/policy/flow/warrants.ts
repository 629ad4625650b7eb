// The six rules. Each argument of a call that acts after untrusted text needs a warrant: a positive match with something
// trusted. Not to stand in untrusted text is no warrant: encodings and other spellings would pass.
import type { FlowOrigin } from '../../language/flow.ts'
import { type Argument, isMoneyField, listNouns } from './arguments.ts'
import { carriedBy } from './carried.ts'
import { fold, isDeceptive, wordsIn } from './fold.ts'
import { isSink, type Labels } from './labels.ts'
import { approvedKeys, type LogIndex, type Source } from './log-index.ts'
import { functionWords } from './said.ts'
import { type Moment, readMoment, readWrittenDay } from './times.ts'
import type { Words } from './words.ts'

/** `why` completes the value: "… is yours". */
export type Warrant = { origin: FlowOrigin; why: string; source?: Source }
/** `value`: the part of the argument that has no warrant. */
export type Missing = { value: string; why?: string }
export type Found = { argument: Argument; warrant: Warrant } | { argument: Argument; missing: Missing }

const yours: Warrant = { origin: 'user', why: 'in your words' }
const operators: Warrant = { origin: 'operator', why: "in the operator's instructions" }
const plain = (why: string): Warrant => ({ origin: 'plain', why })

export class Warrants {
  /** The log, and what the calls of the same program gave before. */
  readonly #indexes: readonly LogIndex[]
  readonly #tool: string
  readonly #labels: Labels
  readonly #hasApproved: boolean
  /** The values that the model named for this tool in time. Undefined: any of the user's. */
  readonly #planned: ReadonlySet<string> | undefined

  constructor(indexes: readonly LogIndex[], tool: string, labels: Labels, planned?: ReadonlySet<string>) {
    this.#planned = planned
    this.#indexes = indexes
    this.#tool = tool
    this.#labels = labels
    this.#hasApproved = indexes.some(({ approved }) => approved.size > 0)
  }

  judge(given: readonly Argument[]): Found[] {
    const { effect } = this.#labels
    const said = given.filter(({ value, role, isEmptied }) => value !== '' || role === 'secret' || isEmptied)
    const times = said.filter(argument => this.#isTime(argument))
    const sure = times.flatMap(argument => {
      const moment = readMoment(fold(String(argument.value)))
      return moment && this.#moment(moment) ? [moment] : []
    })
    const hasSink = said.some(({ role, isDefault }) => isSink(role, effect) && !isDefault)
    return said.map(argument => {
      const warrant = times.includes(argument) ? this.#time(argument, sure) : this.#one(argument, hasSink)
      return 'origin' in warrant ? { argument, warrant } : { argument, missing: warrant }
    })
  }

  /** Dates and times; also those of arguments that nobody labelled. */
  #isTime({ role, value }: Argument): boolean {
    if (role === 'when') return true
    const mayBe = role === undefined || role === 'value'
    return mayBe && typeof value === 'string' && readMoment(fold(value)) !== undefined
  }

  #one(argument: Argument, hasSink: boolean): Warrant | Missing {
    const { role, value, isDefault } = argument
    if (isDefault) return plain("the tool's default")
    const approved = this.#approved(argument)
    if (approved) return approved
    if (role === 'flag' && this.#isFlag(argument)) return plain('one of a few fixed values')
    if (isSink(role, this.#labels.effect)) return this.#ifPlanned(this.#sink(argument), argument)
    const text = String(value)
    if (role === 'query') return this.#unspoken(text) ?? plain('all of its words are yours')
    const carried = isRound(argument) ? undefined : this.#carried(text)
    if (carried || hasSink) return carried ?? plain('no link, address, code or long number in it')
    return this.#unknownWord(text) ?? plain('all of its words are known from trusted text')
  }

  /** One that the tool lists, or a short word or number, in which nothing can be sent. */
  #isFlag({ name, value }: Argument): boolean {
    if (typeof value === 'boolean' || this.#labels.choices.get(name)?.includes(value)) return true
    const text = String(value)
    return /^-?[\p{L}\p{N}_-]{1,32}$/u.test(text) && carriedBy(text).found.length === 0
  }

  #approved({ path, value }: Argument): Warrant | undefined {
    if (!this.#hasApproved) return undefined
    const keys = approvedKeys(this.#tool, path, value)
    const holds = this.#indexes.some(({ approved }) => keys.some(key => approved.has(key)))
    return holds ? { origin: 'approved', why: 'a person approved it before' } : undefined
  }

  /** The user's values for one thing are not put to another use. */
  #ifPlanned(found: Warrant | Missing, { value }: Argument): Warrant | Missing {
    if (!this.#planned || found !== yours || this.#planned.has(fold(String(value)))) return found
    return { value: String(value), why: 'which was not named for this tool before untrusted text was read' }
  }

  // ---- sinks -------------------------------------------------------------------------------------------------------

  #sink(argument: Argument): Warrant | Missing {
    const { value, role, kind } = argument
    const shown = String(value)
    if (typeof value === 'boolean') return { value: shown, why: 'a switch that you did not set' }
    if (typeof value === 'number') return this.#number(value, argument) ?? { value: shown }
    if (isDeceptive(value))
      return { value: shown, why: 'it holds characters that are hidden, or that look like others' }
    if (role === 'secret') {
      if (value !== '' && this.#indexes.some(({ user }) => user.hasSecret(value))) return yours
      return { value: shown }
    }
    const folded = fold(value)
    if (kind !== undefined && argument.field !== argument.name && folded === fold(kind))
      return plain('the kind of thing')
    const record = this.#record(folded, kind)
    if (record) return record
    if (isShortNumber(folded) && (role === 'amount' || String(Number(folded)) === folded))
      return this.#number(Number(folded), argument) ?? { value: shown }
    const amount = role === 'amount' && plainAmount.test(folded) && this.#number(Number(folded), argument)
    if (amount) return amount
    const nouns = listNouns(argument, this.#labels)
    // "100 dollars" in "1,100 dollars": the number has to be the user's too.
    const [size] = role === 'amount' ? (folded.match(/\d+(?:[.,]\d+)?/g) ?? ['']) : []
    if (size !== undefined && !this.#number(Number(size.replace(',', '.') || Number.NaN), argument))
      return { value: shown }
    const forms = role === 'path' ? pathForms(folded) : [folded]
    for (const { user } of this.#indexes) if (forms.some(form => user.hasValue(form, nouns))) return yours
    for (const { operator } of this.#indexes) if (operator.hasValue(folded, nouns)) return operators
    return this.#lookup(folded) ?? { value: shown, ...(value === '' && { why: 'it was left empty' }) }
  }

  #number(value: number, argument: Argument): Warrant | undefined {
    const { role, kind, name } = argument
    const nouns = listNouns(argument, this.#labels)
    const record = this.#record(fold(String(value)), kind)
    if (record) return record
    const isId = role === 'id' || kind !== undefined || /id$/i.test(name)
    const use = role === 'amount' ? 'amount' : isId ? 'id' : 'any'
    for (const { user, amounts } of this.#indexes) {
      if (user.hasNumber(value, nouns, use)) return yours
      // What nobody labelled may be an amount, if it can be nothing else.
      const mayBeMoney = role === 'amount' || role === undefined || role === 'value'
      if (mayBeMoney && user.hasAmount(value, nouns, role !== 'amount')) return yours
      const fields = role === 'amount' ? amounts.get(value) : undefined
      if (fields && [...fields].some(field => isMoneyField(field, name)))
        return { origin: 'system', why: 'an amount that only the system fills in' }
    }
    return value >= 10_000 ? this.#lookup(fold(String(value))) : undefined
  }

  #lookup(folded: string): Warrant | undefined {
    for (const { lookups } of this.#indexes) {
      const source = lookups.get(folded)
      if (source) return { origin: 'lookup', why: `found by \`${source.tool}\` under your words`, source }
    }
    return undefined
  }

  /** A thing that this turn made, or the only one of its kind that has a name which the user said. */
  #record(id: string, kind: string | undefined): Warrant | undefined {
    if (kind === undefined) return undefined
    for (const { created } of this.#indexes)
      if (created.get(kind)?.has(id))
        return { origin: 'record', why: `the ${kind} that was made in this turn` }
    for (const { records } of this.#indexes)
      for (const name of records.namesOf(kind, id))
        if (this.#indexes.every(other => isSameOrUnknown(other, kind, id, name)) && this.#isNamed(name, kind))
          return { origin: 'record', why: `the ${kind} that you named` }
    return undefined
  }

  #isNamed(name: string, kind: string): boolean {
    return !isDeceptive(name) && this.#indexes.some(({ user }) => user.hasName(name, kind))
  }

  // ---- dates and times -----------------------------------------------------------------------------------------------

  #time(argument: Argument, sure: readonly Moment[]): Warrant | Missing {
    const { value, isDefault } = argument
    if (isDefault) return plain("the tool's default")
    const approved = this.#approved(argument)
    if (approved) return approved
    const shown = String(value)
    const folded = fold(shown)
    const moment = readMoment(folded)
    if (!moment) return this.#writtenTime(folded) ?? this.#sink(argument)
    if (this.#moment(moment)) return yours
    if (!this.#knowsOffset(moment)) return { value: shown, why: 'of a time zone that you did not name' }
    if (sure.some(from => this.#indexes.some(({ user }) => user.hasDuration(from, moment))))
      return { origin: 'user', why: 'your time and how long you said' }
    return { value: shown }
  }

  /** As a person writes it, and not as a value: as the user wrote it, or the same day in another order. */
  #writtenTime(folded: string): Warrant | undefined {
    const day = readWrittenDay(folded)
    const isTheirs = this.#indexes.some(({ user }) => user.hasTime(folded))
    return isTheirs || (day && this.#moment({ day })) ? yours : undefined
  }

  #moment(moment: Moment): boolean {
    if (!this.#knowsOffset(moment)) return false
    return this.#indexes.some(({ user, today }) => user.hasMoment(moment, today))
  }

  /** A time in a zone that no trusted text names is another time. */
  #knowsOffset({ offset }: Moment): boolean {
    if (offset === undefined) return true
    return this.#indexes.some(
      ({ user, operator, trusted }) =>
        user.hasOffset(offset) || operator.hasOffset(offset) || trusted.hasOffset(offset),
    )
  }

  // ---- free text ---------------------------------------------------------------------------------------------------

  /** The first link, address, code or long number without a trusted origin. */
  #carried(text: string, isKnown = isFoundIn): Missing | undefined {
    const { found, broken } = carriedBy(text)
    if (broken) return { value: text, why: 'a link or a code in it is broken by hidden characters' }
    for (const token of found) {
      const folded = fold(token)
      const known = this.#indexes.some(index => isSaidIn(folded, index) || isKnown(folded, index))
      if (!known || isDeceptive(token)) return { value: token }
    }
    return undefined
  }

  /** Of a call without a sink. It may be read by everybody: what is confidential is no source of its words. */
  #unknownWord(text: string): Missing | undefined {
    for (const word of wordsIn(fold(text))) {
      const known = this.#indexes.some(
        ({ user, operator, trusted }) =>
          user.hasWord(word) || operator.hasWord(word) || trusted.hasWord(word),
      )
      if (!known) return { value: word, why: 'a word that is in no trusted text for everybody' }
    }
    return undefined
  }

  /** A search term is sent to others, so it may hold only words of the user or of the operator. */
  #unspoken(text: string): Missing | undefined {
    const carried = this.#carried(text, () => false)
    if (carried) return carried
    for (const word of wordsIn(fold(text)))
      if (!this.#indexes.some(({ user, operator }) => user.hasWord(word) || operator.hasWord(word)))
        return { value: word, why: 'a word that is not yours' }
    return undefined
  }

  /** The user asked for this tool, or for something by its name. */
  isAskedFor(): boolean {
    return this.#indexes.some(({ user }) => this.#isIn(user))
  }

  /** Of a tool that says by which words people ask for it: the user or the operator did, or a person approved a call of it before. */
  isMeant(): boolean {
    if (this.#labels.words.length === 0) return true
    return this.#indexes.some(
      ({ user, operator, approvedTools }) =>
        this.#isIn(user) || this.#isIn(operator) || approvedTools.has(this.#tool),
    )
  }

  #isIn(said: Words): boolean {
    const named = wordsIn(fold(this.#tool.replaceAll('_', ' '))).filter(word => !functionWords.has(word))
    return said.hasAnyOf(this.#tool, [...named, ...this.#labels.words.map(fold)])
  }
}

function isSaidIn(folded: string, { user, operator }: LogIndex): boolean {
  return user.hasValue(folded, []) || operator.hasValue(folded, [])
}

function isFoundIn(folded: string, index: LogIndex): boolean {
  const { lookups, approved, trusted, confidential } = index
  const isRead = (text: string): boolean => trusted.hasText(text) || confidential.hasText(text)
  if (lookups.has(folded) || approved.has(folded) || isRead(folded)) return true
  // From one number of a trusted text to another.
  const [, from, to] = /^(\d{2,}(?:\.\d+)?)[-–—](\d{2,}(?:\.\d+)?)$/u.exec(folded) ?? []
  return from !== undefined && to !== undefined && isRead(from) && isRead(to)
}

/** A number that nothing depends on and that has few digits beside its zeros, such as a time limit: no code is sent by it. */
function isRound({ role, value }: Argument): boolean {
  return role === 'detail' && Number.isSafeInteger(value) && String(value).replace(/0+$/, '').length < 5
}

/** Without groups, which programs read in different ways. */
const plainAmount = /^\d+(?:\.\d{1,2})?$/

/** `./a.txt` is `a.txt`. */
function pathForms(folded: string): string[] {
  return folded.startsWith('./') ? [folded, folded.slice(2)] : [folded, `./${folded}`]
}

function isShortNumber(folded: string): boolean {
  return /^-?\d+(?:\.\d+)?$/.test(folded) && folded.replace(/\D/g, '').length < 5
}

function isSameOrUnknown({ records }: LogIndex, kind: string, id: string, name: string): boolean {
  return records.holders(kind, name).every(holder => holder === id)
}
