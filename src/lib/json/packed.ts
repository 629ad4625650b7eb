// A value as compressed JSON, for data that is written often and read seldom. Not for data that other programs read.
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'

const params = { [constants.ZSTD_c_compressionLevel]: 1 }

export function packJson(value: unknown): Uint8Array {
  return packText(JSON.stringify(value))
}

/** `json`: the text of a value. */
export function packText(json: string): Uint8Array {
  return zstdCompressSync(Buffer.from(json), { params })
}

/** `size`: of the JSON. Throws for other bytes. Only for bytes of this program: their unpacked size has no limit. */
export function unpackJson(bytes: Uint8Array): { value: unknown; size: number } {
  const json = zstdDecompressSync(bytes)
  return { value: JSON.parse(json.toString('utf8')), size: json.length }
}
