// Reads whole text files from a descriptor, bounded in size.
import { read, readSync } from 'node:fs'
import { promisify } from 'node:util'
import { fileError } from './root.ts'

const readChunk = promisify(read)
const chunkBytes = 64 * 1024

/** Undefined: there is more than `most`. */
export async function readAll(fd: number, most: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  for (;;) {
    const buffer = Buffer.allocUnsafe(chunkBytes)
    const { bytesRead } = await readChunk(fd, buffer, 0, buffer.length, null)
    if (bytesRead === 0) return Buffer.concat(chunks)
    size += bytesRead
    if (size > most) return undefined
    chunks.push(buffer.subarray(0, bytesRead))
  }
}

/** The same, for a thread that has nothing else to do. */
export function readAllSync(fd: number, most: number): Buffer | undefined {
  const chunks: Buffer[] = []
  let size = 0
  for (;;) {
    const buffer = Buffer.allocUnsafe(chunkBytes)
    const length = readSync(fd, buffer, 0, buffer.length, null)
    if (length === 0) return Buffer.concat(chunks)
    size += length
    if (size > most) return undefined
    chunks.push(buffer.subarray(0, length))
  }
}

export function decodeText(bytes: Buffer, path: string): string {
  // Text has no zero bytes; UTF-16 and most binary formats do.
  if (bytes.includes(0)) throw fileError(path, 'is not a text file.')
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw fileError(path, 'is not a text file in UTF-8.')
  }
}
