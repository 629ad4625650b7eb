import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { inclusionProof, leafHash, merkleRoot, rootFromProof } from './index.ts'

/** The leaves and roots that implementations of Certificate Transparency test themselves with. */
const inputs = [
  '',
  '00',
  '10',
  '2021',
  '3031',
  '40414243',
  '5051525354555657',
  '606162636465666768696a6b6c6d6e6f',
]
const roots = [
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
]
const hex = (hash: string): string => Buffer.from(hash, 'base64url').toString('hex')
const leaves = inputs.map(input => leafHash(Buffer.from(input, 'hex')))

test('roots are those of RFC 9162', () => {
  assert.equal(hex(merkleRoot([])), 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')
  for (const [at, root] of roots.entries()) assert.equal(hex(merkleRoot(leaves.slice(0, at + 1))), root)
})

test('proofs are those of the example in RFC 9162, section 2.1.5', () => {
  // Seven leaves; a to j name the nodes as the RFC draws them.
  const seven = leaves.slice(0, 7)
  const [a, b, c, d, e, f, j] = seven as [string, string, string, string, string, string, string]
  const [g, h, i] = [merkleRoot([a, b]), merkleRoot([c, d]), merkleRoot([e, f])]
  const k = merkleRoot([a, b, c, d])
  const l = merkleRoot([e, f, j])
  assert.deepEqual(inclusionProof(seven, 0), [b, h, l])
  assert.deepEqual(inclusionProof(seven, 3), [c, g, l])
  assert.deepEqual(inclusionProof(seven, 4), [f, j, k])
  assert.deepEqual(inclusionProof(seven, 6), [i, k])
})

test('a proof leads to the root, and no other leaf, place, size or path does', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 70 }), fc.nat(), fc.nat(), (size, pick, other) => {
      const list = Array.from({ length: size }, (_, at) => leafHash(`leaf ${at}`))
      const root = merkleRoot(list)
      const index = pick % size
      const path = inclusionProof(list, index)
      assert.equal(rootFromProof(list[index]!, { index, size, path }), root)
      const wrong = other % size
      if (wrong !== index) {
        assert.notEqual(rootFromProof(list[wrong]!, { index, size, path }), root)
        assert.notEqual(rootFromProof(list[index]!, { index: wrong, size, path }), root)
      }
      assert.notEqual(rootFromProof(list[index]!, { index, size, path: [...path, root] }), root)
      if (path.length > 0)
        assert.notEqual(rootFromProof(list[index]!, { index, size, path: path.slice(1) }), root)
    }),
  )
  assert.equal(rootFromProof(leaves[0]!, { index: 1, size: 1, path: [] }), undefined)
  assert.equal(rootFromProof(leaves[0]!, { index: -1, size: 1, path: [] }), undefined)
})

test('a hash of a proof has one form: other texts for the same bytes lead to no root', () => {
  const path = inclusionProof(leaves, 0)
  const last = path[0]!.at(-1)!
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const other = path[0]!.slice(0, -1) + alphabet[alphabet.indexOf(last) + 1]
  assert.deepEqual(Buffer.from(other, 'base64url'), Buffer.from(path[0]!, 'base64url'))
  const root = (first: string) =>
    rootFromProof(leaves[0]!, { index: 0, size: leaves.length, path: [first, ...path.slice(1)] })
  assert.equal(root(path[0]!), merkleRoot(leaves))
  assert.equal(root(other), undefined)
})
