// Looks into JSON of unknown shape, for the files that check requests. It narrows types and judges nothing.
export type JsonRecord = Record<string, unknown>

export const isRecord = (value: unknown): value is JsonRecord =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The value, or an empty record where it is none. */
export const asRecord = (value: unknown): JsonRecord => (isRecord(value) ? value : {})

export const asList = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

/** The records of a list. Other entries are left out. */
export const asRecords = (value: unknown): JsonRecord[] => asList(value).filter(isRecord)

export const asString = (value: unknown): string => (typeof value === 'string' ? value : '')

/** `null` and `undefined` both mean that the caller left a property out. */
export const isAbsent = (value: unknown): value is null | undefined => value === null || value === undefined

/** Text as it is, an absent value as no text, all else as JSON. */
export const shownText = (value: unknown): string =>
  typeof value === 'string' ? value : isAbsent(value) ? '' : JSON.stringify(value)

export const extraKeys = (value: JsonRecord, allowed: readonly string[]): string[] =>
  Object.keys(value).filter(key => !allowed.includes(key))

/** A table's own entry, so that `constructor` and the like find none. */
export const ownEntry = <Value>(table: Readonly<Record<string, Value>>, key: string): Value | undefined =>
  Object.hasOwn(table, key) ? table[key] : undefined

/** A table of names, written as one text with spaces between them. */
export const wordList = (text: string): string[] => text.split(/\s+/).filter(Boolean)

/** A token count that is the same in every run: four characters are one token. */
export const tokensIn = (text: string): number => Math.ceil(text.length / 4)
