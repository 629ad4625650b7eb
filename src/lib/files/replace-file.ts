// A small file of the data folder, readable by its owner only: written whole under another name, and then put in the place of
// the old one, so that a crash leaves one or the other.
import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'

export function replaceFile(file: string, text: string): void {
  renameSync(writeFresh(file, text), file)
}

/** A file that another process made meanwhile is kept. */
export function makeFileOnce(file: string, text: string): void {
  const fresh = writeFresh(file, text)
  try {
    linkSync(fresh, file)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  } finally {
    unlinkSync(fresh)
  }
}

/** Gives its other name. */
function writeFresh(file: string, text: string): string {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const fresh = `${file}.${process.pid}`
  const handle = openSync(fresh, 'w', 0o600)
  writeSync(handle, text)
  fsyncSync(handle)
  closeSync(handle)
  return fresh
}

/** Undefined: there is none. */
export function textOfFile(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}
