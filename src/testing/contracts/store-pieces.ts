// The contract of every store for blobs that are written in pieces and read by range. A part of `storeContract`.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Store } from '../../engine/ports/index.ts'
import { newSession, rejects, type StoreSubject } from './store-samples.ts'

const bytes = (length: number, seed = 0): Uint8Array =>
  Uint8Array.from({ length }, (_, index) => (index * 7 + seed) % 256)
const sizes = [1000, 0, 300_000, 1, 70_000]

async function written(store: Store, session: string, name: string, epoch = 1): Promise<Buffer> {
  const pieces = sizes.map(bytes)
  let at = 0
  for (const [index, piece] of pieces.entries()) {
    const isLast = index === pieces.length - 1
    await store.addPiece(session, name, { epoch, at, bytes: piece, ...(isLast && { last: true }) })
    at += piece.length
  }
  return Buffer.concat(pieces)
}

export function pieceTests(subject: StoreSubject): void {
  readingTests(subject)
  writingTests(subject)
}

function readingTests(subject: StoreSubject): void {
  test('a blob in pieces is read by any range, exactly as written', async () => {
    const { store } = subject
    await Promise.all([store.create(newSession('a')), store.create(newSession('b'))])
    const whole = await written(store, 'a', 'out')
    const ranges = [
      [0, whole.length],
      [0, 1],
      [999, 2],
      [1000, 300_000],
      [500, 300_600],
      [whole.length - 3, 100],
      [whole.length, 5],
      [whole.length + 9, 5],
      [3, 0],
    ] as const
    for (const [from, length] of ranges) {
      const found = await store.blobRange('a', 'out', from, length)
      assert.equal(found?.size, whole.length)
      assert.ok(Buffer.from(found.bytes).equals(whole.subarray(from, from + length)), `${from} ${length}`)
    }
    assert.equal(await store.blobRange('b', 'out', 0, 1), undefined)
    assert.equal(await store.blobRange('a', 'none', 0, 1), undefined)
    assert.equal(await store.blob('a', 'out'), undefined)
    assert.equal((await store.row('a'))?.blobBytes, whole.length)
    assert.equal(
      (await store.usage('ada')).bytes,
      (await store.row('a'))!.bytes + whole.length + (await store.row('b'))!.bytes,
    )
  })

  test('it does not exist for readers before its last piece, and begins anew at 0', async () => {
    const { store } = subject
    await store.create(newSession('s'))
    await store.addPiece('s', 'out', { epoch: 1, at: 0, bytes: bytes(5000) })
    await store.addPiece('s', 'out', { epoch: 1, at: 5000, bytes: bytes(5000) })
    assert.equal(await store.blobRange('s', 'out', 0, 10), undefined)
    await rejects(store.addPiece('s', 'out', { epoch: 1, at: 9999, bytes: bytes(1) }), 'lease_lost')
    await store.addPiece('s', 'out', { epoch: 1, at: 0, bytes: bytes(3, 9), last: true })
    const found = await store.blobRange('s', 'out', 0, 10)
    assert.deepEqual([found?.size, [...found!.bytes]], [3, [...bytes(3, 9)]])
    assert.equal((await store.row('s'))?.blobBytes, 3)
    // It is whole: nothing can be added.
    await rejects(store.addPiece('s', 'out', { epoch: 1, at: 3, bytes: bytes(1) }), 'lease_lost')
    await store.addPiece('s', 'out', { epoch: 1, at: 0, bytes: bytes(0) })
    assert.equal(await store.blobRange('s', 'out', 0, 10), undefined)
    assert.equal((await store.row('s'))?.blobBytes, 0)
    await rejects(store.addPiece('s', 'out', { epoch: 1, at: 3, bytes: bytes(1) }), 'lease_lost')
  })
}

function writingTests(subject: StoreSubject): void {
  test('an empty blob can be whole', async () => {
    const { store } = subject
    await store.create(newSession('s'))
    await store.addPiece('s', 'out', { epoch: 1, at: 0, bytes: bytes(0), last: true })
    assert.deepEqual(await store.blobRange('s', 'out', 0, 10), { bytes: new Uint8Array(), size: 0 })
  })

  test('pieces are taken from the current writer only, and go with their session', async () => {
    const { store } = subject
    await store.create(newSession('s'))
    await store.addPiece('s', 'out', { epoch: 1, at: 0, bytes: bytes(4) })
    await store.claim('s')
    await rejects(store.addPiece('s', 'out', { epoch: 1, at: 4, bytes: bytes(4), last: true }), 'lease_lost')
    await store.addPiece('s', 'out', { epoch: 2, at: 4, bytes: bytes(4), last: true })
    assert.equal((await store.blobRange('s', 'out', 0, 10))?.size, 8)
    await store.remove('s')
    assert.equal(await store.blobRange('s', 'out', 0, 10), undefined)
    await rejects(store.addPiece('s', 'out', { epoch: 2, at: 0, bytes: bytes(4) }), 'lease_lost')
    await store.create(newSession('s'))
    assert.equal(await store.blobRange('s', 'out', 0, 10), undefined)
  })
}
