// Says when one of some files is written, replaced, made or removed. Folders are watched, not files: many editors write a new file and
// rename it, and a watch of the file would stay with the old one.
import { watch } from 'node:fs'
import { basename, dirname } from 'node:path'
import { wordsOf } from '../language/errors.ts'

/** A save may be several events. */
const quietMs = 100

export class FileChanges {
  /** By folder: the names of the files in it. */
  readonly #names = new Map<string, Set<string>>()
  #changed: string | undefined
  #tell = (): void => {}

  watch(file: string): void {
    const folder = dirname(file)
    const known = this.#names.get(folder)
    if (known) {
      known.add(basename(file))
      return
    }
    const names = new Set([basename(file)])
    this.#names.set(folder, names)
    const problem = (error: unknown): void => {
      process.stderr.write(`Changes in ${folder} are not seen: ${wordsOf(error)}\n`)
    }
    try {
      watch(folder, (_, name) => {
        if (name === null || !names.has(name)) return
        this.#changed ??= name
        this.#tell()
      }).on('error', problem)
    } catch (error) {
      problem(error)
    }
  }

  /** Changes up to now do not count. */
  forget(): void {
    this.#changed = undefined
  }

  /** The name of a file that changed since `forget`. */
  async next(): Promise<string> {
    while (this.#changed === undefined) await new Promise<void>(resolve => (this.#tell = resolve))
    await new Promise(resolve => setTimeout(resolve, quietMs))
    return this.#changed
  }
}
