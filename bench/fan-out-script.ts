// What is told to many readers: one text in pieces, one piece at a time.
export const pieces: readonly string[] = Array.from({ length: 10 }, (_, index) => `piece ${index} `)
export const pieceMs = 400
/** Owners, each with a key and a session: one owner alone may not open so many streams at once. */
export const owners: readonly string[] = Array.from({ length: 25 }, (_, index) => `owner-${index}`)
