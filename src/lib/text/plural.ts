// A count with its noun.

/** As in: 1 session, 1,200 sessions. */
export function plural(count: number, word: string): string {
  return `${count.toLocaleString('en')} ${word}${count === 1 ? '' : 's'}`
}
