// Unguessable ids: 22 base62 characters hold 130 bits from the platform's CSPRNG. Each source draws its bytes from a
// pool of its own, because one system call per id costs twenty times as much. Runs in a browser too.

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const LENGTH = 22
const POOL_BYTES = 4096

/** A function that gives `prefix_` and 22 random letters, new ones each time. */
export function randomIds(): (prefix: string) => string {
  const pool = new Uint8Array(POOL_BYTES)
  const letters = new Array<number>(LENGTH).fill(0)
  let used = POOL_BYTES
  return prefix => {
    let drawn = 0
    while (drawn < LENGTH) {
      if (used === POOL_BYTES) {
        crypto.getRandomValues(pool)
        used = 0
      }
      // Six bits have 64 values and the alphabet 62. The other two are skipped, so that every letter is equally likely.
      const index = pool[used++]! & 63
      if (index < ALPHABET.length) letters[drawn++] = ALPHABET.charCodeAt(index)
    }
    return `${prefix}_${String.fromCharCode(...letters)}`
  }
}
