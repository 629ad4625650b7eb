// Unguessable ids: 22 base62 characters hold 130 bits from the platform's CSPRNG. Bytes are drawn from a
// pool, as one system call per id would cost more than all the rest. Runs in a browser too.

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const LENGTH = 22
const codes = codesOf(ALPHABET)
const pool = new Uint8Array(4096)
let used = pool.length
/** By prefix: the letters of an id. The random ones are filled in anew for each, and never read after it. */
const templates = new Map<string, number[]>()

export function randomId(prefix: string): string {
  const letters = templates.get(prefix) ?? templateOf(prefix)
  let drawn = letters.length - LENGTH
  while (drawn < letters.length) {
    if (used === pool.length) {
      crypto.getRandomValues(pool)
      used = 0
    }
    // Six bits have 64 values and the alphabet 62: the two others are drawn again, so that none is favoured.
    const code = codes[pool[used++]! & 63]
    if (code !== undefined) letters[drawn++] = code
  }
  // In one go: a string that is put together of two is copied once more when it is first read.
  return String.fromCharCode(...letters)
}

function templateOf(prefix: string): number[] {
  const template = codesOf(`${prefix}_${ALPHABET.slice(0, LENGTH)}`)
  templates.set(prefix, template)
  return template
}

function codesOf(text: string): number[] {
  return Array.from(text, letter => letter.charCodeAt(0))
}
