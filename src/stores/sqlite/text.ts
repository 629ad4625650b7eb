// How a string becomes a column and comes back as it was. SQLite's text is UTF-8, which has no lone surrogates:
// strings that hold one are kept as UTF-16 bytes instead. Bytes never equal text, so lookups stay exact as well.

export function toColumn(text: string): string | Uint8Array {
  return text.isWellFormed() ? text : Buffer.from(text, 'utf16le')
}

export function fromColumn(column: string | Uint8Array): string {
  return typeof column === 'string' ? column : Buffer.from(column).toString('utf16le')
}
