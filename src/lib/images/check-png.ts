// Checks a PNG before it is decoded: its declared size must match its data. The decoder trusts both, and a few
// kilobytes can unpack to gigabytes.
import { inflateSync } from 'node:zlib'
import { TooLarge } from './too-large.ts'

const pngSignature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
/** Samples of a pixel, by colour type. */
const samples = new Map([
  [0, 1],
  [2, 3],
  [3, 1],
  [4, 2],
  [6, 4],
])

/** First pixel and distance of the pixels of each pass of an interlaced picture, across and down. */
const passes = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
] as const

/** Throws if it is damaged, does not match its declared size, or unpacks to more than `most` bytes. */
export function checkPng(bytes: Buffer, most: number): void {
  if (!bytes.subarray(0, 8).equals(pngSignature)) throw new Error('no PNG')
  const data: Buffer[] = []
  let expected: number | undefined
  for (const { type, body } of readPngChunks(bytes)) {
    // A second header would override the first one, which was checked.
    if ((type === 'IHDR') !== (expected === undefined)) throw new Error('no single header')
    if (type === 'IHDR') expected = unpackedBytes(body)
    else if (type === 'IDAT') data.push(body)
  }
  if (expected === undefined || expected > most) throw new TooLarge()
  const { length } = inflateSync(Buffer.concat(data), { maxOutputLength: expected })
  if (length !== expected) throw new Error('too little data')
}

function* readPngChunks(bytes: Buffer): Generator<{ type: string; body: Buffer }> {
  for (let at = 8; at + 12 <= bytes.length; ) {
    const length = bytes.readUInt32BE(at)
    const type = bytes.toString('latin1', at + 4, at + 8)
    if (at + 12 + length > bytes.length) throw new Error('cut off')
    yield { type, body: bytes.subarray(at + 8, at + 8 + length) }
    if (type === 'IEND') return
    at += 12 + length
  }
}

function unpackedBytes(header: Buffer): number {
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)]
  const bits = header.readUInt8(8) * (samples.get(header.readUInt8(9)) ?? Number.NaN)
  if (!(bits > 0 && bits <= 64) || width === 0 || height === 0) throw new Error('no such picture')
  const rows = (columns: number, count: number): number =>
    columns === 0 ? 0 : count * (Math.ceil((columns * bits) / 8) + 1)
  if (header.readUInt8(12) === 0) return rows(width, height)
  const along = (size: number, first: number, distance: number): number =>
    Math.max(0, Math.ceil((size - first) / distance))
  return passes.reduce(
    (sum, [left, top, across, down]) => sum + rows(along(width, left, across), along(height, top, down)),
    0,
  )
}
