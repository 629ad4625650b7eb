// Unguessable ids: 22 base62 characters hold 130 bits from the platform's CSPRNG. Bytes are drawn from a
// pool, as one system call per id would cost more than all the rest. Runs in a browser too.

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const LENGTH = 22
const codes = Array.from(ALPHABET, letter => letter.charCodeAt(0))
const pool = new Uint8Array(4096)
let used = pool.length
/** Filled anew for each id, and never read after it. */
const letters = codes.slice(0, LENGTH)

export function randomId(prefix: string): string {
  let drawn = 0
  while (drawn < LENGTH) {
    if (used === pool.length) {
      crypto.getRandomValues(pool)
      used = 0
    }
    // Six bits have 64 values and the alphabet 62: the two others are drawn again, so that none is favoured.
    const code = codes[pool[used++]! & 63]
    if (code !== undefined) letters[drawn++] = code
  }
  return `${prefix}_${String.fromCharCode(...letters)}`
}
