// The Merkle tree of RFC 9162, section 2.1, over SHA-256: the root of a list of leaves, the proof that one leaf is in the list,
// and the check of such a proof. Hashes are 43 characters of base64url.
import { hash } from 'node:crypto'

const leafMark = Buffer.of(0)
const nodeMark = Buffer.of(1)

export function leafHash(leaf: string | Uint8Array): string {
  // The mark of a leaf is the byte 0, which is the UTF-8 of this character.
  const marked = typeof leaf === 'string' ? `\0${leaf}` : Buffer.concat([leafMark, leaf])
  return hash('sha256', marked, 'base64url')
}

function nodeHash(left: string, right: string): string {
  const bytes = [nodeMark, Buffer.from(left, 'base64url'), Buffer.from(right, 'base64url')]
  return hash('sha256', Buffer.concat(bytes), 'base64url')
}

/** `leaves`: their hashes, in order. */
export function merkleRoot(leaves: readonly string[]): string {
  if (leaves.length === 0) return hash('sha256', '', 'base64url')
  let level: readonly string[] = leaves
  while (level.length > 1) level = levelAbove(level)
  return level[0]!
}

/** The last node of a level with an odd number goes up as it is. This gives the tree that the RFC defines from the top. */
function levelAbove(level: readonly string[]): string[] {
  const above: string[] = []
  for (let at = 0; at < level.length; at += 2)
    above.push(at + 1 < level.length ? nodeHash(level[at]!, level[at + 1]!) : level[at]!)
  return above
}

/** The hashes that lead from the leaf at `index` to the root, nearest first. */
export function inclusionProof(leaves: readonly string[], index: number): string[] {
  const path: string[] = []
  let level = leaves
  for (let at = index; level.length > 1; at = half(at)) {
    const sibling = level[at % 2 === 0 ? at + 1 : at - 1]
    if (sibling !== undefined) path.push(sibling)
    level = levelAbove(level)
  }
  return path
}

/** The root that a leaf and its path lead to (RFC 9162, section 2.1.3.2). Undefined: the path does not fit the tree. */
export function rootFromProof(
  leaf: string,
  { index, size, path }: { index: number; size: number; path: readonly string[] },
): string | undefined {
  if (!Number.isSafeInteger(index) || !Number.isSafeInteger(size) || index < 0 || index >= size)
    return undefined
  let root = leaf
  let [at, last] = [index, size - 1]
  for (const sibling of path) {
    if (last === 0 || !isHash(sibling)) return undefined
    if (at % 2 === 1 || at === last) {
      root = nodeHash(sibling, root)
      while (at % 2 === 0 && at !== 0) [at, last] = [half(at), half(last)]
    } else root = nodeHash(root, sibling)
    ;[at, last] = [half(at), half(last)]
  }
  return last === 0 ? root : undefined
}

/** In its one form: the last character has two bits that decode to nothing, so that others give the same bytes. */
function isHash(text: string): boolean {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.length === 32 && bytes.toString('base64url') === text
}

/** Not a shift: that would cut numbers to 32 bits. */
function half(number: number): number {
  return Math.floor(number / 2)
}
